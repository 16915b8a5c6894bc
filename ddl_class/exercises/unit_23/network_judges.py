"""The judges of unit 23: hashed flows, rings along rows and columns, a schedule, experts, and the
puzzle: a grid of ranks on a tree whose flows are hashed; the parents of two trees, a switch that
adds, the fastest protocol, and an all-reduce in few steps."""

from collections.abc import Sequence

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, held, judge_seconds, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import items, short, whole, whole_rows
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import hierarchical, pairwise, ring
from ddl_teach.comm import Comm, FatTree
from ddl_teach.plain.balanced_experts import next_bias, spare_copies
from ddl_teach.plain.double_binary_tree import parent
from ddl_teach.theory import collectives, nccl

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


PARENTS, BYTES, PROTOCOL, SWITCH = texts(
    __package__, "parents", "switch_bytes", "protocol", "switch"
)


def judge_parents(attempt: Attempt) -> None:
    """The rank above in the second tree, of an even number of ranks."""
    for count in (4, 6, 8, 16):
        for rank in range(count - 1):
            mirrored = parent(count - 1 - rank, count)
            ask(attempt, PARENTS, (rank, count), count - 1 - mirrored).compare(
                first_tree=parent(rank, count) if rank else -1,
                not_back=mirrored,
            )


def judge_bytes(attempt: Attempt) -> None:
    """How many times fewer bytes a host sends if the switch adds."""
    for count in (2, 3, 8, 100):
        right = 2 * (count - 1) / count
        ask(attempt, BYTES, (count,), right).compare(
            upside_down=1 / right, one_way=right / 2, all_ranks=right * count
        )


def judge_protocol(attempt: Attempt) -> None:
    """The seconds of a ring by a protocol."""
    for count, nbytes in ((2, 1e3), (8, 1e6), (64, 1e9)):
        for name, protocol in nccl.PROTOCOLS.items():
            given = count, nbytes, 25e9, protocol.latency, protocol.fraction
            steps, whole = 2 * (count - 1), nbytes / 25e9
            right = collectives.ring(count, nbytes, protocol.link(25e9))
            ask(attempt, PROTOCOL, given, right, name=name).compare(
                times_fraction=steps * (given[3] + whole / count * given[4]),
                latency_once=given[3] + steps * whole / count / given[4],
                whole_vector=steps * (given[3] + whole / given[4]),
            )


def judge_switch(attempt: Attempt) -> None:
    """The last rank adds up the vectors of the others and gives back the sum."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 6))
        x[-1] = 0
        call, outcome = run_ranks(attempt, SWITCH, [(row,) for row in x])
        for rank, (mine,) in enumerate(outcome.arguments[:-1]):
            held(SWITCH, call, rank, mine, x.sum(0)).compare(untouched=x[rank], last_only=x[-2])
        limits = [x[0].nbytes] * (count - 1) + [x[0].nbytes * (count - 1)]
        ranks.judge_sent(call, outcome, limits, SWITCH("too_many"), of="bytes")


DIRECT, PAT = texts(__package__, "direct", "pat")


def judge_direct(attempt: Attempt) -> None:
    """The sum in two steps, with a chunk for each rank in each."""
    for count in attempt.counts:
        x = attempt.generator.standard_normal((count, 4 * count))
        total = x.sum(0)
        call, outcome = run_ranks(attempt, DIRECT, [(row,) for row in x])
        for rank, (mine,) in enumerate(outcome.arguments):
            own, chunk = x[rank].copy(), slice(4 * rank, 4 * rank + 4)
            own[chunk] = total[chunk]
            held(DIRECT, call, rank, mine, total).compare(untouched=x[rank], not_gathered=own)
        limits = [2 * (count - 1) * x[0].nbytes // count] * count
        ranks.judge_sent(call, outcome, limits, DIRECT("too_many"), of="bytes")
        for rank, ledger in enumerate(outcome.ledger):
            peers = {message.peer for message in ranks.sent(ledger)}
            DIRECT.refuse_if({"call": call, "rank": rank}, passed_on=len(peers) < count - 1)


def judge_pat(attempt: Attempt) -> None:
    """How far each message of an all-gather goes, and how many chunks are in it."""
    for count in (2, 4, 8, 64):
        powers = [2**k for k in range(count.bit_length() - 1)]
        right = list(zip(powers[::-1], powers, strict=True))
        ask(attempt, PAT, (count,), right, read=whole_rows).compare(
            near_first=right[::-1],
            as_bruck=list(zip(powers, powers, strict=True)),
            one_chunk=[(distance, 1) for distance, _ in right],
        )
