"""The judges of unit 07, second part: the best chunk, the table of paths, whose GPU is whose."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit.answers import SHOWN, not_none, number
from ddl_class.exercises.kit.compare import any_of, compare, equal, first_case, within
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform

CLOSE = 1e-6
OUTLIER, LUCKY = 40.0, 0.02  # how wrong a single measurement can be
SIZES = 2 ** np.arange(10, 27)

Choice = tuple[int, str]  # from so many bytes on, this path


def judge_chunk(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The root of n a / (B - b), with a and b of the slowest stage."""
    for slowest in (0, 1, 2, 0, 1, 2):
        nbytes = int(10 ** generator.uniform(6, 9))
        starts = 10 ** generator.uniform(-6, -5, 3)
        per_bytes = 10 ** generator.uniform(-10.5, -9.5, 3)
        starts[slowest], per_bytes[slowest] = 3 * starts.max(), 1.5 * per_bytes.max()
        stages = list(zip(starts.tolist(), per_bytes.tolist(), strict=True))
        lines = [f"{a * 1e6:.2f} µs + {b * 1e9:.3f} ns a byte" for a, b in stages]
        told = f"best_chunk({nbytes:,}, stages) with {', '.join(lines)}"
        said = number(stage.call(nbytes, stages), f"{told}: return the number of bytes")
        beside = per_bytes.sum() - per_bytes[slowest]
        right = math.sqrt(nbytes * starts[slowest] / beside)
        if abs(said - right) <= 1:  # whole bytes will do
            continue
        usual = {
            "The root is missing": nbytes * starts[slowest] / beside,
            "That is the number of chunks; the size of one is asked": nbytes / right,
            "Below stand the *other* stages: take the slowest one's per_byte out of the sum": (
                math.sqrt(nbytes * starts[slowest] / per_bytes.sum())
            ),
            "Below stand the other stages, not the slowest: a larger chunk makes these wait": (
                math.sqrt(nbytes * starts[slowest] / per_bytes[slowest])
            ),
            "Above stands the start of the slowest stage alone: the others' starts overlap with "
            "it, all but one": math.sqrt(nbytes * starts.sum() / beside),
            "It is upside down: a dearer start asks for larger chunks": (
                math.sqrt(beside / (nbytes * starts[slowest]))
            ),
            "That is not the slowest stage": any_of(
                *(math.sqrt(nbytes * a / (per_bytes.sum() - b)) for a, b in stages)
            ),
        }
        otherwise = "Set the derivative of the time with respect to s to zero"
        compare(told, said, right, usual, otherwise, within(CLOSE))


# -- the table of paths ----------------------------------------------------------------------


def judge_table(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """From measurements to a list of (from so many bytes on, path)."""
    for _ in range(4):
        seconds = _measurements(generator)
        given = {name: times.copy() for name, times in seconds.items()}
        table, right = _pairs(stage.call(SIZES.copy(), given)), _choices(seconds, np.median)
        begins, paths = (list(row) for row in zip(*table, strict=True))
        right_begins, right_paths = (list(row) for row in zip(*right, strict=True))
        cases = {
            "The first entry begins at 0: a message shorter than all that you measured has to "
            "take some path, too": paths == right_paths and begins[1:] == right_begins[1:],
            "A path begins at the first size at which it wins, not at the one before": (
                paths == right_paths and begins[1:] == [begin // 2 for begin in right_begins[1:]]
            ),
            "One entry for each change of the path is enough, not one for each size": (
                len(table) == len(SIZES)
            ),
            **{
                f"That is what the {name} of the repetitions says, and one measurement that went "
                "wrong decides it. The median asks what happens usually": (
                    table == _choices(seconds, summary)
                )
                for summary, name in ((np.mean, "mean"), (np.min, "fastest"), (np.max, "slowest"))
            },
            "You take the slowest path: these are seconds, and fewer are better": (
                table == _choices({name: -times for name, times in seconds.items()}, np.median)
            ),
        }
        if table != right:
            words = first_case(cases, "At each size the path with the smallest median wins")
            raise Wrong(f"you say {table}, where {right} is right. {words}")


def _measurements(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Three paths that each win somewhere, every time with a few that went wrong."""
    seconds = {}
    lines = {"staged": (1e-5, 3e-9), "pipelined": (2e-4, 1.1e-9), "direct": (2e-6, 6e-9)}
    for name in generator.permutation(list(lines)):
        start, per_byte = np.array(lines[name]) * 10 ** generator.uniform(-0.05, 0.05, 2)
        times = np.tile(start + per_byte * SIZES, (9, 1))
        times *= np.exp(0.003 * generator.standard_normal(times.shape))
        times[generator.integers(9), ::2] *= OUTLIER
        times[generator.integers(9), generator.integers(len(SIZES), size=3)] *= LUCKY
        seconds[str(name)] = times
    return seconds


def _choices(seconds: dict[str, np.ndarray], summary: Callable[..., Any]) -> list[Choice]:
    names = list(seconds)
    best = np.argmin([summary(times, axis=0) for times in seconds.values()], axis=0)
    changes = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist()]
    return [(int(SIZES[k]) if k else 0, names[best[k]]) for k in changes]


def _pairs(said: object) -> list[Choice]:
    wanted = 'return a list such as [(0, "direct"), (65536, "staged")]'
    pairs = []
    not_none(said, wanted)
    for entry in said if isinstance(said, list | tuple) else ():
        if not isinstance(entry, list | tuple) or len(entry) != 2 or not isinstance(entry[1], str):
            raise Wrong(f"{wanted}: {str(entry)[:SHOWN]} is no pair of a size and a path.")
        pairs.append((int(number(entry[0], wanted)), entry[1]))
    if not pairs:
        raise Wrong(f"{wanted}, not {str(said)[:SHOWN]}.")
    return pairs


# -- whose GPU -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundRobin:
    """Ranks dealt out to the nodes like cards."""

    nodes: int

    shared = False
    fixed_link = Uniform().fixed_link
    overhead = gap = 0.0

    def node(self, rank: int) -> int:
        return rank % self.nodes


def judge_own_gpu(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The rank's number among those of its node, modulo the GPUs of a node."""
    for count in ranks:
        run = partial(stage.run, count)
        # Simulated time is the same twice; real ranks' nodes are what they are.
        simulated = len({run([(2,)] * count, network=TwoLevel(3)).time for _ in range(2)}) == 1
        for network in (TwoLevel(3), RoundRobin(nodes=2), TwoLevel(5), RoundRobin(nodes=3)):
            nodes = [network.node(rank) for rank in range(count)] if simulated else None
            for gpus in (2, 4, 1):
                _judge_places(run([(gpus,)] * count, network=network), nodes, gpus)
            if not simulated:
                break


def _judge_places(outcome: ProgramOutcome, nodes: list[int] | None, gpus: int) -> None:
    """On nodes that nobody knows, a number must at least be one of a GPU."""
    count = len(outcome.results)
    where = "" if nodes is None else f", which are on nodes {str(nodes)[1:-1]}"
    call = f"own_gpu(comm, gpus={gpus}) on {ranks_text(count)}{where}"
    answers = [number(result, f"{call}: return the number of a GPU") for result in outcome.results]
    local = [nodes[:rank].count(node) for rank, node in enumerate(nodes or [])]
    if nodes is None and all(answer in range(gpus) for answer in answers):
        return
    usual = {
        "You count ranks over all nodes. On a node whose ranks are 0, 2 and 4 all take the same "
        "of two GPUs then: count those of the own node, in comm.split(comm.node)": (
            [rank % gpus for rank in range(count)]
        ),
        "Dividing gives neighbours the same GPU": [rank // gpus for rank in range(count)],
        "That is the node; a node has several ranks": any_of(
            nodes, [node % gpus for node in nodes or []]
        ),
        "There may be more ranks on a node than GPUs: go round again, with % gpus": local,
        "There is no such GPU: numbers begin at 0 again on each node, and end at gpus - 1": (
            list(range(count))
        ),
        "Everybody takes GPU 0. Did each rank form a group of its own? The colour is the node, "
        "comm.split(comm.node), and the rank in that group counts": [0] * count,
    }
    otherwise = "It is the rank's number among those of its node, modulo gpus"
    compare(call, answers, [float(place % gpus) for place in local], usual, otherwise, equal)
