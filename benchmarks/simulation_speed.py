"""How fast simulated ranks exchange messages, what 65,536 of them take, and what watching costs.

    python -m benchmarks.simulation_speed [--repetitions 11]

All times are the processor's. First a ring of 1,024 ranks: messages a second, beside the same
program whose messages do nothing. The interpreter's instructions and the waits for each message
are counted on fewer ranks. Beside what one of each takes alone they say what limits the rest. A
strict rank is at most one step ahead of the rank that it sends to: after two messages at the
latest it waits. And it compares what `isend` was given with a copy. Simulated ranks need that
copy anyway, so they pass over the bytes three times and not twice; real ranks copy them as well.
Then 65,536 ranks, each time in a process of its own, beside as many bare greenlets that wait as
often. At last the same programs watched and not, in turns: strict, with memory counted, with a
timeline, and all three.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from timeit import repeat
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np
from greenlet import getcurrent, greenlet

from benchmarks.memory_track import hold_each
from benchmarks.strict_ranks import KIB, phantoms, shift
from ddl_measure.interval import interval, ratio_of_turns
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_runtime.simulator.engine import Simulation
from ddl_runtime.simulator.rank_state import Strand
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.collectives import recursive_doubling, ring

RESULTS = Path(__file__).parent / "results" / "simulation_speed.txt"
RING, COUNTED, MANY = 1024, 32, 65_536
WAITS, DEPTH = 8, 1  # of a greenlet: half its 16 messages, from as many calls inside of calls
WATCHED = {
    "strict": {"strict": True, "trace": False},
    "memory": {"memory": float("inf"), "trace": False},
    "trace": {"trace": True},
    "all": {"strict": True, "memory": float("inf"), "trace": True},
}
PROGRAMS: dict[str, Callable[..., Any]] = {
    "256 ranks, ring, no data": lambda **given: simulate(phantoms, 256, **given),
    "256 ranks, a hold for each sendrecv": lambda **given: simulate(hold_each, 256, **given),
    "2 ranks, isend and irecv, 1 KiB": lambda **given: simulate(
        shift, 2, nbytes=KIB, calls=1000, **given
    ),
    "2 ranks, isend and irecv, 1,024 KiB": lambda **given: simulate(
        shift, 2, nbytes=KIB * KIB, calls=30, **given
    ),
}


class Silent:
    """A rank whose messages do nothing: what is left is the program itself."""

    rank, size = 0, RING

    def sendrecv(self, x: Any, to: int, y: Any, source: int) -> int:
        return source

    def combine(self, a: Any, b: Any, out: Any, op: str) -> None:
        pass

    def collective(self, *_: Any) -> Any:
        return nullcontext()


def counted(strict: bool, ranks: int = COUNTED) -> float:
    """How many of the interpreter's instructions a message of the ring takes, program and all."""
    count = 0

    def look(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return look

    def program(comm: Comm) -> None:
        sys.settrace(look)
        phantoms(comm)
        sys.settrace(None)

    simulate(program, ranks, trace=False, strict=strict)
    return count / (2 * ranks * (ranks - 1))


def waits(strict: bool, ranks: int = COUNTED) -> float:
    """How often a rank of the ring waits for each of its messages, and another goes on."""
    count, usual = 0, Simulation.next_strand

    def next_strand(simulation: Simulation, leaving: Strand) -> None:
        nonlocal count
        count += 1
        usual(simulation, leaving)

    with patch.object(Simulation, "next_strand", next_strand):
        simulate(phantoms, ranks, trace=False, strict=strict)
    return count / (2 * ranks * (ranks - 1))


def parts() -> str:
    """What the parts of a message take alone: a call, a switch, and passes over bytes."""
    x = np.random.default_rng(0).random(KIB * KIB // 8)
    kept = bytearray(x.data)
    caller = getcurrent()

    def comes_back() -> None:
        while True:
            caller.switch()

    other = greenlet(comes_back)
    works = {
        "an empty call": (lambda: None, 100_000, 1e9, "ns"),
        "there and back to a greenlet": (other.switch, 100_000, 1e9, "ns"),
        "copy 1,024 KiB": (lambda: bytearray(x.data), 200, 1e6, "us"),
        "compare 1,024 KiB": (lambda: kept == x, 200, 1e6, "us"),
    }
    return "alone: " + ", ".join(
        f"{name} {min(repeat(work, number=number)) / number * unit:.0f} {letters}"
        for name, (work, number, unit, letters) in works.items()
    )


def doubled(comm: Comm) -> None:
    """Recursive doubling, of no data: 16 messages a rank."""
    recursive_doubling.allreduce(comm, Phantom(100_000_000))


def bare_greenlets(count: int) -> None:
    """So many, each of which waits some times, some calls deep, and is woken in turn."""
    ready: deque[greenlet] = deque()
    caller = getcurrent()

    def deep(depth: int) -> None:
        if depth:
            deep(*(depth - 1,), **{})  # a call of this form takes room on the stack
            return
        for _ in range(WAITS):
            ready.append(getcurrent())
            caller.switch()

    for _ in range(count):
        greenlet(deep, caller).switch(DEPTH)
    while ready:
        ready.popleft().switch()


ALONE: dict[str, Callable[[int], Any]] = {
    "recursive doubling": lambda ranks: simulate(doubled, ranks, trace=False),
    "barrier": lambda ranks: simulate(lambda comm: comm.barrier(), ranks, trace=False),
    "bare greenlets": bare_greenlets,
}


def in_a_process(name: str, ranks: int) -> tuple[float, float]:
    """Processor seconds and gigabytes at the peak, more than an idle process of this kind has."""
    command = [sys.executable, "-m", "benchmarks.simulation_speed", "--alone", name, str(ranks)]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(words[0]), float(words[1])


def alone(name: str, ranks: int) -> None:
    """What such a process prints."""
    before, begun = peak(), time.process_time()
    ALONE[name](ranks)
    print(time.process_time() - begun, peak() - before)


def peak() -> float:
    """The most memory that this process has had, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def of_the_ring(repetitions: int) -> list[str]:
    """Messages a second, and what an instruction takes."""
    messages = 2 * RING * (RING - 1)
    ways = {
        "simulated": lambda: simulate(phantoms, RING, trace=False),
        "the program alone": lambda: [ring.allreduce(Silent(), Phantom(1 << 20))
                                      for _ in range(RING)],
    }  # fmt: skip
    times = side_by_side(ways, repetitions=repetitions, clock=time.process_time)
    lines = [f"{f'ring of {RING:,} ranks, no data':<40}{'million messages a second':>34}"]
    for name in ways:
        middle, low, high = interval(messages / np.array(times[name]) / 1e6)
        lines.append(f"{name:<40}{f'{middle:.2f} ({low:.2f} to {high:.2f})':>34}")
    plain, strict = counted(False), counted(True)
    each = np.median(times["simulated"]) / messages / plain * 1e9
    return [
        *lines, f"instructions a message: {plain:.0f}, of strict ranks {strict:.0f}; "
        f"{each:.2f} ns for each of the first",
        f"waits a message: {waits(False):.2f}, of strict ranks {waits(True):.2f}", parts(),
    ]  # fmt: skip


def of_many(repetitions: int) -> list[str]:
    """Seconds and memory of 65,536 ranks."""
    lines = [f"{f'{MANY:,} ranks':<40}{'seconds':>24}{'GB':>24}"]
    for name in ALONE:
        measured = np.array([in_a_process(name, MANY) for _ in range(repetitions)])
        cells = [interval(column) for column in measured.T]
        shown = "".join(f"{f'{a:.2f} ({b:.2f} to {c:.2f})':>24}" for a, b, c in cells)
        lines.append(f"{name:<40}{shown}")
        print(lines[-1], flush=True)
    return lines


def of_watching(repetitions: int) -> list[str]:
    """Times as long as without."""
    lines = [f"{'watched / not':<40}" + "".join(f"{name:>20}" for name in WATCHED)]
    for name, run in PROGRAMS.items():
        ways = {"not": lambda run=run: run(trace=False)}
        ways |= {how: lambda run=run, how=how: run(**WATCHED[how]) for how in WATCHED}
        times = side_by_side(ways, repetitions=repetitions, clock=time.process_time)
        cells = [ratio_of_turns(times[how], times["not"]) for how in WATCHED]
        shown = "".join(f"{f'{a:.2f} ({b:.2f}-{c:.2f})':>20}" for a, b, c in cells)
        lines.append(f"{name:<40}{shown}")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--alone", nargs=2, help="used by the benchmark itself")
    chosen = parser.parse_args()
    if chosen.alone:
        alone(chosen.alone[0], int(chosen.alone[1]))
        return
    parts = [of_the_ring(chosen.repetitions)]
    print("\n".join(parts[0]), flush=True)
    parts += [of_watching(chosen.repetitions), of_many(max(1, chosen.repetitions // 2))]
    keep(RESULTS, [heading(describe()), *map("\n".join, parts)])


if __name__ == "__main__":
    main()
