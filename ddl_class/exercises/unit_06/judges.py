"""Judging all-reduce: the right sum on all ranks, and by the algorithm that was asked for.

The sum shows how often each rank was counted (see `sums`). The ledger shows the algorithm: how
many messages, to which ranks, how long.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, ranks, sums, texts, within
from ddl_class.exercises.kit.answers import number
from ddl_class.exercises.kit.asked import ask, judge_seconds
from ddl_class.exercises.kit.puzzle import FOUR_NODES, LENGTH, RANKS
from ddl_class.exercises.kit.ranks import listed
from ddl_class.exercises.kit.sums import Parts
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.shared_links import Topology
from ddl_teach.theory.crossover import crossovers
from ddl_teach.theory.machine import Link

EACH, PASSING, ONCE_ROUND, RING, DOUBLING, HALVING, CROSSOVER, NODES = texts(
    __package__, "", "pass_round", "reduce_scatter", "ring", "recursive_doubling", "rabenseifner",
    "crossover", "nodes",
)  # fmt: skip
NODES_GOAL = 1.9e-3  # seconds; the ring takes 2.03 ms


def judge_pass_round(attempt: Attempt) -> None:
    """The sum on all ranks, after P-1 steps round the ring with whole vectors."""
    _judge(attempt, PASSING("advice"), _explain_pass_round, _follow_whole_vectors)


def _explain_pass_round(parts: Parts, counted: np.ndarray) -> str:
    steps, met = parts.ranks - 1, (counted > 0).sum(axis=2)
    return PASSING.first(
        {"steps": steps},
        own_again=(counted.max(axis=2) == steps).all() and (met == 2).all() and steps > 1,
        sum_passed_on=counted.max() > 1,
        one_short=counted.min() >= 0 and met.max() <= steps,
    )


def _follow_whole_vectors(parts: Parts, outcome: ProgramOutcome) -> None:
    steps, traffic, nbytes = parts.ranks - 1, _traffic(outcome), parts.pattern.nbytes
    if traffic["every"] != parts.ranks * steps or traffic["lengths"] - {nbytes}:
        words = PASSING("no_round", **traffic, steps=steps, nbytes=nbytes)
        raise Wrong(f"{words}\n{parts.setting}.")


def judge_reduce_scatter(attempt: Attempt) -> None:
    """Chunk r is complete on rank r, after P-1 steps round the ring."""
    for parts in sums.trials(attempt.generator, attempt.counts):
        outcome = sums.run(attempt, parts, EACH("same_chunk"))
        counted = np.array([parts.counted(x) for x in sums.vectors_left(parts, outcome)])
        for rank in range(parts.ranks):
            own = parts.chunk(rank)
            if (counted[rank, own] != 1).any():
                usual = _explain_once_round(parts, counted)
                sums.refuse(parts, usual, counted[rank], rank, first=own.start)
        refuse_native(outcome)
        _follow_the_ring(parts, outcome, rounds=1)


def _explain_once_round(parts: Parts, counted: np.ndarray) -> str:
    count = parts.ranks
    for shift in range(1, count):
        chunks = [parts.chunk((rank + shift) % count) for rank in range(count)]
        if all((counted[rank, chunk] == 1).all() for rank, chunk in enumerate(chunks)):
            distance = min(shift, count - shift)
            values = {"distance": distance, "shift": shift, "count": count}
            return ONCE_ROUND.first(values, off_by_one=distance == 1, off_by_more=True)
    own = np.concatenate([counted[rank, parts.chunk(rank)] for rank in range(count)])
    alone = [counted[rank, parts.chunk(rank), rank] for rank in range(count)]
    return ONCE_ROUND.first(
        {"count": count, "steps": count - 1},
        same_chunk=(own < 0).any(),
        never_comes=all((part == own[0].sum()).all() for part in alone),
        not_added=count > 2 and (own.sum(axis=1) == 1).all(),
    )


def judge_ring(attempt: Attempt) -> None:
    """The sum on all ranks, after 2 (P-1) steps round the ring."""
    _judge(attempt, EACH("same_chunk"), _explain_ring, _follow_the_ring)


def _explain_ring(parts: Parts, counted: np.ndarray) -> str:
    count, complete = parts.ranks, (counted == 1).all(axis=2)
    first_half = all(complete[rank, parts.chunk(rank)].all() for rank in range(count))
    spread = complete.sum(axis=0)  # how many ranks have an element; at the end all should
    return RING.first(
        {"steps": count - 1},
        same_chunk=(counted < 0).any(),
        replaces=first_half and counted.max() > 1,
        no_second_half=first_half and (spread == 1).all(),
        one_step_short=first_half and (spread == count - 1).all(),
        only_rank_0=_only_rank_0(counted),
        overwritten=not first_half,
    )


def _follow_the_ring(parts: Parts, outcome: ProgramOutcome, rounds: int = 2) -> None:
    count, size = parts.ranks, parts.pattern.nbytes
    finished = EACH("chunks" if rounds == 1 else "sum")
    peers = [{message.peer for message in ledger.messages} for ledger in outcome.ledger]
    # A ring may turn either way.
    if not any(
        all(own <= {(rank + step) % count} for rank, own in enumerate(peers)) for step in (1, -1)
    ):
        rank = max(range(count), key=lambda rank: len(peers[rank]))
        _refuse("no_ring", parts, finished=finished, rank=rank, peers=listed(peers[rank]))
    steps = rounds * (count - 1)
    traffic = _traffic(outcome)
    # Of vectors shorter than the ring some chunks are empty, and need not be sent.
    uneven = traffic["most"] != steps and len(parts.pattern) >= count
    if traffic["total"] != steps * size or uneven:
        why = EACH.first(whole_vectors=size in traffic["lengths"])
        values = {"finished": finished, "steps": steps, "nbytes": steps * size, "why": why}
        _refuse("no_ring_counts", parts, **traffic, **values)


def judge_doubling(attempt: Attempt) -> None:
    """The sum on all ranks by swapping; where the count is no power of two, by folding first."""
    _judge(attempt, EACH("same_part"), _explain_doubling, _follow_the_doubling)


def _explain_doubling(parts: Parts, counted: np.ndarray) -> str:
    count = parts.ranks
    flat = counted[:, 0]  # how often each part is in the vector of each rank
    core = 2 ** (count.bit_length() - 1)
    # Which rank folds into which is the learner's choice; a rank in no sum was not folded.
    lost = np.flatnonzero((flat[: count // 2] == 0).all(axis=0))
    few_and_alike = (flat <= 1).all() and len(set(flat.sum(axis=1))) == 1
    return DOUBLING.first(
        {
            "last": core - 1,
            "lost": listed(lost) if len(lost) else "",
            "done": int(flat[0].sum()).bit_length() - 1,
            "needed": core.bit_length() - 1,
        },
        same_part=(counted < 0).any(),
        no_way_back=len(flat[core:]) and (flat[:core] == 1).all(),
        not_folded=count > core and len(lost),
        not_added=(flat.sum(axis=1) == 1).all(),
        same_partner=count > 2 and flat.max() > 1 and ((flat > 0).sum(axis=1) <= 2).all(),
        counted_twice=count > 2 and flat.max() > 1,
        ends_early=count == core and few_and_alike,
        only_rank_0=_only_rank_0(counted),
    )


def _follow_the_doubling(parts: Parts, outcome: ProgramOutcome) -> None:
    core, size = 2 ** (parts.ranks.bit_length() - 1), parts.pattern.nbytes
    steps, folded = core.bit_length() - 1, parts.ranks - core
    traffic = _traffic(outcome)
    at_most, in_all = steps + (folded > 0), core * steps + 2 * folded
    if traffic["every"] != in_all or traffic["most"] > at_most or traffic["lengths"] - {size}:
        _refuse("no_doubling", parts, **traffic, at_most=at_most, in_all=in_all, size=size)


def judge_rabenseifner(attempt: Attempt) -> None:
    """The sum on all ranks, first by halving, then by doubling."""
    _judge(attempt, HALVING("same_part"), _explain_halving, _follow_the_halving)


def _explain_halving(parts: Parts, counted: np.ndarray) -> str:
    complete = (counted == 1).all(axis=2)
    return HALVING.first(
        same_part=(counted < 0).any(),
        replaces=complete.any(axis=0).all() and counted.max() > 1,
        no_way_back=(complete.sum(axis=0) == 1).all(),
        only_rank_0=_only_rank_0(counted),
    )


def _follow_the_halving(parts: Parts, outcome: ProgramOutcome) -> None:
    count, size = parts.ranks, parts.pattern.nbytes
    steps, in_all = 2 * (count.bit_length() - 1), 2 * (count - 1) * size
    traffic = _traffic(outcome)
    if [traffic[of] for of in ("most", "every", "total")] != [steps, count * steps, in_all]:
        whole = traffic["total"] == count * steps // 2 * size and count > 2
        why = EACH.first(doubling=whole)
        _refuse("no_halving", parts, **traffic, steps=steps, in_all=in_all, why=why)


def _traffic(outcome: ProgramOutcome) -> dict[str, Any]:
    """The most messages of a rank, the messages and bytes of all, and the lengths that occur."""
    messages = [ledger.messages_sent for ledger in outcome.ledger]
    return {
        "most": max(messages),
        "s": "s" * (max(messages) != 1),
        "every": sum(messages),
        "total": sum(ledger.bytes_sent for ledger in outcome.ledger),
        "lengths": {message.bytes for ledger in outcome.ledger for message in ledger.messages},
    }


def _refuse(text: str, parts: Parts, **values: Any) -> None:
    raise Wrong(f"{EACH(text, **values)}\n{parts.setting}.")


def _judge(
    attempt: Attempt, advice: str, explain: sums.Explain,
    follow: Callable[[Parts, ProgramOutcome], None],
) -> None:  # fmt: skip
    for parts in sums.trials(attempt.generator, attempt.counts):
        outcome = sums.run(attempt, parts, advice)
        sums.compare(parts, outcome, explain)
        refuse_native(outcome)
        follow(parts, outcome)


def _only_rank_0(counted: np.ndarray) -> bool:
    """Whether rank 0, and no other of several ranks, has the whole sum."""
    complete = (counted == 1).all(axis=(1, 2))
    return len(counted) > 1 and bool(complete[0]) and complete.sum() == 1


def refuse_native(outcome: ProgramOutcome) -> None:
    """Raise `Wrong` if the MPI library made the sum."""
    EACH.refuse_if(native=any(ledger.by_kind()["native"] for ledger in outcome.ledger))


def judge_crossover(attempt: Attempt) -> None:
    """The size at which the two formulas meet, for powers of two."""
    read = partial(number, finite=False)
    for count in (8, 4, 1024, 65_536):
        latency = float(attempt.generator.uniform(0.5e-6, 50e-6))
        bandwidth = float(attempt.generator.uniform(0.1e9, 50e9))
        [right] = crossovers("recursive_doubling", "ring", count, Link(latency, 1 / bandwidth))
        steps, levels, share = 2 * (count - 1), math.log2(count), 2 * (count - 1) / count
        meeting = partial(_meeting, latency * bandwidth)
        given, near = (count, latency, bandwidth), within(1e-6)
        ask(attempt, CROSSOVER, given, right.nbytes, same=near, read=read).compare(
            divided=meeting(steps, levels, share) / bandwidth**2,
            whole_vector=meeting(steps, levels, steps),
            natural_logarithm=meeting(steps, math.log(count), share),
            one_round=meeting(steps / 2, levels, share / 2),
            as_many_steps_as_ranks=meeting(2 * count, levels, 2),
            wrong_sign=-meeting(steps, levels, share),
        )
    try:
        number_given = read(attempt.call(2, 1e-6, 1e9), CROSSOVER("wanted"))
    except DiagnosedError as error:
        if error.exception != "ZeroDivisionError":
            raise
        raise Wrong(CROSSOVER("divides_by_zero")) from error
    CROSSOVER.refuse_if({"said": number_given}, two_ranks=number_given != math.inf)


def _meeting(product: float, steps: float, levels: float, share: float) -> float:
    """The bytes at which two all-reduces take equally long: `steps` or `levels` latencies, and
    `share` or `levels` times the vector. `product` is latency times bandwidth."""
    return (steps - levels) * product / (levels - share) if levels != share else 0.0


def judge_nodes(attempt: Attempt) -> None:
    """The sum on all ranks of four nodes, by any algorithm, and sooner than the ring's."""
    outcome = summed_on_nodes(attempt, FOUR_NODES, EACH("same_part"), _explain_nodes)
    judge_seconds(attempt, NODES, outcome.time, NODES_GOAL, ranks.lent(outcome))


def summed_on_nodes(
    attempt: Attempt, network: Topology, advice: str, explain: Callable[[Parts, np.ndarray], str]
) -> ProgramOutcome:
    """What happened when the ranks of four nodes added up long vectors, all of them right."""
    for length in (1003, LENGTH):
        pattern = attempt.generator.integers(1, 32, length).astype(float)
        parts = sums.Parts(RANKS, pattern)
        given, causes = [(vector,) for vector in parts.vectors], ranks.general(advice)
        outcome = ranks.run(attempt, RANKS, given, parts.setting, causes, network)
        sums.compare(parts, outcome, explain)
        refuse_native(outcome)
    return outcome


def _explain_nodes(parts: Parts, counted: np.ndarray) -> str:
    node = np.array([FOUR_NODES.node(rank) for rank in range(RANKS)])
    other_nodes = (node[:, None] != node)[:, None]  # by rank, element, part
    complete = (counted == 1).all(axis=2)
    return NODES.first(
        own_node=not (counted * other_nodes).any(),
        not_handed_out=complete.any(axis=0).all(),
        no_sum=(counted < 0).any(),
    )
