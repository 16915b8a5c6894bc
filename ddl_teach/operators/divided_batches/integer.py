"""The same decisions as integer programs, solved by scipy's HiGHS.

Jobs under a limit for each: x counts how often an offer is taken. A room shared among jobs: of
the divisions c on each job's front exactly one is taken, x = 1.

    own rooms     min sum t x    sum size x = B for each job,          x = 0, 1, 2, ...
    one room      min sum t x    sum over c of x = 1 for each job,
                                 sum of w x <= room,                   x = 0 or 1

The second (WD, workspace division, in Oyama, Ben-Nun, Hoefler & Matsuoka 2018) is a knapsack with
a choice in each compartment. What to look at: a solver works with tolerances; the bytes are
therefore added up once more, as whole numbers.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, csr_array

from ddl_teach.operators.divided_batches.front import refusal
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division, TooLittle

INFEASIBLE, FAILED = 2, 4  # milp's status; HiGHS's presolve fails on some that are infeasible


def divide(jobs: Sequence[DivisibleBatch], limit: float = math.inf) -> list[Division]:
    """Each job's fastest division that needs at most `limit` bytes: one program for all jobs."""
    offers = [job.within(limit) for job in jobs]
    sizes = [np.array([offer.size for offer in own], float) for own in offers]
    batches = np.array([job.batch for job in jobs])
    most = [job.batch // own for job, own in zip(jobs, sizes, strict=True)]
    flat = [offer for own in offers for offer in own]
    counts = flat and _solve(
        [offer.seconds for offer in flat],
        [LinearConstraint(block_diag([own[None, :] for own in sizes]), batches, batches)],
        Bounds(0, np.concatenate(most)),
    )
    if not len(counts):
        raise next(filter(None, (refusal(job, limit) for job in jobs)))
    each = np.split(counts, np.cumsum([len(own) for own in offers])[:-1])
    return [
        Division(tuple(offer for offer, k in zip(own, taken, strict=True) for _ in range(k)))
        for own, taken in zip(offers, each, strict=True)
    ]


def share(fronts: Sequence[Sequence[Division]], room: float) -> list[Division]:
    """One division from each front: together they need at most `room` bytes and the least time."""
    least = sum(front[0].workspace for front in fronts)
    if least > room:
        begin = f"{len(fronts)} jobs do not fit into {room:,.0f} bytes together"
        raise TooLittle(f"{begin}; the smallest workspace that would do is {least:,}", least)
    points = [division for front in fronts for division in front]
    job = np.repeat(np.arange(len(fronts)), [len(front) for front in fronts])
    one_each = csr_array((np.ones(len(points)), (job, np.arange(len(points)))))
    workspace = np.array([division.workspace for division in points], float)
    # In units of the room, so that the solver's tolerance is a millionth of it.
    rows = [LinearConstraint(one_each, 1, 1)]
    if workspace.sum() > room:
        rows.append(LinearConstraint(workspace[None, :] / max(room, 1), -np.inf, room > 0))
    while True:
        taken = _solve([division.seconds for division in points], rows, Bounds(0, 1))
        chosen = [points[place] for place in np.flatnonzero(taken)]
        if sum(division.workspace for division in chosen) <= room:
            return chosen
        # Within the tolerance, but above the room: forbid this one choice, and ask again.
        rows.append(LinearConstraint(taken[None, :], -np.inf, len(fronts) - 1))


def _solve(seconds: Sequence[float], rows: list[LinearConstraint], bounds: Bounds) -> Any:
    """Whole numbers that make the time smallest; none if there are no such numbers."""
    # HiGHS stops at an absolute gap of 1e-6: microseconds would be nothing to it.
    unit = max(seconds) / 1e3 or 1.0
    solve = partial(
        milp, np.asarray(seconds) / unit, integrality=np.ones(len(seconds)), bounds=bounds,
        constraints=rows,
    )  # fmt: skip
    solution = solve(options={"mip_rel_gap": 0.0})
    if solution.status == FAILED:
        solution = solve(options={"mip_rel_gap": 0.0, "presolve": False})
    if solution.status == INFEASIBLE:
        return []
    if solution.x is None:
        raise RuntimeError(f"the integer program was not solved: {solution.message}")
    return np.rint(solution.x).astype(int)
