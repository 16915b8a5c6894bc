"""The judges of unit 03, first part: a Pareto front, and a batch divided in the best way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ddl_class.exercises.exercise import Stage, Wrong
from ddl_class.exercises.kit.answers import arrays, items, not_none, seen, short
from ddl_class.exercises.kit.compare import compare, within

Point = tuple[float, float]


def judge_pareto(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The places of all points that no other point beats, each of equal ones once."""
    for count in (1, 2, 3, 8, 20, 20, 60):
        workspace = generator.integers(1, 2 * count + 2, count) * 1024
        seconds = generator.integers(1, 2 * count + 2, count) / 1000
        said = _places(stage.call(workspace, seconds), count)
        points = list(zip(workspace.tolist(), seconds.tolist(), strict=True))
        right = {point for point in points if not any(_beats(other, point) for other in points)}
        found = [points[place] for place in said]
        call = f"pareto({workspace.tolist()[:8]}, {seconds.tolist()[:8]})"
        if count > 8:
            call = f"{count} points, as workspace and seconds"
        for point in found:
            beaten_by = next((other for other in points if _beats(other, point)), None)
            if beaten_by is not None:
                raise Wrong(
                    f"{call}: you keep {_point(point)}, but {_point(beaten_by)} is at least as "
                    "small and at least as fast. Drop a point if any other is no larger and no "
                    "slower, and better in one of the two."
                )
        if len(set(found)) < len(found):
            twice = next(point for point in found if found.count(point) > 1)
            raise Wrong(f"{call}: you keep {_point(twice)} twice; one of equals is enough.")
        if missing := sorted(right - set(found)):
            raise Wrong(
                f"{call}: you drop {_point(missing[0])}, and no other point beats it. Who is the "
                "smallest and who the fastest always stays; between them everybody who is faster "
                "than all that are smaller."
            )
        if found != sorted(found):
            raise Wrong(
                f"{call}: the right points, but not by growing workspace: sort them first."
            )


def judge_divide(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """The sizes add up to the batch and take the least time."""
    cases = [
        # The largest pieces first are wrong here, as is the cheapest per example.
        (6, {1: 10.0, 3: 12.0, 4: 13.0, 5: 30.0}),
        (6, {1: 10.0, 3: 12.0, 4: 13.0}),
        (5, {1: 4.0, 2: 5.0, 4: 9.0}),
        (7, {1: 1.0, 2: 2.5, 4: 5.5, 7: 9.0}),
        (1, {1: 3.0}),
    ]
    for _ in range(12):
        batch = int(generator.integers(2, 40))
        offered = {1, *(int(size) for size in generator.integers(1, batch + 1, 5))}
        cases.append(
            (batch, {size: float(generator.integers(1, 100)) for size in sorted(offered)})
        )
    # More divisions than can ever be tried one by one.
    cases.append((400, {size: 1.0 + size + (size % 7) / 8 for size in (1, 3, 11, 16, 50, 64)}))
    for batch, seconds in cases:
        said = stage.call(batch, seconds)
        call = f"divide({batch}, {seconds})"
        sizes = _sizes(said, call)
        if unknown := [size for size in sizes if size not in seconds]:
            raise Wrong(f"{call}: nobody offers pieces of {unknown[0]}; return a list of sizes.")
        if sum(sizes) != batch:
            raise Wrong(
                f"{call}: your pieces {short(sizes)} have {sum(sizes)} examples together, and "
                f"the batch has {batch}."
            )
        took, right = sum(seconds[size] for size in sizes), least(batch, seconds)
        if took > right + 1e-9:
            told = f"{call}: {short(sizes)} takes {took:g}, and there is a division of {right:g}."
            raise Wrong(f"{told} {_usual(batch, seconds, took)}")


def least(batch: int, seconds: Mapping[int, float]) -> float:
    """The least time of any division, or infinity where no sizes add up to the batch."""
    times = [0.0]
    for done in range(1, batch + 1):
        times.append(
            min((times[done - size] + seconds[size] for size in seconds if size <= done),
                default=math.inf)
        )  # fmt: skip
    return times[batch]


def _usual(batch: int, seconds: Mapping[int, float], took: float) -> str:
    """What to say of a division that is right but too slow."""
    by_size = sorted(seconds, reverse=True)
    by_price = sorted(seconds, key=lambda size: seconds[size] / size)
    for order, told in (
        (by_size, "You take the largest pieces first. That is greedy: two of 3 can be faster than "
                  "4 + 1 + 1."),
        (by_price, "You take what is cheapest per example first. That is greedy: what is left at "
                   "the end may be dear."),
    ):  # fmt: skip
        if math.isclose(took, _greedily(batch, seconds, order)):
            return told
    equal = [batch // size * seconds[size] for size in seconds if batch % size == 0]
    if any(math.isclose(took, time) for time in equal):
        return "All your pieces are equal; pieces of several sizes may be mixed."
    return (
        "For b = 1, 2, ..., batch remember the least time for b examples, over all sizes of the "
        "last piece, and which size that was; then walk back from the batch."
    )


def _greedily(batch: int, seconds: Mapping[int, float], order: Sequence[int]) -> float:
    taken = 0.0
    for size in order:
        taken += batch // size * seconds[size]
        batch %= size
    return taken


def _beats(one: Point, other: Point) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def _point(point: Point) -> str:
    return f"({point[0]:,} bytes, {point[1] * 1e3:g} ms)"


def _places(said: Any, count: int) -> list[int]:
    """What a learner's pareto returned, as places of points."""
    not_none(said, "return the places of the points to keep")
    try:
        array = np.asarray(said)
        if array.dtype == bool:
            raise Wrong(
                "return the places of the points, such as [3, 0, 5], not a True or False for each."
            )
        places = [int(place) for place in array.real.ravel()]
        whole = array.ndim == 1 and all(place == int(place) for place in array)
    except (TypeError, ValueError, OverflowError):
        places, whole = [], False
    if not whole or any(not 0 <= place < count for place in places):
        raise Wrong(
            f"return a list of places, each from 0 to {count - 1} as in workspace[place]; yours "
            f"returns {seen(said)}."
        )
    return places


def _sizes(said: Any, call: str) -> list[int]:
    """What a learner's divide returned, as sizes of pieces."""
    if isinstance(said, (int, float, np.number)):
        raise Wrong(f"{call}: return the sizes of the pieces as a list, not the time {said}.")
    return items(said, f"{call}: return the sizes of the pieces, a list", int)


SAME = within(1e-6)
FAILED = 4  # milp's status: HiGHS's presolve fails on some programs that have no solution
Front = tuple[list[int], list[float]]


def judge_program(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """c, A, b of one layer's program: HiGHS must find the best division in it."""
    for trial in range(6):
        batch = int(generator.integers(3, 17))
        sizes = np.array([1, 1, *generator.integers(1, batch + 1, 6)])
        workspace = sizes * generator.integers(1, 20, len(sizes)) * 64
        seconds = generator.integers(1, 100, len(sizes)) / 4
        limit = int(workspace[:2].min() + generator.integers(0, 1500))
        if trial == 0:  # the fastest does not fit; another one fits to the byte
            batch, limit = 6, 50
            sizes, seconds = np.array([1, 2, 2, 6]), np.array([9.0, 11.0, 10.0, 1.0])
            workspace = np.array([10, 40, 50, 900])
        call = (
            f"program({batch}, sizes={sizes.tolist()}, seconds={seconds.tolist()}, "
            f"workspace={workspace.tolist()}, limit={limit})"
        )
        said = stage.call(batch, sizes, seconds, workspace, limit)
        c, matrix, b = _parts(said, ("c", "A", "b"), call)
        found = _solve(c, matrix, b.ravel(), b.ravel(), np.inf, call)
        if found is None:
            raise Wrong(
                f"{call}: your program has no solution, and there is one. A has one row, the "
                "sizes: times the counts they make the batch."
            )
        fits = workspace <= limit
        right = _best(batch, sizes, seconds, fits)
        usual = {
            "That is the best without a limit: leave out offers whose workspace is too large": (
                _best(batch, sizes, seconds, fits | True)
            ),
            "An offer whose workspace is exactly the limit fits": (
                _best(batch, sizes, seconds, workspace < limit)
            ),
            "That is one piece alone; all pieces together must be the whole batch": (
                float(seconds[fits].min())
            ),
        }
        otherwise = (
            "c holds the seconds of the offers that fit, A their sizes as a row, b the batch"
        )
        compare(f"{call}: your program", found, right, usual, otherwise, SAME)


def judge_share(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """c, A, low, high of a network's program: one point a layer, all of them in one room."""
    for trial in range(6):
        fronts = [_random_front(generator) for _ in range(generator.integers(2, 5))]
        most = sum(workspace[-1] for workspace, _ in fronts)
        least_room = sum(workspace[0] for workspace, _ in fronts)
        room = int(generator.integers(least_room, most + 1))
        if trial == 0:
            fronts = [([0, 60], [9.0, 1.0]), ([0, 50, 100, 120], [8.0, 6.0, 1.0, 0.5])]
            room = 110
        workspace, seconds = ([np.array(front[k]) for front in fronts] for k in (0, 1))
        call = (
            f"share(workspace={[own.tolist() for own in workspace]}, "
            f"seconds={[own.tolist() for own in seconds]}, room={room})"
        )
        said = stage.call(workspace, seconds, room)
        c, matrix, low, high = _parts(said, ("c", "A", "low", "high"), call)
        found = _solve(c, matrix, low, high, 1, call)
        if found is None:
            raise Wrong(
                f"{call}: your program has no solution, and there is one. A layer's row lies "
                "between 1 and 1, the room's between 0 and the room: it need not be full."
            )
        choices = [*itertools.product(*(zip(*front, strict=True) for front in fronts))]
        together = [_time(one) for one in choices if sum(size for size, _ in one) <= room]
        right = min(together)
        if not math.isclose(found, right, rel_tol=1e-6):
            told = f"{call}: HiGHS finds {found:g} in your program; the best is {right:g}."
            raise Wrong(f"{told} {_what_is_wrong(found, right, choices, room)}.")


def _what_is_wrong(found: float, right: float, choices: list[Any], room: int) -> str:
    alone = [_time(one) for one in choices if max(size for size, _ in one) <= room]
    filled = [_time(one) for one in choices if sum(size for size, _ in one) < room]
    if math.isclose(found, min(map(_time, choices)), rel_tol=1e-6):
        return "That is the best with all the room there is: the row of the room is missing"
    if math.isclose(found, min(alone), rel_tol=1e-6):
        return "There each layer has the room for itself: the row of the room goes over all layers"
    if found < right:
        return "Some layer takes no point at all: its row must be exactly 1, not at most 1"
    if filled and math.isclose(found, min(filled), rel_tol=1e-6):
        return "A room that is filled to the last byte is allowed"
    return "Of each layer's points one is taken; their workspaces together are at most the room"


def _time(choice: Sequence[tuple[int, float]]) -> float:
    return sum(time for _, time in choice)


def _random_front(generator: np.random.Generator) -> Front:
    """Points that grow in room and fall in time."""
    count = int(generator.integers(1, 6))
    workspace = np.cumsum(generator.integers(1, 50, count)) * 1024
    seconds = np.cumsum(generator.integers(1, 50, count))[::-1] / 8
    return workspace.tolist(), seconds.tolist()


def _best(batch: int, sizes: np.ndarray, seconds: np.ndarray, taken: np.ndarray) -> float:
    """The least time with these offers; of one size the fastest counts."""
    fastest: dict[int, float] = {}
    for size, time in zip(sizes[taken].tolist(), seconds[taken].tolist(), strict=True):
        fastest[size] = min(time, fastest.get(size, math.inf))
    return least(batch, fastest)


def _parts(said: Any, names: Sequence[str], call: str) -> list[np.ndarray]:
    """What a learner returned, as so many arrays of numbers."""
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    wanted = f"{call}: return {len(names)} things, {listed}, arrays of numbers. Rows of "
    wanted += "A have all the same length: as many columns as there are unknowns"
    found = [np.atleast_1d(one) for one in arrays(said, names, wanted)]
    if np.isnan(np.concatenate([one.ravel() for one in found])).any():
        raise Wrong(f"{call}: there is a nan in what you return.")
    return found


def _solve(
    c: np.ndarray, matrix: np.ndarray, low: np.ndarray, high: np.ndarray, most: float, call: str
) -> float | None:
    """The least value of the learner's program; None where it has no solution."""
    matrix = np.atleast_2d(matrix)
    if matrix.ndim > 2 or c.ndim > 1 or matrix.shape[1] != len(c):
        raise Wrong(
            f"{call}: A has shape {matrix.shape} and c has shape {c.shape}. For each unknown c "
            "has a number and A a column."
        )
    try:
        low, high = (np.broadcast_to(one, len(matrix)) for one in (low, high))
    except ValueError:
        raise Wrong(
            f"{call}: A has {len(matrix)} rows, and the right-hand sides are {len(low)} and "
            f"{len(high)}: there must be one for each row."
        ) from None
    program = {
        "c": c,
        "constraints": LinearConstraint(matrix, low, high),
        "bounds": Bounds(0, most),
        "integrality": np.ones(len(c)),
    }
    found = milp(**program, options={"mip_rel_gap": 0.0})
    if found.status == FAILED:
        found = milp(**program, options={"mip_rel_gap": 0.0, "presolve": False})
    return None if found.x is None else float(c @ np.rint(found.x))
