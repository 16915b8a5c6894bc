"""The judges of unit 20's rank programs: a ring, an exchange that knows nodes, an agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Outcome, Stage, Wrong, ranks_text
from ddl_class.exercises.kit import ranks, sums
from ddl_class.exercises.kit.answers import number
from ddl_class.exercises.kit.ranks import listed
from ddl_class.exercises.kit.sums import Parts
from ddl_class.exercises.unit_06 import judges as whole
from ddl_measure.traffic import between_nodes
from ddl_runtime.topologies.point_to_point import Uniform

NEIGHBOURS = (
    "Right and left neighbour are those in the list `ranks`: with place = ranks.index(comm.rank) "
    "the right one is ranks[(place + 1) % len(ranks)]."
)
LEADERS = (
    "A rank that is no leader sends once, to its leader, and receives once from it; only leaders "
    "enter the ring."
)
NOT_LISTED: ranks.Causes = (
    (
        lambda error: error.exception == "ValueError" and error.reason.endswith("is not in list"),
        "A rank that is not in the list must do nothing: return at once.",
    ),
)
TOGETHER = "All ranks must call the exchange, also those that have no checkpoint at all."
STEPS = 30


class With:
    """A stage whose function takes one argument more: the same list for every rank."""

    def __init__(self, stage: Stage, extra: Sequence[int]) -> None:
        self._stage, self._extra = stage, list(extra)

    def call(self, *arguments: Any) -> Any:
        """As it is."""
        return self._stage.call(*arguments)

    def run(self, count: int, arguments: Sequence[tuple], *, network: Any = Uniform()) -> Outcome:
        """The same with `extra` at the end."""
        given = [(*own, list(self._extra)) for own in arguments]
        return self._stage.run(count, given, network=network)


# -- exchanges -------------------------------------------------------------------------------


def judge_ring(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The ring of unit 06 among ranks of a list, in its order; nobody else takes part."""
    for count in ranks.first(4, counts):
        whole.judge_ring(With(stage, range(count)), generator, (count,))
        order = [int(rank) for rank in generator.permutation(count)][: max(1, count - 1)]
        _judge_some(stage, generator, count, order)


def _judge_some(
    stage: Stage, generator: np.random.Generator, count: int, order: list[int]
) -> None:
    vectors = [generator.integers(1, 99, 3 * count + 1).astype(float) for _ in range(count)]
    call = f"ring(comm, x, ranks={order}) on {ranks_text(count)}"
    given = [(x, list(order)) for x in vectors]
    outcome = ranks.run(stage, count, given, call, NOT_LISTED + ranks.general(NEIGHBOURS))
    total = np.sum([vectors[rank] for rank in order], axis=0)
    for rank, own in enumerate(vectors):
        x, listed_here = outcome.arguments[rank][0], rank in order
        sent = {message.peer for message in outcome.ledger[rank].messages}
        if not listed_here and (sent or not np.array_equal(x, own)):
            raise Wrong(
                f"{call}: rank {rank} is not in the list, so it sends nothing and its x stays as "
                "it was."
            )
        if listed_here and not np.array_equal(x, total):
            raise Wrong(f"{call}: rank {rank} does not hold the sum of {listed(order)}. "
                        f"{NEIGHBOURS}")  # fmt: skip
        if listed_here and len(order) > 1:
            place = order.index(rank)
            near = order[(place + 1) % len(order)], order[place - 1]
            if not sent <= {near[0]} and not sent <= {near[1]}:
                raise Wrong(
                    f"{call}: the sum is right, but rank {rank} sent to {listed(sent)}, and its "
                    f"right neighbour in the list is rank {near[0]}. {NEIGHBOURS}"
                )


def judge_nodes(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The sum on all ranks; between nodes travels what a ring of one rank a node would send."""
    for count in ranks.first(4, counts):
        for place, node_of in enumerate(_placements(generator, count)):
            for parts in list(sums.trials(generator, (count,)))[: 3 if place else None]:
                outcome = sums.run(With(stage, node_of), parts, f"{LEADERS} {_placed(node_of)}")
                sums.compare(parts, outcome, _explain_nodes(node_of))
                _judge_crossing(outcome, parts, node_of)


def _placements(generator: np.random.Generator, count: int) -> list[list[int]]:
    """Neighbours on one node, dealt out in turns, and any which way with gaps in the numbers."""
    half = max(1, count // 2)
    mixed = [3 * int(node) + 1 for node in generator.integers(0, 3, count)]
    return [[rank // 2 for rank in range(count)], [rank % half for rank in range(count)], mixed]


def _placed(node_of: list[int]) -> str:
    return f"Here node_of is {node_of}."


def _explain_nodes(node_of: list[int]) -> sums.Explain:
    leaders = {node_of.index(node) for node in node_of}

    def explain(parts: Parts, counted: np.ndarray) -> str:
        complete = set(np.flatnonzero((counted == 1).all(axis=(1, 2))).tolist())
        if complete == leaders and len(leaders) < parts.ranks:
            return f"Only the leaders have the sum; the others need it as well. {_placed(node_of)}"
        same = np.array(node_of)[:, None] == np.array(node_of)[None, :]
        if (counted == same[:, None, :]).all() and len(leaders) > 1:
            return f"Each node has its own sum only: leaders must meet. {_placed(node_of)}"
        return _placed(node_of)

    return explain


def _judge_crossing(outcome: Outcome, parts: Parts, node_of: list[int]) -> None:
    whole.refuse_native(outcome)
    crossed = sum(between_nodes(outcome.ledger, node_of))
    nodes, nbytes = len(set(node_of)), parts.pattern.nbytes
    right = 2 * (nodes - 1) * nbytes
    if crossed > right:
        raise Wrong(
            f"The sum is right, but {crossed:,} bytes went from node to node, where 2 (N-1) n = "
            f"{right:,} are enough for N = {nodes} nodes. Let only one rank of each node enter "
            f"the ring, and whole vectors travel inside nodes only. {_placed(node_of)}\n"
            f"{parts.setting}."
        )


# -- going on --------------------------------------------------------------------------------


def judge_agree(stage: Stage, generator: np.random.Generator, counts: Sequence[int]) -> None:
    """The newest step of which everybody has a whole checkpoint."""
    for count in ranks.first(4, counts):
        for common in ([5, 10], [], [20]):
            own = [sorted({*common, *_further(rank, count)}) for rank in range(count)]
            if count > 1 and not common:
                own[int(generator.integers(count))] = []
            _judge_agree(stage, count, own)


def _further(rank: int, count: int) -> set[int]:
    """Steps that this rank has and not everybody: the latest of one is an older one of another."""
    return {25 if rank % 2 else 15} | ({30} if 0 < rank < count - 1 else set())


def _judge_agree(stage: Stage, count: int, own: list[list[int]]) -> None:
    right = max(set.intersection(*map(set, own)), default=0)
    call = f"agree(comm, whole, steps={STEPS}) with whole = {', '.join(map(str, own))}"
    given = [(list(whole_ones), STEPS) for whole_ones in own]
    outcome = ranks.run(stage, count, given, call, ranks.general(TOGETHER))
    wanted = f"{call}: return a step"
    said = [number(one, f"{wanted} on rank {rank}") for rank, one in enumerate(outcome.results)]
    if set(said) == {right}:
        return
    newest = [max(steps, default=0) for steps in own]
    if len(set(said)) > 1:
        why = "they must go on from the same step, and each takes another one"
    elif said[0] == min(newest):
        why = "not everybody has a checkpoint of that step: the least of the newest is not enough"
    elif said[0] == max(newest):
        why = "only some have a checkpoint of that step"
    else:
        why = "0 is for when there is none" if right == 0 else "there is a newer one"
    raise Wrong(
        f"{call}: the ranks say {[f'{step:g}' for step in said]}, right is {right}: {why}."
    )
