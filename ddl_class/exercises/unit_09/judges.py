"""The judges of unit 09: a column-row pair, its gradients, a block of a transformer, a hybrid; and
edges of strips, forwards and backwards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Wrong, ranks, ranks_text, texts
from ddl_class.exercises.kit.answers import array, arrays, not_none
from ddl_class.exercises.kit.asked import run_ranks
from ddl_class.exercises.kit.compare import AnyOf, why, within
from ddl_runtime.topologies.point_to_point import Uniform

EACH, OWN_ROWS, PAIR, GRADIENTS, BLOCK, HYBRID, HALO, GIVE_BACK = texts(
    __package__, "", "rows", "pair", "pair_gradients", "block", "hybrid", "with_halo", "give_back"
)
ROWS, INPUTS, MIDDLE, OUTPUTS = 3, 5, 4, 5  # of a pair; MIDDLE is that of one rank
SAME = within(1e-9, 1e-9)
SLOW = Uniform(latency=ranks.HOUR, bandwidth=1e12)
FEW = 2.5  # latencies: one side after the other takes two, a chain of five ranks four
CAUSES = EACH.each(at_the_ends=ranks.no_such_rank, stuck=ranks.some_send)

Rows = np.ndarray  # by rank, row and column


def judge_row_layer(attempt: Attempt) -> None:
    """Every rank must return the whole x B, and may send as much as one sum of it costs."""
    for count in ranks.first(3, attempt.counts):
        x = attempt.generator.standard_normal((ROWS, count * MIDDLE))
        b = attempt.generator.standard_normal((count, MIDDLE, OUTPUTS))
        parts = np.stack(np.split(x, count, axis=1)) @ b
        call, outcome = run_ranks(attempt, OWN_ROWS, [(x, own) for own in b])
        for rank, value in enumerate(outcome.results):
            firsts = x[:, :MIDDLE] @ b
            usual = OWN_ROWS.each(
                own_part=[parts[rank]], first_columns=AnyOf([firsts.sum(axis=0)], [firsts[rank]])
            )
            _compare(call, rank, value, ["x @ B"], [parts.sum(axis=0)], usual)
        _judge_bytes(call, outcome, parts[0].nbytes, PAIR("one_sum"))


def judge_pair(attempt: Attempt) -> None:
    """relu(x A) B + bias on every rank, for one sum of y."""
    for count in ranks.first(3, attempt.counts):
        x, first, second, bias, _ = _draw_pair(attempt.generator, count)
        hidden = np.maximum(x @ first, 0)  # by rank, as are first and second
        parts = hidden @ second
        y, straight = parts.sum(axis=0), (x @ first @ second).sum(axis=0)
        given = [(x, *own, bias) for own in zip(first, second, strict=True)]
        call, outcome = run_ranks(attempt, PAIR, given)
        for rank, value in enumerate(outcome.results):
            usual = PAIR.each(
                bias_each=[y + count * bias],
                no_bias=[y],
                own_part=[parts[rank] + bias],
                no_relu=[straight + bias],
                late_relu=[np.maximum(straight, 0) + bias],
                second_relu=[np.maximum(y + bias, 0)],
                early_sum=AnyOf(
                    [np.maximum((x @ first).sum(axis=0), 0) @ second[rank] + bias],
                    [hidden.sum(axis=0) @ second[rank] + bias],
                ),
            )
            _compare(call, rank, value, ["y"], [y + bias], usual)
        _judge_bytes(call, outcome, y.nbytes, PAIR("one_sum"))


def judge_gradients(attempt: Attempt) -> None:
    """Every rank must return the whole gradient of x, and those of its own a and b; one sum is
    allowed."""
    names = ["the gradient of x", "the gradient of a", "the gradient of b"]
    for count in ranks.first(3, attempt.counts):
        x, first, second, _, of_y = _draw_pair(attempt.generator, count)
        h = x @ first  # by rank, as is all that follows
        of_h = of_y @ second.mT
        passed = of_h * (h > 0)
        of_x, of_a, of_b = passed @ first.mT, x.T @ passed, np.maximum(h, 0).mT @ of_y
        of_all_x = of_x.sum(axis=0)
        given = [(x, *both, of_y) for both in zip(first, second, strict=True)]
        call, outcome = run_ranks(attempt, GRADIENTS, given)
        for rank, value in enumerate(outcome.results):
            right = [of_all_x, of_a[rank], of_b[rank]]
            usual = GRADIENTS.each(
                own_x=[of_x[rank], *right[1:]],
                summed_all=[of_all_x, of_a.sum(axis=0), of_b.sum(axis=0)],
                summed_y=[count * gradient for gradient in right],
                no_relu=[(of_h @ first.mT).sum(axis=0), x.T @ of_h[rank], of_b[rank]],
                no_relu_b=[*right[:2], h[rank].T @ of_y],
                mean=[of_all_x / count, *right[1:]],
            )
            _compare(call, rank, value, names, right, usual)
        _judge_bytes(call, outcome, x.nbytes, GRADIENTS("one_sum"))


def judge_block(attempt: Attempt) -> None:
    """Attention and an MLP with their residual paths, for two sums of x."""
    draw = attempt.generator.standard_normal
    for count in ranks.first(3, attempt.counts):
        x, heads = draw((ROWS, INPUTS)), 0.5 * draw((count, 2, 3, INPUTS, 2))
        out, first = draw((count, 4, INPUTS)), draw((count, INPUTS, MIDDLE))
        second = draw((count, MIDDLE, INPUTS))
        attended = np.array([_attended(x, own) for own in heads])  # by rank, as what follows
        parts = attended @ out
        y = x + parts.sum(axis=0)

        def mlp(y: np.ndarray, first: np.ndarray = first, second: np.ndarray = second) -> Any:
            return np.maximum(y @ first, 0) @ second

        z = y + mlp(y).sum(axis=0)
        given = [
            (x, [tuple(head) for head in own], *rest)
            for own, *rest in zip(heads, out, first, second, strict=True)
        ]
        call, outcome = run_ranks(attempt, BLOCK, given)
        for rank, value in enumerate(outcome.results):
            each, attention = x + parts[rank], parts.sum(axis=0)
            swollen, of_parts = count * x + attention, mlp(x + parts)
            usual = BLOCK.each(
                no_sums=[each + mlp(each)[rank]],
                no_first=AnyOf(
                    [each + of_parts.sum(axis=0)], [(x + parts + of_parts).sum(axis=0)]
                ),
                no_second=[y + mlp(y)[rank]],
                residual_each=AnyOf(
                    [swollen + mlp(swollen).sum(axis=0)], [count * y + mlp(y).sum(axis=0)],
                    [count * swollen + mlp(swollen).sum(axis=0)],
                ),
                no_residual=AnyOf(
                    [mlp(y).sum(axis=0)], [attention + mlp(attention).sum(axis=0)],
                    [mlp(attention).sum(axis=0)],
                ),
                of_x=[y + mlp(x).sum(axis=0)],
            )  # fmt: skip
            _compare(call, rank, value, ["z"], [z], usual)
        _judge_bytes(call, outcome, 2 * x.nbytes, BLOCK("two_sums"), 1.5)


def _attended(x: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The answers of a rank's heads, side by side."""
    answers = []
    for q, k, v in x @ heads:
        weights = np.exp(q @ k.T / np.sqrt(q.shape[1]))
        answers.append(weights / weights.sum(axis=1, keepdims=True) @ v)
    return np.hstack(answers)


def judge_hybrid(attempt: Attempt) -> None:
    """Data-parallel features, then a classifier of which each rank has some columns."""
    names = ["the array of scores", "the gradient of c", "the gradient of w"]
    draw = attempt.generator.standard_normal
    for count in ranks.first(3, attempt.counts):
        images, c, w = draw((count, 3, 5)), draw((5, 4)), draw((count, 4, 2))  # all but c by rank
        of_scores = draw((count, 3 * count, 2))
        features = np.maximum(images @ c, 0)
        every = np.concatenate(features)
        # What each rank's columns say of the features of each rank's images.
        says = (of_scores @ w.mT).reshape(count, *features.shape)
        seen = features > 0
        by_rank = images.mT @ (says.sum(axis=0) * seen)
        of_c = by_rank.sum(axis=0)
        unmasked = images.mT @ says.sum(axis=0)
        alone = images.mT @ (says[range(count), range(count)] * seen)
        given = [(images[r], c, w[r], of_scores[r]) for r in range(count)]
        call, outcome = run_ranks(attempt, HYBRID, given)
        for rank, value in enumerate(outcome.results):
            scores, of_w = every @ w[rank], every.T @ of_scores[rank]
            usual = HYBRID.each(
                own_c=[scores, by_rank[rank], of_w],
                mean_c=[scores, of_c / count, of_w],
                summed_w=[scores, of_c, (every.T @ of_scores).sum(axis=0)],
                mean=[scores, of_c / count, of_w / count],
                no_reduce_scatter=[scores, alone.sum(axis=0), of_w],
                no_sums=[scores, alone[rank], of_w],
                no_relu=[scores, unmasked.sum(axis=0), of_w],
            )
            mine = value[0] if isinstance(value, tuple | list) and value else 0
            own = getattr(mine, "shape", None) == (3, 2) != scores.shape
            HYBRID.refuse_if({"call": call, "rank": rank}, own_images=own)
            _compare(call, rank, value, names, [scores, of_c, of_w], usual)


def _draw_pair(generator: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    first, second = (count, INPUTS, MIDDLE), (count, MIDDLE, OUTPUTS)
    shapes = ((ROWS, INPUTS), first, second, (OUTPUTS,), (ROWS, OUTPUTS))
    return tuple(generator.standard_normal(shape) for shape in shapes)


def _compare(
    call: str, rank: int, value: Any, names: Sequence[str], right: Sequence[np.ndarray],
    usual: dict[str, Any],
) -> None:  # fmt: skip
    """Whether a rank returned the right arrays; else a mistake that gives just what it did."""
    listed = f"{len(names)} arrays: {', '.join(names)}" if len(names) > 1 else names[0]
    wanted = EACH("wanted", call=call, rank=rank, names=listed)
    value = value if len(names) > 1 else [not_none(value, wanted)]
    result = arrays(value, names, wanted, [like.shape for like in right])
    wrong = [
        place for place, pair in enumerate(zip(result, right, strict=True)) if not SAME(*pair)
    ]
    if not wrong:
        return
    first = wrong[0]
    beside = {  # beside another mistake, perhaps
        words: mistake[first]
        for words, mistake in usual.items()
        if not isinstance(mistake, AnyOf) and not SAME(mistake[first], right[first])
    }
    otherwise = EACH("other_sums", apart=np.abs(result[first] - right[first]).max())
    words = why(result, usual, same=SAME) or why(result[first], beside, otherwise, SAME)
    raise Wrong(EACH("wrong", call=call, name=names[first], rank=rank, why=words))


def _judge_bytes(
    call: str, outcome: ProgramOutcome, nbytes: int, advice: str, most: float = 2.0
) -> None:
    """A sum of n bytes makes all ranks together send 2 (P-1) n; `most` times that is too much."""
    count, sent = len(outcome.ledger), sum(own.bytes_sent for own in outcome.ledger)
    enough = 2 * (count - 1) * nbytes
    values = {"call": call, "sent": sent, "enough": enough, "advice": advice}
    EACH.refuse_if(values, too_many_bytes=count > 1 and sent >= most * enough)


def judge_with_halo(attempt: Attempt) -> None:
    """A row of the neighbour above, the own rows, a row of the one below; zeros at the border."""

    def right(strips: Rows) -> Rows:
        wide = np.pad(strips, ((0, 0), (1, 1), (0, 0)))
        wide[1:, 0], wide[:-1, -1] = strips[:-1, -1], strips[1:, 0]
        return wide

    _judge_rows(attempt, "with_halo", 0, right, _wrong_halo)


def judge_give_back(attempt: Attempt) -> None:
    """The own rows' gradients, and on the first and last of them what the neighbours say."""

    def right(gradients: Rows) -> Rows:
        own = gradients[:, 1:-1].copy()
        own[:-1, -1] += gradients[1:, 0]
        own[1:, 0] += gradients[:-1, -1]
        return own

    _judge_rows(attempt, "give_back", 2, right, _wrong_gradient)


def _judge_rows(
    attempt: Attempt, name: str, outer: int, right_of: Callable[[Rows], Rows],
    usual: Callable[[Rows, int, np.ndarray], str],
) -> None:  # fmt: skip
    for count in ranks.first(3, attempt.counts):
        for rows, columns in ((4, 5), (1, 3), (2, ranks.LONG)):
            # None of the numbers is nearly zero.
            parts = attempt.generator.standard_normal((count, rows + outer, columns)) + 5.0
            right = right_of(parts)
            call = EACH("halo_call", name=name, ranks=ranks_text(count), rows=rows)
            outcome = ranks.run(attempt, count, [(own,) for own in parts], call, CAUSES, SLOW)
            for rank, result in enumerate(outcome.results):
                wanted = EACH("halo_wanted", call=call, rank=rank)
                rows_given = array(result, wanted, right[rank].shape)
                if not np.allclose(rows_given, right[rank]):
                    words = usual(parts, rank, rows_given)
                    raise Wrong(EACH("halo_wrong", call=call, rank=rank, why=words))
            neighbours = [(rank > 0) + (rank < count - 1) for rank in range(count)]
            enough = [8 * columns * many for many in neighbours]
            ranks.judge_sent(call, outcome, enough, EACH("one_row"), "bytes")
            # Of real ranks the time is some thousandth of this latency.
            messages = outcome.time / ranks.HOUR
            EACH.refuse_if({"call": call, "messages": messages}, chain=messages > FEW)


def _wrong_halo(strips: Rows, rank: int, result: np.ndarray) -> str:
    own = strips[rank]
    if not np.allclose(result[1:-1], own):
        return HALO("middle")
    for side, other, edge, near, far, neighbour in (
        ("above", "below", result[0], "last", "first", rank - 1),
        ("below", "above", result[-1], "first", "last", rank + 1),
    ):
        inside = neighbour in range(len(strips))
        theirs = strips[neighbour][:: 1 if near == "first" else -1] if inside else 0 * own
        words = HALO.first(
            {"side": side, "other": other, "near": near, "far": far},
            zeros=inside and np.allclose(edge, 0),
            own_row=inside and (np.allclose(edge, own[0]) or np.allclose(edge, own[-1])),
            far_end=inside and np.allclose(edge, theirs[-1]),
            other_row=inside,
            ring=any(np.allclose(edge, row) for strip in strips for row in strip),
            no_zeros=True,
        )
        if not np.allclose(edge, theirs[0]):
            return words
    return ""


def _wrong_gradient(gradients: Rows, rank: int, result: np.ndarray) -> str:
    own = gradients[rank][1:-1]
    has_below, none = rank + 1 < len(gradients), np.zeros((2, own.shape[1]))
    from_above, inner_above = gradients[rank - 1][[-1, -2]] if rank else none
    from_below, inner_below = gradients[rank + 1][:2] if has_below else none

    def added(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        rows = own.copy()
        rows[0] += first
        rows[-1] += last
        return rows

    usual = GIVE_BACK.each(
        cut_off=own,
        kept=added(gradients[rank][0], gradients[rank][-1]),
        swapped=added(from_below, from_above),
        inner_rows=added(inner_above, inner_below),
    )
    edges = (rank, result[0], from_above), (has_below, result[-1], from_below)
    if any(inside and np.allclose(mine, theirs) for inside, mine, theirs in edges):
        return GIVE_BACK("not_added")
    return why(result, usual, GIVE_BACK("otherwise"), within(1e-5, 1e-8))
