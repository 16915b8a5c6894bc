"""The judges of unit 20: costs inside nodes and between them, the time of a step; a ring, an
exchange that knows nodes, an agreement."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks, sums
from ddl_class.exercises.kit.answers import number, numbers, several
from ddl_class.exercises.kit.compare import compare, first_case, refuse_if, within
from ddl_class.exercises.kit.ranks import listed
from ddl_class.exercises.kit.sums import Parts
from ddl_class.exercises.unit_06 import judges as whole
from ddl_measure.traffic import between_nodes
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.theory import many_nodes as theory
from ddl_teach.theory.many_nodes import Link

CLOSE = 0.02  # relative: what is right is exact, and late pings are 3 to 9 times late
SHORT, LONG = 8, 2**18


def judge_levels(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Latency and time a byte of both levels, though some pings were late."""
    wanted = "return two pairs, (latency, per_byte) inside a node and (latency, per_byte) between"
    for _ in range(4):
        inside = Link(*generator.uniform((2e-6, 1e-10), (5e-5, 2e-9)))
        between = Link(*generator.uniform((8e-5, 5e-9), (9e-4, 9e-8)))
        node_of, names = [0, 0, 1, 1], ("inside", "between")
        pings = _pings(generator, node_of, inside, between)
        pairs = several(stage.call(node_of, pings), 2, wanted)
        found = np.array([
            numbers(pair, (f"the latency {level}", f"the time a byte {level}"), wanted)
            for level, pair in zip(names, pairs, strict=True)
        ])  # fmt: skip
        right = np.array([(link.latency, link.per_byte) for link in (inside, between)])
        for level, pair, (latency, per_byte) in zip(names, found, right, strict=True):
            said = (
                f"{level}, {pair[0] * 1e6:.1f} µs and {pair[1] * 1e9:.3f} ns a byte came out, "
                f"where {latency * 1e6:.1f} µs and {per_byte * 1e9:.3f} ns are right. "
            )
            cases = {
                "These two are exchanged: inside a node comes first, then between nodes": (
                    _close(found[::-1], right)
                ),
                "Both levels have the same numbers. A ping is inside a node if node_of[a] == "
                "node_of[b], and between nodes otherwise": _close(found[0], found[1]),
                f"{said}The long pings have a latency too: subtract it before you divide": (
                    _close(pair[1] * LONG, latency + LONG * per_byte)
                ),
                f"{said}That is bytes a second; asked for are seconds a byte": (
                    _close(pair[1], 1 / per_byte)
                ),
                f"{said}Some pings are late, because something else had the processor, and a mean "
                "is drawn up by each of them: take the median": pair[0] > latency * (1 + CLOSE),
                f"{said}Compare the median of the short pings with that of the long ones": True,
            }
            refuse_if("", {} if _close(pair, (latency, per_byte)) else cases)


def _close(found: Any, right: Any) -> bool:
    return np.allclose(found, right, rtol=CLOSE, atol=0)


def _pings(
    generator: np.random.Generator, node_of: list[int], inside: Link, between: Link
) -> list[tuple[int, int, int, float]]:
    pings = []
    for a, b in ((0, 1), (0, 2), (1, 3), (2, 3)):
        link = inside if node_of[a] == node_of[b] else between
        for nbytes in (SHORT, LONG):
            late = generator.permutation([1.0] * 7 + [*generator.uniform(3, 9, 2)])
            time = link.latency + (nbytes - SHORT) * link.per_byte
            pings += [(a, b, nbytes, float(time * factor)) for factor in late]
    return [pings[place] for place in generator.permutation(len(pings))]


def judge_step(stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """A training step by a ring of all ranks, and by leaders."""
    wanted = "return two times, (by one ring of all ranks, by leaders)"
    names = "the step by one ring", "the step by leaders"
    for nodes, each in ((4, 2), (8, 8), (2, 3), (16, 1), (1, 4)):
        for large in (1e2, 1e7):  # where the hops decide, and where the cable does
            nbytes, work = int(large * generator.integers(10, 90)), float(generator.uniform(0.01))
            inside = Link(*generator.uniform((2e-6, 1e-11), (2e-5, 1e-10)))
            between = Link(*generator.uniform((3e-5, 1e-9), (3e-4, 9e-8)))
            case = nodes, each, nbytes, inside, between
            answer = stage.call(nodes, each, nbytes, work, tuple(inside), tuple(between))
            found = numbers(answer, names, wanted)
            right = [work + float(way(*case)) for way in (theory.one_ring, theory.by_leaders)]
            call = f"{nodes} nodes of {ranks_text(each)}, {nbytes:,} bytes, {work:.3g} s of work"
            for place, name in enumerate(names):
                usual = _usual(place, work, right, case)
                otherwise = "Go through it term by term"
                told = f"{call}: {name}"
                compare(told, found[place], right[place], usual, otherwise, within(1e-6))


def _usual(place: int, work: float, right: list[float], case: tuple[Any, ...]) -> dict[str, float]:
    """Usual mistakes, and what comes of them in this case."""
    nodes, each, nbytes, inside, between = case
    told = {
        "The step begins with the work: add it.": right[place] - work,
        "The two times are exchanged: first comes the ring of all ranks.": right[1 - place],
    }
    ranks, chunk = nodes * each, nbytes / (nodes * each)
    near, far = (link.latency + chunk * link.per_byte for link in (inside, between))
    hop, hops = (far + (each - 1) * near) / each, 2 * (ranks - 1)
    if place:
        inner = 2 * (inside.latency + (each - 1) * nbytes * inside.per_byte)
        ring = right[1] - inner * (each > 1)
        return told | {
            "The others' vectors come to the leader, and the sum goes back to them: that takes "
            "2 (L + (R-1) n G) inside the node.": ring,
            "Inside a node there are two ways, in and out again.": ring + inner / 2,
            "A node of one rank has nobody to collect from: its inner part takes no time.": (
                ring + inner
            ),
        }
    return told | {
        "With one node all messages stay inside it.": work
        + hops * max(chunk * between.per_byte, hop),
        "A ring is no march in step: of R hops only one goes to another node, and the mean of the "
        "hops counts, unless the cable takes longer.": work + hops * far,
        "A cable lets one chunk pass every c G': take the larger one of that and the mean of the "
        "hops.": work + hops * hop,
        "A chunk is not only kept by cables, its hops take time as well: take the larger of the "
        "two.": work + hops * chunk * between.per_byte,
    }


NEIGHBOURS = (
    "Right and left neighbour are those in the list `ranks`: with place = ranks.index(comm.rank) "
    "the right one is ranks[(place + 1) % len(ranks)]."
)
LEADERS = (
    "A rank that is no leader sends once, to its leader, and receives once from it; only leaders "
    "enter the ring."
)
NOT_LISTED: ranks.Causes = {
    "A rank that is not in the list must do nothing: return at once.": lambda error: (
        error.exception == "ValueError" and error.reason.endswith("is not in list")
    ),
}
TOGETHER = "All ranks must call the exchange, also those that have no checkpoint at all."
STEPS = 30


class With:
    """A stage whose rank program takes one argument more: the same list for every rank."""

    def __init__(self, stage: ProgramRunner, extra: Sequence[int]) -> None:
        self._stage, self._extra = stage, list(extra)
        self.call = stage.call

    def run(
        self, count: int, arguments: Sequence[tuple], *, network: Any = Uniform()
    ) -> ProgramOutcome:
        """The same with `extra` at the end."""
        given = [(*own, self._extra) for own in arguments]
        return self._stage.run(count, given, network=network)


# -- exchanges -------------------------------------------------------------------------------


def judge_ring(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The ring of unit 06 among ranks of a list, in its order; nobody else takes part."""
    for count in ranks.first(4, counts):
        whole.judge_ring(With(stage, range(count)), generator, (count,))
        order = generator.permutation(count).tolist()[: max(1, count - 1)]
        vectors = generator.integers(1, 99, (count, 3 * count + 1)).astype(float)
        call = f"ring(comm, x, ranks={order}) on {ranks_text(count)}"
        causes = NOT_LISTED | ranks.general(NEIGHBOURS)
        outcome = ranks.run(stage, count, [(x, order) for x in vectors], call, causes)
        total = vectors[order].sum(axis=0)
        for rank, own in enumerate(vectors):
            x, is_listed = outcome.arguments[rank][0], rank in order
            sent = {message.peer for message in outcome.ledger[rank].messages}
            place = order.index(rank) if is_listed else 0
            right, left = order[(place + 1) % len(order)], order[place - 1]
            cases = {
                f"rank {rank} is not in the list, so it sends nothing and its x stays as it was": (
                    not is_listed and (sent or not np.array_equal(x, own))
                ),
                f"rank {rank} does not hold the sum of {listed(order)}. {NEIGHBOURS}": (
                    is_listed and not np.array_equal(x, total)
                ),
                f"the sum is right, but rank {rank} sent to {sorted(sent)}, and its right "
                f"neighbour in the list is rank {right}. {NEIGHBOURS}": (
                    is_listed and len(order) > 1 and not (sent <= {right} or sent <= {left})
                ),
            }
            refuse_if(f"{call}: ", cases)


def judge_nodes(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
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


def _judge_crossing(outcome: ProgramOutcome, parts: Parts, node_of: list[int]) -> None:
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


def judge_agree(
    stage: ProgramRunner, generator: np.random.Generator, counts: Sequence[int]
) -> None:
    """The newest step of which everybody has a whole checkpoint."""
    for count in ranks.first(4, counts):
        for common in ([5, 10], [], [20]):
            # Of what not everybody has the latest of one rank is an older one of another.
            inner = [{30} if 0 < rank < count - 1 else set() for rank in range(count)]
            odd = [{25 if rank % 2 else 15} for rank in range(count)]
            own = [sorted({*common, *two, *more}) for two, more in zip(odd, inner, strict=True)]
            if count > 1 and not common:
                own[int(generator.integers(count))] = []
            _judge_agree(stage, count, own)


def _judge_agree(stage: ProgramRunner, count: int, own: list[list[int]]) -> None:
    right = max(set.intersection(*map(set, own)), default=0)
    call = f"agree(comm, whole, steps={STEPS}) with whole = {', '.join(map(str, own))}"
    causes = ranks.general(TOGETHER)
    outcome = ranks.run(stage, count, [(steps, STEPS) for steps in own], call, causes)
    wanted = f"{call}: return a step"
    said = [number(one, f"{wanted} on rank {rank}") for rank, one in enumerate(outcome.results)]
    newest = [max(steps, default=0) for steps in own]
    cases = {
        "they must go on from the same step, and each takes another one": len(set(said)) > 1,
        "not everybody has a checkpoint of that step: the least of the newest is not enough": (
            said[0] == min(newest)
        ),
        "only some have a checkpoint of that step": said[0] == max(newest),
        "0 is for when there is none": right == 0,
        "there is a newer one": True,
    }
    if set(said) != {right}:
        steps = [f"{step:g}" for step in said]
        raise Wrong(f"{call}: the ranks say {steps}, right is {right}: {first_case(cases)}")
