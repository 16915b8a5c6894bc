"""The judges of unit 23: a schedule, and the puzzle: a grid of ranks on a tree whose flows are
hashed."""

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.kit import Attempt, judge_seconds, texts
from ddl_class.exercises.kit.answers import items, whole, whole_rows
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import hierarchical, pairwise, ring
from ddl_teach.comm import Comm, FatTree

SCHEDULE, NETWORK = texts(__package__, "schedule", "network")
TREE = FatTree(8, 2, routing="hashed", seed=23, base_latency=2e-6, bandwidth=25e9)
GRID = 4, 4, 2  # data, experts, tensor
GOAL = 1.12e-3  # seconds


def rows_and_columns(comm: Comm, x: np.ndarray | Phantom, columns: int) -> None:
    """The right answer, which takes the learner's place until theirs is right."""
    row, column = comm.split(comm.rank // columns), comm.split(comm.rank % columns)
    hierarchical.allreduce(comm, x, groups=hierarchical.Groups(row, columns, row, column))


def judge_schedule(attempt: Attempt) -> None:
    """An all-gather on a ring, both ways round, in half as many steps."""
    for count in (2, 3, 4, 5, 8, int(attempt.generator.integers(9, 17))):
        has = {(rank, rank) for rank in range(count)}
        steps = items(attempt.call(count), SCHEDULE("wanted"), list)
        for number_of, step in enumerate(steps, 1):
            messages = whole_rows(step, SCHEDULE("wanted"))
            for message in messages:
                values = {"ranks": count, "step": number_of, "message": message}
                SCHEDULE.refuse_if(
                    values, form=len(message) != 3 or not set(message) <= set(range(count))
                )
                chunk, source, dest = message
                SCHEDULE.refuse_if(
                    values,
                    no_cable=(dest - source) % count not in (1, count - 1),
                    not_there=(chunk, source) not in has,
                    shared=[row[1:] for row in messages].count((source, dest)) > 1,
                    twice=(chunk, dest) in has,
                )
            has |= {(message[0], message[2]) for message in messages}
        lacking = sorted({(c, r) for c in range(count) for r in range(count)} - has)
        SCHEDULE.refuse_if(
            {"ranks": count, "steps": len(steps), "fewest": count // 2, "missing": lacking[:1]},
            lacking=lacking,
            too_long=len(steps) > count // 2,
        )


def grid_step(comm: Comm, order: list[int]) -> None:
    """One step of a grid of ranks: a sum over tensor ranks, tokens to experts and the gradients;
    place p of the grid is on host order[p]."""
    place = order.index(comm.rank)
    data, expert, tensor = map(int, np.unravel_index(place, GRID))
    tensors = comm.split(4 * data + expert, place)
    experts = comm.split(2 * data + tensor, place)
    replicas = comm.split(2 * expert + tensor, place)
    ring.allreduce(tensors, Phantom(8_000_000))
    pairwise.alltoall(experts, Phantom(4_000_000), Phantom(4_000_000))
    ring.allreduce(replicas, Phantom(4_000_000))


def step_seconds(order: Sequence[int]) -> float:
    """How long a step takes with place p of the grid on host order[p]."""
    return simulate(grid_step, 32, network=TREE, order=list(order), trace=False).time


def judge_network(attempt: Attempt) -> None:
    """Every host once, and a step within the goal."""
    order = items(attempt.call(*GRID), NETWORK("wanted"), whole)
    NETWORK.refuse_if({}, not_each=sorted(order) != list(range(32)))
    judge_seconds(attempt, NETWORK, step_seconds(order), GOAL)
