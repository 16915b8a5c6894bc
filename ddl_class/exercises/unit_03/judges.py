"""The judges of unit 03: a Pareto front, a batch divided in the best way, two integer programs,
and a plan for two streams.

A program is judged by what it says, not by how it is written: HiGHS solves it, and what comes out
is compared with the right answer, which a slow and simple search finds.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from ddl_class.exercises.kit import Attempt, Texts, Wrong, judge_seconds, texts
from ddl_class.exercises.kit.answers import arrays, items, several, short, whole
from ddl_class.exercises.kit.compare import AnyOf, compare, within
from ddl_class.exercises.unit_03 import two_streams
from ddl_teach.plain.micro_batches import divide

PARETO, DIVIDE, PROGRAM, SHARE, STREAMS = texts(
    __package__, "pareto", "divide", "program", "share", "streams"
)
SAME = within(1e-6)
FAILED = 4  # milp's status: HiGHS's presolve fails on some programs that have no solution

Point = tuple[int, int]  # bytes and milliseconds


def judge_pareto(attempt: Attempt) -> None:
    """The places of all points that no other point beats, each of equal ones once."""
    for count in (3, 2, 1, 8, 20, 20, 60):
        workspace = attempt.generator.integers(1, 2 * count + 2, count) * 1024
        milliseconds = attempt.generator.integers(1, 2 * count + 2, count)
        seconds = milliseconds / 1000
        points = list(zip(workspace.tolist(), milliseconds.tolist(), strict=True))
        kept = [points[place] for place in _places(attempt.call(workspace, seconds), count)]
        call = PARETO("few", workspace=workspace.tolist(), seconds=seconds.tolist())
        call = call if count <= 8 else PARETO("many", count=count)
        for point in kept:
            better = [other for other in points if _beats(other, point)]
            PARETO.refuse_if({"call": call, "point": point, "better": better}, beaten=better)
        twice = [point for point in kept if kept.count(point) > 1]
        best = {point for point in points if not any(_beats(other, point) for other in points)}
        missing = sorted(best - {*kept})
        PARETO.refuse_if(
            {"call": call, "twice": twice, "missing": missing},
            twice=twice,
            missing=missing,
            unsorted=kept != sorted(kept),
        )


def _beats(other: Point, point: Point) -> bool:
    return other != point and other[0] <= point[0] and other[1] <= point[1]


def _places(answer: Any, count: int) -> list[int]:
    """What a learner's pareto returned, as places of points."""

    def read(place: Any) -> int:
        PARETO.refuse_if(mask=isinstance(place, bool | np.bool_))
        return range(count).index(whole(place))

    return items(answer, PARETO("wanted", last=count - 1), read)


def judge_divide(attempt: Attempt) -> None:
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
        batch = int(attempt.generator.integers(2, 40))
        offered = sorted({1, *attempt.generator.integers(1, batch + 1, 5).tolist()})
        seconds = {size: float(attempt.generator.integers(1, 100)) for size in offered}
        cases.append((batch, seconds))
    # More divisions than can ever be tried one by one.
    cases.append((400, {size: 1.0 + size + (size % 7) / 8 for size in (1, 3, 11, 16, 50, 64)}))
    for batch, seconds in cases:
        answer, call = attempt.call(batch, seconds), f"divide({batch}, {seconds})"
        alone = isinstance(answer, int | float | np.number)
        DIVIDE.refuse_if({"call": call, "answer": answer}, time_alone=alone)
        sizes = items(answer, DIVIDE("wanted", call=call), int)
        unknown = [size for size in sizes if size not in seconds]
        values = {"call": call, "unknown": unknown, "sizes": short(sizes), "batch": batch}
        DIVIDE.refuse_if(
            values | {"examples": sum(sizes)}, unknown=unknown, other_batch=sum(sizes) != batch
        )
        largest = sorted(seconds, reverse=True)
        cheapest = sorted(seconds, key=lambda size: seconds[size] / size)
        equal = [batch // size * time for size, time in seconds.items() if batch % size == 0]
        usual = DIVIDE.each(
            largest_first=_greedily(batch, seconds, largest),
            cheapest_first=_greedily(batch, seconds, cheapest),
            equal_pieces=AnyOf(*equal),
        )
        took = sum(seconds[size] for size in sizes)
        right, _ = divide(batch, [("", size, time, 0) for size, time in seconds.items()], 0)
        compare(DIVIDE("setting", **values), took, right, usual, DIVIDE("otherwise"))


def _greedily(batch: int, seconds: Mapping[int, float], order: Sequence[int]) -> float:
    taken = 0.0
    for size in order:
        taken += batch // size * seconds[size]
        batch %= size
    return taken


def judge_program(attempt: Attempt) -> None:
    """c, A, b of one layer's program: HiGHS must find the best division in it."""
    for trial in range(6):
        batch = int(attempt.generator.integers(3, 17))
        sizes = np.array([1, 1, *attempt.generator.integers(1, batch + 1, 6)])
        workspace = sizes * attempt.generator.integers(1, 20, len(sizes)) * 64
        seconds = attempt.generator.integers(1, 100, len(sizes)) / 4
        limit = int(workspace[:2].min() + attempt.generator.integers(0, 1500))
        if trial == 0:  # the fastest does not fit; another one fits to the byte
            batch, limit = 6, 50
            sizes, seconds = np.array([1, 2, 2, 6]), np.array([9.0, 11.0, 10.0, 1.0])
            workspace = np.array([10, 40, 50, 900])
        lists = {"sizes": sizes.tolist(), "seconds": seconds.tolist()}
        call = PROGRAM("call", batch=batch, workspace=workspace.tolist(), limit=limit, **lists)
        answer = attempt.call(batch, sizes, seconds, workspace, limit)
        result = _solve(PROGRAM, call, answer, ("c", "A", "b"), np.inf)
        offers = [("", *offer) for offer in zip(sizes, seconds, workspace, strict=True)]
        usual = PROGRAM.each(
            no_limit=divide(batch, offers, np.inf)[0],
            exact_limit=divide(batch, offers, limit - 1)[0],
            one_piece=float(seconds[workspace <= limit].min()),
        )
        right, _ = divide(batch, offers, limit)
        compare(f"{call}: your program", result, right, usual, PROGRAM("otherwise"), SAME)


def judge_share(attempt: Attempt) -> None:
    """c, A, low, high of a network's program: one point a layer, all of them in one room."""
    for trial in range(6):
        layers = attempt.generator.integers(2, 5)
        fronts = []
        for _ in range(layers):  # points that grow in room and fall in time
            points = int(attempt.generator.integers(1, 6))
            rooms = np.cumsum(attempt.generator.integers(1, 50, points)) * 1024
            times = np.cumsum(attempt.generator.integers(1, 50, points))[::-1] / 8
            fronts.append((rooms.tolist(), times.tolist()))
        least, most = (sum(workspace[end] for workspace, _ in fronts) for end in (0, -1))
        room = int(attempt.generator.integers(least, most + 1))
        if trial == 0:
            fronts = [([0, 60], [9.0, 1.0]), ([0, 50, 100, 120], [8.0, 6.0, 1.0, 0.5])]
            room = 110
        workspace, seconds = (list(part) for part in zip(*fronts, strict=True))
        call = SHARE("call", workspace=workspace, seconds=seconds, room=room)
        given = ([np.array(own) for own in part] for part in (workspace, seconds))
        result = _solve(SHARE, call, attempt.call(*given, room), ("c", "A", "low", "high"), 1)
        pairs = [list(zip(*front, strict=True)) for front in fronts]
        choices = [list(zip(*choice, strict=True)) for choice in itertools.product(*pairs)]
        right = _least(choices, sum, room)
        usual = SHARE.each(
            no_room=_least(choices, sum, math.inf),
            room_each=_least(choices, max, room),
            full_room=_least(choices, sum, room - 1),
        )
        otherwise = SHARE("no_point") if result < right else SHARE("otherwise")
        compare(f"{call}: your program", result, right, usual, otherwise, SAME)


def _least(choices: list[Any], needs: Callable[[Sequence[int]], int], room: float) -> float:
    """The least time of all choices of points that need no more than this room."""
    return min((sum(times) for sizes, times in choices if needs(sizes) <= room), default=math.inf)


def _solve(say: Texts, call: str, answer: Any, names: Sequence[str], most: float) -> float:
    """The least value of the learner's program, of which these parts were asked for."""
    parts = [np.atleast_1d(part) for part in arrays(answer, names, say("wanted", call=call))]
    c, matrix, *sides = parts
    low, high = sides if len(sides) == 2 else [sides[0].ravel()] * 2
    matrix = np.atleast_2d(matrix)
    say.refuse_if(
        {"call": call, "c": c, "matrix": matrix},
        nan=any(np.isnan(part).any() for part in parts),
        columns=matrix.ndim > 2 or c.ndim > 1 or matrix.shape[1] != len(c),
    )
    try:
        ends = [np.broadcast_to(side, len(matrix)) for side in (low, high)]
    except ValueError:
        values = {"rows": len(matrix), "low": len(low), "high": len(high)}
        raise Wrong(say("rows", call=call, **values)) from None
    program = {
        "constraints": LinearConstraint(matrix, *ends),
        "bounds": Bounds(0, most),
        "integrality": np.ones(len(c)),
    }
    for presolve in (True, False):
        options = {"mip_rel_gap": 0.0, "presolve": presolve}
        result = milp(c, **program, options=options)
        if result.status != FAILED:
            break
    if result.x is None:
        raise Wrong(say("no_solution", call=call))
    return float(c @ np.rint(result.x))


GOAL = 14e-3


def judge_streams(attempt: Attempt) -> None:
    """Each job once, each point within the workspace, and the last job ends within the goal."""
    workspace, seconds = two_streams.fronts()
    wanted = STREAMS("wanted")
    answer = several(attempt.call(workspace, seconds, two_streams.ROOM), 2, wanted)
    plan = [items(jobs, wanted, _job) for jobs in answer]
    done = [job for jobs in plan for job, _ in jobs]
    strange = [job for job in done if job not in range(len(workspace))]
    unknown = {"job": strange[0] if strange else None, "last": len(workspace) - 1}
    STREAMS.refuse_if(unknown, no_job=bool(strange))
    for job, point in (pair for jobs in plan for pair in jobs):
        rooms = workspace[job]
        STREAMS.refuse_if(
            {"job": job, "point": point, "last": len(rooms) - 1},
            no_point=point not in range(len(rooms)),
        )
        needs = {"job": job, "point": point, "needs": rooms[point] / 2**20}
        STREAMS.refuse_if(
            needs | {"room": two_streams.ROOM / 2**20},
            too_large=rooms[point] > two_streams.ROOM,
            twice=done.count(job) > 1,
        )
    never = sorted(set(range(len(workspace))) - set(done))
    STREAMS.refuse_if({"never": short(never)}, never=bool(never))
    schedule = two_streams.carried_out(plan)
    rooms = np.array([workspace[job][point] for job, point in sorted(plan[0] + plan[1])])
    ends = schedule.start + schedule.duration
    most = max(rooms[(schedule.start <= now) & (now < ends)].sum() for now in schedule.start)
    values = {"most": most / 2**20, "room": two_streams.ROOM / 2**20}
    judge_seconds(attempt, STREAMS, schedule.makespan, GOAL, values)


def _job(pair: Any) -> tuple[int, int]:
    """A job and a point, or `ValueError`."""
    job, point = pair
    return whole(job), whole(point)
