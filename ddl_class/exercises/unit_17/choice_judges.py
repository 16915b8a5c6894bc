"""The judges of unit 17, third part: the front and the controller of architectures; what a chooser
learns and how it is judged; programs as vectors, and a device chosen from code."""

import numpy as np

from ddl_class.exercises.kit import AnyOf, Attempt, ask, texts, within

HELD_OUT, VECTOR, NEIGHBOURS = texts(__package__, "held_out", "vector", "neighbours")
WIDTH = 5  # of the vectors of statements
LINES = ("_ = _ + _", "_ += _[_]", "return _", "if _ < _:", "for _ in _:", "_.append(_)")
Array = np.ndarray
SAME = within(1e-9, 1e-12)


def judge_held_out(attempt: Attempt) -> None:
    """Each group is chosen for by what was learnt from all others."""
    draw = attempt.generator
    for count, groups in ((6, [0, 0, 1, 1, 2, 2]), (7, [3, 1, 3, 1, 1, 3, 3])):
        questions, seconds = draw.normal(size=(count, 2)), draw.uniform(1, 5, (count, 3))
        group = np.array(groups)

        def nearest(known: Array, times: Array, asked: Array) -> Array:
            """The winner of the nearest question that is known."""
            far = ((known[:, None] - asked[None]) ** 2).sum(axis=2)
            return np.asarray(times[far.argmin(axis=0)].argmin(axis=1))

        slower = seconds / seconds.min(axis=1, keepdims=True)
        chosen = np.empty(count, int)
        for held in (group == each for each in set(groups)):
            chosen[held] = nearest(questions[~held], seconds[~held], questions[held])
        alone = [nearest(np.delete(questions, place, 0), np.delete(seconds, place, 0),
                         questions[[place]])[0] for place in range(count)]  # fmt: skip
        rows, given = np.arange(count), (questions, seconds, group, nearest)
        right = slower[rows, chosen] - 1
        ask(attempt, HELD_OUT, given, right).compare(
            seen=slower[rows, nearest(questions, seconds, questions)] - 1,
            one_by_one=slower[rows, alone] - 1,
            not_minus_one=slower[rows, chosen],
            seconds_alone=seconds[rows, chosen],
            lost=seconds[rows, chosen] - seconds.min(axis=1),
        )


def judge_vector(attempt: Attempt) -> None:
    """The mean of the known statements' vectors, brought to length one."""
    vectors = {line: attempt.generator.normal(size=WIDTH) for line in LINES[:4]}
    for lines in (LINES[:3], LINES[1:6], (LINES[0], LINES[0], LINES[2]), LINES[4:]):
        known = [vectors[line] for line in lines if line in vectors]
        given = list(lines), vectors, WIDTH
        total = np.sum(known, axis=0) if known else np.zeros(WIDTH)
        different = [vectors[line] for line in dict.fromkeys(lines) if line in vectors]
        once = np.sum(different, axis=0) if known else total
        right = _with_length_one(total)
        ask(attempt, VECTOR, given, right, same=SAME, known=len(known)).compare(
            unscaled=AnyOf(total, total / max(len(known), 1), total / len(lines)),
            once=_with_length_one(once),
        )


def _with_length_one(vector: Array) -> Array:
    return np.asarray(vector / (np.linalg.norm(vector) or 1.0))


def judge_neighbours(attempt: Attempt) -> None:
    """The device with the least sum of slowdowns among the k programs that are most similar."""
    draw = attempt.generator
    for count, k in ((6, 1), (9, 3), (12, 5), (12, 3)):
        vectors = draw.normal(size=(count, WIDTH))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        asked = vectors[0] + 0.1 * draw.normal(size=WIDTH)
        order = np.argsort(-vectors @ asked, kind="stable")
        # Device 0 is right; 1 suits those far away, 2 all, 3 the nearest, 4 none.
        slowdowns = np.full((count, 5), (3.0, 3.0, 2.0, 3.0, 5.0))
        slowdowns[order[:k], 0] = slowdowns[order[-k:], 1] = 1.0
        if k > 1:
            slowdowns[order[0], [0, 3]] = 1.2, 1.0
        sums = slowdowns[order[:k]].sum(axis=0)
        given = vectors, slowdowns, asked, k
        ask(attempt, NEIGHBOURS, given, float(sums.argmin())).compare(
            farthest=slowdowns[order[::-1][:k]].sum(axis=0).argmin(),
            slowest=sums.argmax(),
            everything=slowdowns.sum(axis=0).argmin(),
            nearest_only=slowdowns[order[0]].argmin(),
        )
