"""The same decisions as integer programs, solved by scipy's HiGHS.

One job under a limit: x counts how often an offer is taken. A room shared among jobs: of the
divisions c on each job's front exactly one is taken, x = 1.

    one job       min sum t x    sum size x = B,                       x = 0, 1, 2, ...
    many jobs     min sum t x    sum over c of x = 1 for each job,
                                 sum of w x <= room,                   x = 0 or 1

The second (WD, workspace division, in Oyama, Ben-Nun, Hoefler & Matsuoka 2018) is a knapsack with
a choice in each compartment. Jobs whose rooms stand beside each other may run at the same time.
What to look at: a solver works with tolerances; the bytes are therefore added up once more, as
whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from ddl_teach.operators.micro_batches.front import refusal
from ddl_teach.operators.micro_batches.offers import Division, Job, TooLittle

INFEASIBLE, FAILED = 2, 4  # milp's status; HiGHS's presolve fails on some that are infeasible


def divide(job: Job, limit: float = math.inf) -> Division:
    """The fastest division of the job's batch whose workspace is at most `limit` bytes."""
    offers = job.within(limit)
    sizes = np.array([offer.size for offer in offers])
    times_taken = offers and _solve(
        [offer.seconds for offer in offers],
        [LinearConstraint(sizes[None, :], job.batch, job.batch)],
        Bounds(0, job.batch // sizes),
    )
    if not len(times_taken):
        raise refusal(job, limit)
    return Division(
        tuple(
            offer for offer, count in zip(offers, times_taken, strict=True) for _ in range(count)
        )
    )


def share(fronts: Sequence[Sequence[Division]], room: float) -> list[Division]:
    """One division from each front: together they need at most `room` bytes and the least time."""
    least = sum(front[0].workspace for front in fronts)
    if least > room:
        raise TooLittle(
            f"{len(fronts)} jobs do not fit into {room:,.0f} bytes together; the smallest "
            f"workspace that would do is {least:,}",
            least,
        )
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
    program = {
        "c": np.asarray(seconds) / unit,
        "constraints": rows,
        "bounds": bounds,
        "integrality": np.ones(len(seconds)),
    }
    found = milp(**program, options={"mip_rel_gap": 0.0})
    if found.status == FAILED:
        found = milp(**program, options={"mip_rel_gap": 0.0, "presolve": False})
    if found.status == INFEASIBLE:
        return []
    if found.x is None:
        raise RuntimeError(f"the integer program was not solved: {found.message}")
    return np.rint(found.x).astype(int)
