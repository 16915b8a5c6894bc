"""The judges of unit 23 on networks: hashed flows, rings along rows and columns, a schedule,
experts; and the puzzle: a grid of ranks on a tree whose flows are hashed."""

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, held, judge_seconds, run_ranks, texts
from ddl_class.exercises.kit.answers import items, short, whole
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import hierarchical, pairwise, ring
from ddl_teach.comm import Comm, FatTree
from ddl_teach.plain.balanced_experts import next_bias, spare_copies

HASH, TORUS, SCHEDULE, BIAS, SPARE, NETWORK = texts(
    __package__, "hash", "torus", "schedule", "bias", "spare", "network"
)
TREE = FatTree(8, 2, routing="hashed", seed=23, base_latency=2e-6, bandwidth=25e9)
GRID = 4, 4, 2  # data, experts, tensor
GOAL = 1.12e-3  # seconds


def judge_hash(attempt: Attempt) -> None:
    """How many flows share the fullest link."""
    for flows, links in ((6, 4), (5, 9), (1, 3), (40, 8)):
        uplinks = attempt.generator.integers(links, size=flows)
        counts = np.bincount(uplinks)
        ask(attempt, HASH, (uplinks,), counts.max(), uplinks=short(uplinks.tolist())).compare(
            links_used=len(set(uplinks)), which=int(counts.argmax()), colliding=flows - len(counts)
        )


def judge_torus(attempt: Attempt) -> None:
    """The sum over a grid of ranks, in the messages of short rings."""
    for count in attempt.counts:
        columns = next(size for size in range(2, count + 1) if count % size == 0)
        x = attempt.generator.standard_normal((count, 24))
        call, outcome = run_ranks(attempt, TORUS, [(row, columns) for row in x], columns=columns)
        grid = x.reshape(-1, columns, x.shape[1])
        for rank, (mine, _) in enumerate(outcome.arguments):
            held(TORUS, call, rank, mine, x.sum(0)).compare(
                untouched=x[rank],
                rows_only=grid.sum(1)[rank // columns],
                columns_only=grid.sum(0)[rank % columns],
            )


def rows_and_columns(comm: Comm, x: np.ndarray | Phantom, columns: int) -> None:
    """The right answer, which takes the learner's place until theirs is right."""
    row, column = comm.split(comm.rank // columns), comm.split(comm.rank % columns)
    hierarchical.allreduce(comm, x, groups=hierarchical.Groups(row, columns, row, column))


def judge_schedule(attempt: Attempt) -> None:
    """An all-gather on a ring, both ways round, in half as many steps."""
    for count in (2, 3, 4, 5, 8):
        has = {(rank, rank) for rank in range(count)}
        steps = items(attempt.call(count), SCHEDULE("wanted"), list)
        for number_of, step in enumerate(steps, 1):
            messages = items(step, SCHEDULE("wanted"), lambda row: tuple(map(whole, row)))
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


def judge_bias(attempt: Attempt) -> None:
    """The bias after a step."""
    for experts in (2, 4, 7):
        bias, loads = attempt.generator.standard_normal(experts), np.arange(experts) ** 2.0
        loads[0], speed = experts, 0.25
        right, apart = next_bias(bias, loads, speed), loads.mean() - loads
        ask(attempt, BIAS, (bias, loads, speed), right).compare(
            other_sign=2 * bias - right, no_sign=bias + speed * apart, replaced=right - bias
        )


def judge_spare(attempt: Attempt) -> None:
    """The copies on the spare places."""
    for experts, places in ((4, 6), (8, 16), (3, 3), (5, 11)):
        loads = attempt.generator.uniform(1, 3, experts)
        loads[-1] *= 4
        right, spare = spare_copies(loads, places), places - experts
        hottest = np.eye(experts, dtype=int)[loads.argmax()]
        top = np.isin(np.arange(experts), np.argsort(-loads)[:spare]).astype(int)
        ask(attempt, SPARE, (loads, places), right).compare(
            none=top * 0 + 1,
            all_to_one=1 + spare * hottest,
            one_each=1 + top,
            only_spare=right - 1,
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
