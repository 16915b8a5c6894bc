"""The judges of unit 20: costs inside nodes and between them, the time of a step; a ring, an
exchange that knows nodes, an agreement; and the puzzle, with one node behind a slow cable."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner
from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, ranks, ranks_text, sums, texts
from ddl_class.exercises.kit.answers import number, numbers, several
from ddl_class.exercises.kit.asked import ask, held, judge_seconds, run_ranks
from ddl_class.exercises.kit.compare import within
from ddl_class.exercises.kit.puzzle import RANKS
from ddl_class.exercises.kit.ranks import listed
from ddl_class.exercises.kit.slow_cable import SLOW_CABLE
from ddl_class.exercises.kit.sums import Parts
from ddl_class.exercises.unit_06 import judges as whole
from ddl_teach.theory import many_nodes as theory
from ddl_teach.theory.machine import Cluster, Link

LEVELS, STEP, RING, EXCHANGE, AGREE, BOUND = texts(
    __package__, "levels", "step", "ring", "exchange", "agree", "bound"
)
CLOSE = 0.02  # relative: what is right is exact, and late pings are 3 to 9 times late
SHORT, LONG = 8, 2**18


def judge_bound(attempt: Attempt) -> None:
    """The time of a vector on the slowest of some cables."""
    drawn = attempt.generator.integers(1, 99, 4).tolist()
    for nbytes, cables in ((2**20, [1e9, 1e9, 1e9, 1e8]), (10**6, [5e8, 2e9]), (10**8, drawn)):
        right = nbytes / min(cables)
        ask(attempt, BOUND, (nbytes, cables), right).compare(
            both_ways=2 * right,
            mean_cable=nbytes / np.mean(cables),
            fastest=nbytes / max(cables),
            together=nbytes / sum(cables),
        )


def judge_levels(attempt: Attempt) -> None:
    """Latency and time a byte of both levels, though some pings were late."""
    generator = attempt.generator
    for _ in range(4):
        inside = Link(*generator.uniform((2e-6, 1e-10), (5e-5, 2e-9)))
        between = Link(*generator.uniform((8e-5, 5e-9), (9e-4, 9e-8)))
        node_of, names = [0, 0, 1, 1], ("inside", "between")
        pings = []
        for a, b in ((0, 1), (0, 2), (1, 3), (2, 3)):
            link = inside if node_of[a] == node_of[b] else between
            for nbytes in (SHORT, LONG):
                late = generator.permutation([1.0] * 7 + [*generator.uniform(3, 9, 2)])
                time = link.latency + (nbytes - SHORT) * link.per_byte
                pings += [(a, b, nbytes, float(time * factor)) for factor in late]
        pings = [pings[place] for place in generator.permutation(len(pings))]
        pairs = several(attempt.call(node_of, pings), 2, LEVELS("wanted"))
        result = np.array([
            numbers(pair, (f"the latency {level}", f"the time a byte {level}"), LEVELS("wanted"))
            for level, pair in zip(names, pairs, strict=True)
        ])  # fmt: skip
        right = np.array([(link.latency, link.per_byte) for link in (inside, between)])
        for level, mine, theirs in zip(names, result, right, strict=True):
            if _close(mine, theirs):
                continue
            latency, per_byte = theirs
            shown = {"found": mine * (1e6, 1e9), "right": theirs * (1e6, 1e9)}
            LEVELS.refuse_if(
                {"found": LEVELS("found", level=level, **shown)},
                exchanged=_close(result[::-1], right),
                both_alike=_close(result[0], result[1]),
                latency_in_bytes=_close(mine[1] * LONG, latency + LONG * per_byte),
                upside_down=_close(mine[1], 1 / per_byte),
                mean=mine[0] > latency * (1 + CLOSE),
                otherwise=True,
            )


def _close(result: Any, right: Any) -> bool:
    return np.allclose(result, right, rtol=CLOSE, atol=0)


def judge_step(attempt: Attempt) -> None:
    """A training step by a ring of all ranks, and by parts."""
    names = "the step by one ring", "the step by parts"
    for nodes, each, cards in ((4, 2, 1), (8, 8, 8), (2, 3, 1), (8, 4, 2), (16, 1, 1), (1, 4, 2)):
        for large in (1e2, 1e7):  # where the hops decide, and where the cable does
            nbytes = int(large * attempt.generator.integers(10, 90))
            work = float(attempt.generator.uniform(0.01))
            inside = Link(*attempt.generator.uniform((2e-6, 1e-11), (2e-5, 1e-10)))
            between = Link(*attempt.generator.uniform((3e-5, 1e-9), (3e-4, 9e-8)))
            case = Cluster(nodes, each, cards, inside, between), nbytes, work
            result = numbers(attempt.call(*case), names, STEP("wanted"))
            right = [float(seconds) for seconds in theory.step(*case)]
            known = {"nodes": nodes, "each": ranks_text(each), "cards": cards}
            call = STEP("call", nbytes=nbytes, work=work, **known)
            for place, name in enumerate(names):
                both = result[place], right[place]
                answer = held(STEP, call, 0, *both, same=within(1e-6), name=name)
                answer.compare(_usual(place, right, *case))


def _usual(
    place: int, right: list[float], cluster: Cluster, nbytes: int, work: float
) -> dict[str, float]:
    """Usual mistakes, and what comes of them in this case."""
    nodes, each, cards = cluster.nodes, cluster.ranks_per_node, cluster.cards
    inside, between = cluster.inside, cluster.between
    usual = STEP.each(no_work=right[place] - work, exchanged=right[1 - place])
    ranks, chunk = cluster.ranks, nbytes / cluster.ranks
    near, far = (link.latency + chunk * link.per_byte for link in (inside, between))
    hop, hops = (far + (each - 1) * near) / each, 2 * (ranks - 1)
    if place:
        inner = 2 * (each - 1) * (inside.latency + nbytes / each * inside.per_byte)
        whole = 2 * (each - 1) * (inside.latency + nbytes * inside.per_byte)
        outer = 2 * (nodes - 1) * (between.latency + nbytes / (nodes * cards) * between.per_byte)
        alone = 2 * (nodes - 1) * (between.latency + nbytes / nodes * between.per_byte)
        own = 2 * (nodes - 1) * (between.latency + chunk * between.per_byte)
        return usual | STEP.each(
            no_inner_part=work + outer,
            one_way=work + inner / 2 + outer,
            whole_inside=work + whole + outer,
            one_card=work + inner + alone,
            card_for_each=work + inner + own,
        )
    return usual | STEP.each(
        one_node=work + hops * max(chunk * between.per_byte, hop),
        in_step=work + hops * far,
        hops_alone=work + hops * hop,
        cable_alone=work + hops * chunk * between.per_byte,
    )


NOT_LISTED = RING.each(
    not_listed=lambda error: (
        error.exception == "ValueError" and error.reason.endswith("is not in list")
    )
)
STEPS = 30


def _with(stage: ProgramRunner, extra: Sequence[int]) -> Any:
    """A stage whose rank program takes one argument more: the same list for every rank."""

    def run(count: int, arguments: Sequence[tuple[Any, ...]], **network: Any) -> ProgramOutcome:
        return stage.run(count, [(*own, list(extra)) for own in arguments], **network)

    return SimpleNamespace(call=stage.call, run=run)


# -- exchanges -------------------------------------------------------------------------------


def judge_ring(attempt: Attempt) -> None:
    """The ring of unit 06 among ranks of a list, in its order; no other rank takes part."""
    neighbours = RING("neighbours")
    causes = NOT_LISTED | ranks.general(neighbours)
    for count in ranks.first(4, attempt.counts):
        whole.judge_ring(Attempt(_with(attempt, range(count)), attempt.generator, (count,)))
        order = attempt.generator.permutation(count).tolist()[: max(1, count - 1)]
        vectors = attempt.generator.integers(1, 99, (count, 3 * count + 1)).astype(float)
        given = [(x, order) for x in vectors]
        call, outcome = run_ranks(attempt, RING, given, causes, order=order)
        total = vectors[order].sum(axis=0)
        for rank, own in enumerate(vectors):
            x, is_listed = outcome.arguments[rank][0], rank in order
            sent = {message.peer for message in outcome.ledger[rank].messages}
            place = order.index(rank) if is_listed else 0
            right, left = order[(place + 1) % len(order)], order[place - 1]
            along = sent <= {right} or sent <= {left}
            values = {"call": call, "rank": rank, "listed": listed(order), "sent": sorted(sent)}
            RING.refuse_if(
                values | {"right": right, "neighbours": neighbours},
                takes_part=not is_listed and (sent or not np.array_equal(x, own)),
                no_sum=is_listed and not np.array_equal(x, total),
                other_neighbour=is_listed and len(order) > 1 and not along,
            )


def judge_nodes(attempt: Attempt) -> None:
    """The sum on all ranks; to other nodes each rank sends its part of what a ring would send."""
    for count in ranks.first(4, attempt.counts):
        each = next(few for few in (2, 3, 5, 7, count) if count % few == 0)
        # Neighbours on one node, dealt out in turns, and any which way with gaps in the numbers.
        placements = [
            [rank // each for rank in range(count)],
            [rank % (count // each) for rank in range(count)],
            [3 * (rank % each) + 1 for rank in attempt.generator.permutation(count).tolist()],
        ]
        for place, node_of in enumerate(placements):
            for parts in list(sums.trials(attempt.generator, (count,)))[: 3 if place else None]:
                advice = EXCHANGE("in_step", node_of=node_of)
                outcome = sums.run(_with(attempt, node_of), parts, advice)
                sums.compare(parts, outcome, _explain_nodes(node_of))
                whole.refuse_native(outcome)
                _compare_bytes(parts, outcome, node_of)


def _compare_bytes(parts: Parts, outcome: ProgramOutcome, node_of: list[int]) -> None:
    nodes, item = len(set(node_of)), parts.pattern.itemsize
    each, length = len(node_of) // nodes, len(parts.pattern)
    crossed = [
        sum(message.bytes for message in ledger.messages if node_of[message.peer] != node_of[rank])
        for rank, ledger in enumerate(outcome.ledger)
    ]
    stayed = [book.bytes_sent - out for book, out in zip(outcome.ledger, crossed, strict=True)]
    part = -(-length // each)
    right, share = 2 * (nodes - 1) * length * item, 2 * (nodes - 1) * -(-part // nodes) * item
    within = 2 * (each - 1) * part * item
    values = {"node_of": node_of, "right": right, "share": share, "within": within}
    values |= {"crossed": sum(crossed), "most": max(crossed), "inside": max(stayed)}
    values |= {"sender": int(np.argmax(crossed)), "speaker": int(np.argmax(stayed))}
    EXCHANGE.refuse_if(
        values | {"setting": parts.setting},
        crossing=sum(crossed) > right,
        alone=max(crossed) > share,
        whole_inside=max(stayed) > within,
    )


def _explain_nodes(node_of: list[int]) -> sums.Explain:
    nodes = np.array(node_of)
    place = np.array([node_of[:rank].count(node) for rank, node in enumerate(node_of)])
    each = len(node_of) // len(set(node_of))
    mates, peers = (numbers[:, None] == numbers[None, :] for numbers in (nodes, place))

    def explain(parts: Parts, counted: np.ndarray) -> str:
        complete = (counted == 1).all(axis=2)
        start, end = (len(parts.pattern) * (place + edge) // each for edge in (0, 1))
        own = [row[a:b].all() for row, a, b in zip(complete, start, end, strict=True)]
        several = 1 < each < parts.ranks
        return EXCHANGE.first(
            {"node_of": node_of},
            own_node=several and (counted == mates[:, None, :]).all(),
            only_peers=several and (counted == peers[:, None, :]).all(),
            own_part=all(own) and each > 1,
            placed=True,
        )

    return explain


# -- going on --------------------------------------------------------------------------------


def judge_agree(attempt: Attempt) -> None:
    """The newest step of which every rank has a whole checkpoint."""
    for count in ranks.first(4, attempt.counts):
        for common in ([5, 10], [], [20]):
            # Of steps that not all ranks have, the latest of one rank is an older one of another.
            inner = [{30} if 0 < rank < count - 1 else set() for rank in range(count)]
            odd = [{25 if rank % 2 else 15} for rank in range(count)]
            own = [sorted({*common, *two, *more}) for two, more in zip(odd, inner, strict=True)]
            if count > 1 and not common:
                own[int(attempt.generator.integers(count))] = []
            right = max(set.intersection(*map(set, own)), default=0)
            given = [(steps, STEPS) for steps in own]
            each = ", ".join(map(str, own))
            call, outcome = run_ranks(attempt, AGREE, given, steps=STEPS, whole=each)
            result = [
                number(answer, AGREE("wanted", call=call, rank=rank))
                for rank, answer in enumerate(outcome.results)
            ]
            newest = [max(steps, default=0) for steps in own]
            if set(result) != {right}:
                reason = AGREE.first(
                    apart=len(set(result)) > 1,
                    least=result[0] == min(newest),
                    newest=result[0] == max(newest),
                    none=right == 0,
                    newer=True,
                )
                answers = [f"{step:g}" for step in result]
                raise Wrong(AGREE("wrong", call=call, found=answers, right=right, why=reason))


(CABLE,) = texts(__package__, "cable")
GOAL = 12e-3  # seconds; by parts it takes 16 ms, and a ring of all ranks 19.7


def judge_cable(attempt: Attempt) -> None:
    """The sum on all ranks, by any algorithm, and sooner than by parts."""
    outcome = whole.summed_on_nodes(attempt, SLOW_CABLE, CABLE("partners"), _explain)
    judge_seconds(attempt, CABLE, outcome.time, GOAL, ranks.lent(outcome))


def _explain(parts: Parts, counted: np.ndarray) -> str:
    node = np.array([SLOW_CABLE.node(rank) for rank in range(RANKS)])
    last = node == node.max()
    return CABLE.first(
        without_last=(counted[~last][:, :, last] == 0).all(),
        last_without=(counted[last][:, :, ~last] == 0).all(),
        twice=counted.max() > 1,
        no_sum=True,
    )
