"""The judges of unit 03: a Pareto front, a batch divided in the best way, two integer programs.

A program is judged by what it says, not by how it is written: HiGHS solves it, and what comes out
is compared with the right answer, which a slow and simple search finds.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import arrays, items, seen, short, whole
from ddl_class.exercises.kit.compare import any_of, compare, refuse_if, within
from ddl_teach.plain.micro_batches import divide

Point = tuple[float, float]


def judge_pareto(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """The places of all points that no other point beats, each of equal ones once."""
    for count in (1, 2, 3, 8, 20, 20, 60):
        workspace = generator.integers(1, 2 * count + 2, count) * 1024
        seconds = generator.integers(1, 2 * count + 2, count) / 1000
        points = list(zip(workspace.tolist(), seconds.tolist(), strict=True))
        right = {point for point in points if not any(_beats(other, point) for other in points)}
        found = [points[place] for place in _places(stage.call(workspace, seconds), count)]
        call = f"pareto({workspace.tolist()[:8]}, {seconds.tolist()[:8]})"
        if count > 8:
            call = f"{count} points, as workspace and seconds"
        for point in found:
            if beaten_by := [other for other in points if _beats(other, point)]:
                raise Wrong(
                    f"{call}: you keep {_point(point)}, but {_point(beaten_by[0])} is at least as "
                    "small and at least as fast. Drop a point if any other is no larger and no "
                    "slower, and better in one of the two."
                )
        twice = [point for point in found if found.count(point) > 1]
        missing = sorted(right - set(found))
        cases = {
            f"you keep {_point(*twice[:1])} twice; one of equals is enough": twice,
            f"you drop {_point(*missing[:1])}, and no other point beats it. Who is the smallest "
            "and who the fastest always stays; between them everybody who is faster than all that "
            "are smaller": missing,
            "the right points, but not by growing workspace: sort them first": (
                found != sorted(found)
            ),
        }
        refuse_if(f"{call}: ", cases)


def judge_divide(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
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
        offered = sorted({1, *generator.integers(1, batch + 1, 5).tolist()})
        cases.append((batch, {size: float(generator.integers(1, 100)) for size in offered}))
    # More divisions than can ever be tried one by one.
    cases.append((400, {size: 1.0 + size + (size % 7) / 8 for size in (1, 3, 11, 16, 50, 64)}))
    for batch, seconds in cases:
        answer, call = stage.call(batch, seconds), f"divide({batch}, {seconds})"
        if isinstance(answer, int | float | np.number):
            raise Wrong(
                f"{call}: return the sizes of the pieces as a list, not the time {answer}."
            )
        sizes = items(answer, f"{call}: return the sizes of the pieces, a list", int)
        if unknown := [size for size in sizes if size not in seconds]:
            raise Wrong(f"{call}: nobody offers pieces of {unknown[0]}; return a list of sizes.")
        if sum(sizes) != batch:
            raise Wrong(
                f"{call}: your pieces {short(sizes)} have {sum(sizes)} examples together, and "
                f"the batch has {batch}."
            )
        took = sum(seconds[size] for size in sizes)
        right, _ = divide(batch, [("", size, time, 0) for size, time in seconds.items()], 0)
        usual = {
            "You take the largest pieces first. That is greedy: two of 3 can be faster than "
            "4 + 1 + 1": _greedily(batch, seconds, sorted(seconds, reverse=True)),
            "You take what is cheapest per example first. That is greedy: what is left at the end "
            "may be dear": (
                _greedily(batch, seconds, sorted(seconds, key=lambda size: seconds[size] / size))
            ),
            "All your pieces are equal; pieces of several sizes may be mixed": any_of(
                *(batch // size * time for size, time in seconds.items() if batch % size == 0)
            ),
        }
        otherwise = (
            "For b = 1, 2, ..., batch remember the least time for b examples, over all sizes of "
            "the last piece, and which size that was; then walk back from the batch"
        )
        compare(f"{call}: the time of {short(sizes)}", took, right, usual, otherwise)


def _greedily(batch: int, seconds: Mapping[int, float], order: Sequence[int]) -> float:
    taken = 0.0
    for size in order:
        taken += batch // size * seconds[size]
        batch %= size
    return taken


def _beats(one: Point, other: Point) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def _point(*point: Point) -> str:
    return "".join(f"({nbytes:,} bytes, {seconds * 1e3:g} ms)" for nbytes, seconds in point)


def _places(answer: Any, count: int) -> list[int]:
    """What a learner's pareto returned, as places of points."""
    wanted = f"return a list of places, each from 0 to {count - 1} as in workspace[place]"
    each = items(answer, wanted, lambda place: place)
    if any(isinstance(place, bool | np.bool_) for place in each):
        raise Wrong(
            "return the places of the points, such as [3, 0, 5], not a True or False for each."
        )
    places = items(each, wanted, whole)
    if any(place not in range(count) for place in places):
        raise Wrong(f"{wanted}, not {seen(answer)}.")
    return places


SAME = within(1e-6)
FAILED = 4  # milp's status: HiGHS's presolve fails on some programs that have no solution
Front = tuple[list[int], list[float]]


def judge_program(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
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
        answer = stage.call(batch, sizes, seconds, workspace, limit)
        c, matrix, b = _parts(answer, ("c", "A", "b"), call)
        one_row = "A has one row, the sizes: times the counts they make the batch."
        found = _solve(c, matrix, b.ravel(), b.ravel(), np.inf, call, one_row)
        offers = [("", *offer) for offer in zip(sizes, seconds, workspace, strict=True)]
        usual = {
            "That is the best without a limit: leave out offers whose workspace is too large": (
                divide(batch, offers, np.inf)[0]
            ),
            "An offer whose workspace is exactly the limit fits": (
                divide(batch, offers, limit - 1)[0]
            ),
            "That is one piece alone; all pieces together must be the whole batch": (
                float(seconds[workspace <= limit].min())
            ),
        }
        otherwise = (
            "c holds the seconds of the offers that fit, A their sizes as a row, b the batch"
        )
        right, _ = divide(batch, offers, limit)
        compare(f"{call}: your program", found, right, usual, otherwise, SAME)


def judge_share(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """c, A, low, high of a network's program: one point a layer, all of them in one room."""
    for trial in range(6):
        fronts = [_random_front(generator) for _ in range(generator.integers(2, 5))]
        workspaces = [workspace for workspace, _ in fronts]
        least, most = (sum(own[end] for own in workspaces) for end in (0, -1))
        room = int(generator.integers(least, most + 1))
        if trial == 0:
            fronts = [([0, 60], [9.0, 1.0]), ([0, 50, 100, 120], [8.0, 6.0, 1.0, 0.5])]
            room = 110
        workspace, seconds = ([np.array(front[k]) for front in fronts] for k in (0, 1))
        call = (
            f"share(workspace={[own.tolist() for own in workspace]}, "
            f"seconds={[own.tolist() for own in seconds]}, room={room})"
        )
        answer = stage.call(workspace, seconds, room)
        c, matrix, low, high = _parts(answer, ("c", "A", "low", "high"), call)
        rows = (
            "A layer's row lies between 1 and 1, the room's between 0 and the room: it need not "
        )
        found = _solve(c, matrix, low, high, 1, call, f"{rows}be full.")
        points = [list(zip(*front, strict=True)) for front in fronts]
        choices = [list(zip(*choice, strict=True)) for choice in itertools.product(*points)]
        right = _least(choices, sum, room)
        usual = {
            "That is the best with all the room there is: the row of the room is missing": (
                _least(choices, sum, math.inf)
            ),
            "There each layer has the room for itself: the row of the room goes over all layers": (
                _least(choices, max, room)
            ),
            "A room that is filled to the last byte is allowed": (_least(choices, sum, room - 1)),
        }
        otherwise = (
            "Some layer takes no point at all: its row must be exactly 1, not at most 1"
            if found < right
            else "Of each layer's points one is taken; their workspaces together are at most the "
            "room"
        )
        compare(f"{call}: your program", found, right, usual, otherwise, SAME)


def _least(choices: list[Any], needs: Callable[[Sequence[int]], int], room: float) -> float:
    """The least time of all choices of points that need no more than this room."""
    return min((sum(times) for sizes, times in choices if needs(sizes) <= room), default=math.inf)


def _random_front(generator: np.random.Generator) -> Front:
    """Points that grow in room and fall in time."""
    count = int(generator.integers(1, 6))
    workspace = np.cumsum(generator.integers(1, 50, count)) * 1024
    seconds = np.cumsum(generator.integers(1, 50, count))[::-1] / 8
    return workspace.tolist(), seconds.tolist()


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
    c: np.ndarray, matrix: np.ndarray, low: np.ndarray, high: np.ndarray, most: float, call: str,
    rows: str,
) -> float:  # fmt: skip
    """The least value of the learner's program."""
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
    if found.x is None:
        raise Wrong(f"{call}: your program has no solution, and there is one. {rows}")
    return float(c @ np.rint(found.x))
