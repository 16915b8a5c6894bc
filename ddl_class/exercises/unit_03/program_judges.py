"""The judges of unit 03, second part: two integer programs.

A program is judged by what it says, not by how it is written: HiGHS solves it, and what comes out
is compared with the right answer, which a slow and simple search finds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ddl_class.exercises.exercise import Stage, Wrong
from ddl_class.exercises.kit.answers import arrays
from ddl_class.exercises.kit.compare import compare, within
from ddl_class.exercises.unit_03.judges import least

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
