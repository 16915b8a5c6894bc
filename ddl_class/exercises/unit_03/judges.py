"""The judges of unit 03, first part: a Pareto front, and a batch divided in the best way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Stage, Wrong
from ddl_class.exercises.kit.answers import items, not_none, seen, short

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
