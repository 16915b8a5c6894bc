"""What grading costs: hand-ins of one unit, graded one at a time and four at a time.

    python -m benchmarks.grading [--unit 06_allreduce] [--hand-ins 30] [--at-a-time 1 4]

Each hand-in is the solved notebook. Seconds by the clock are those from one group of notebooks to
the next, divided by their number; a group has as many as are graded at a time, and the first one
warms up. Each is graded in a process of its own if there are several. Processor seconds are all
that the machine has worked meanwhile, for one notebook, with what happens once. Ranks are started
once for each exercise and rank, and a verb is a message there and back between a rank and the
grader. Both are counted in a grading of their own. Last comes what limits a grading: a rank that
only starts and ends, a verb, and a bare message there and back between two processes. Each has its
processor seconds, its page faults and the switches of processes. Times by the clock hold on a
machine that does nothing else: the last column shows how busy others kept it in two seconds
before.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import psutil

from ddl_class.grading.batch import grade
from ddl_class.grading.sandbox import Limits, SandboxServer
from ddl_class.grading.scoring import UntrustedStage
from ddl_class.grading.verbs import Verbs
from ddl_class.release import release
from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep

RESULTS = Path(__file__).parent / "results" / "grading.txt"
QUIET = 2.0  # seconds before a grading, in which the machine should do nothing
SOURCES = Path(__file__).parents[1] / "notebooks" / "source"


@dataclass
class Grading:
    """The times of one grading, in seconds."""

    ends: list[float]  # when each notebook was graded
    processors: float  # of all, for each notebook
    others: float  # the share of the processors' time that others had just before


def graded(source: Path, hand_ins: int, jobs: int) -> Grading:
    """Grade as many solved notebooks, `jobs` at a time."""
    ends: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "submissions")
        folder.mkdir()
        notebook = release.text(release.instructors(source))
        for number in range(hand_ins):
            (folder / f"student{number:02}.ipynb").write_text(notebook)
        others, before = psutil.cpu_percent(interval=QUIET) / 100, _busy()
        verdicts = grade(
            folder, source, Path(name, "out"), jobs=jobs,
            progress=lambda *_: ends.append(time.perf_counter()),
        )  # fmt: skip
        processors = (_busy() - before) / hand_ins
    if any(score.points < score.of for verdict in verdicts for score in verdict.scores):
        raise RuntimeError("a solved notebook lost points: these times are of something else")
    return Grading(ends, processors, others)


def _busy() -> float:
    """The seconds that this machine's processors have worked so far."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait)


def counts(source: Path) -> str:
    """How many ranks start and how many verbs they use, for one notebook."""
    ways = {"ranks started": (SandboxServer, "start_rank"), "verbs": (Verbs, "carry_out")}
    calls = {
        what: patch.object(kind, name, autospec=True, side_effect=getattr(kind, name))
        for what, (kind, name) in ways.items()
    }
    with calls["ranks started"] as started, calls["verbs"] as verbs:
        graded(source, hand_ins=1, jobs=1)
    # Those that try which walls there are name them.
    ranks = sum(len(call.args) == 2 for call in started.call_args_list)
    return f"{ranks} ranks started, {verbs.call_count:,} verbs"


ECHO = """
def echo(comm, x, times):
    for _ in range(times):
        comm.sendrecv(x, 1 - comm.rank, x.copy(), 1 - comm.rank)
"""
BIRTHS, VERBS, BYTES = 100, 4000, 256


def _used() -> np.ndarray:
    """Processor seconds, page faults and switches of this process and of what it waited for."""
    return np.sum(
        [
            (used.ru_utime + used.ru_stime, used.ru_minflt, used.ru_nvcsw)
            for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        ],
        axis=0,
    )


def _births(count: int) -> None:
    with SandboxServer() as server:
        for _ in range(count):
            server.start_rank(Limits()).end()


def _verbs(count: int) -> None:
    with SandboxServer() as server, UntrustedStage(server, [("", ECHO)], "echo") as stage:
        stage.run(2, [(np.zeros(16), count // 2)] * 2)


def _messages(count: int) -> None:
    here, there = socket.socketpair(type=socket.SOCK_SEQPACKET)  # as between grader and rank
    if (process := os.fork()) == 0:
        here.close()
        while message := there.recv(BYTES):
            there.send(message)
        os._exit(0)
    there.close()
    for _ in range(count):
        here.send(bytes(BYTES))
        here.recv(BYTES)
    here.close()
    os.waitpid(process, 0)


def limits() -> list[str]:
    """What one rank, one verb and one bare message cost, without what happens once."""
    lines = [f"\n{'each':<38}{'processors':>14}{'page faults':>14}{'switches':>11}"]
    ways: list[tuple[str, Callable[[int], None], int]] = [
        ("a rank that starts and ends", _births, BIRTHS),
        ("a verb, in grader and rank", _verbs, VERBS),
        ("a bare message, there and back", _messages, VERBS),
    ]
    for what, way, count in ways:
        costs = []
        for times in (0, count):
            before = _used()
            way(times)
            costs.append(_used() - before)
        seconds, faults, switches = (costs[1] - costs[0]) / count
        lines.append(f"{what:<38}{1e6 * seconds:>11,.0f} µs{faults:>14,.1f}{switches:>11.1f}")
    return lines


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unit", default="06_allreduce")
    parser.add_argument("--hand-ins", type=int, default=30)
    parser.add_argument("--at-a-time", type=int, nargs="+", default=[1, 4])
    chosen = parser.parse_args()
    if chosen.hand_ins < (least := 2 * max(chosen.at_a_time)):
        parser.error(
            f"{chosen.hand_ins} hand-ins make no second group, and the first one warms up: give "
            f"at least --hand-ins {least}, or fewer --at-a-time"
        )
    source = SOURCES / f"{chosen.unit}.py"
    lines = [
        f"{chosen.hand_ins} hand-ins of {chosen.unit}: {counts(source)} for each",
        f"{'at a time':<12}{'by the clock':>28}{'processors':>14}{'others before':>17}",
    ]
    print(*lines, sep="\n", flush=True)
    for jobs in chosen.at_a_time:
        grading = graded(source, chosen.hand_ins, jobs)
        each = np.diff(grading.ends[jobs - 1 :: jobs]) / jobs
        middle, low, high = interval(each)
        clock = f"{middle:.1f} s ({low:.1f} to {high:.1f})"
        lines.append(
            f"{jobs:<12}{clock:>28}{f'{grading.processors:.1f} s':>14}{grading.others:>17.0%}"
        )
        print(lines[-1], flush=True)
    lines += (limiting := limits())
    print(*limiting, sep="\n")
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
