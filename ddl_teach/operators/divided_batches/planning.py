"""From what convolutions cost and a limit to a division of each, and the reason for it.

Costs are measured or predicted; then choose:

    a room for each    the dynamic program, with the same limit for every pass of every layer
    one room together  the integer program divides it: bytes go where they save most time
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from ddl_teach.operators.divided_batches import dynamic
from ddl_teach.operators.divided_batches.divided import recipes_of
from ddl_teach.operators.divided_batches.front import desirable
from ddl_teach.operators.divided_batches.integer import share
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division


@dataclass(frozen=True)
class DivisionPlan:
    """What every pass of every convolution got."""

    limit: float  # bytes: of each pass, or of all together
    together: bool
    jobs: Mapping[str, Mapping[str, DivisibleBatch]]  # by site and pass
    divisions: Mapping[str, Mapping[str, Division]]

    @property
    def recipes(self) -> dict[str, str]:
        """The recipes that `transform.in_divided_batches` takes."""
        return {site: recipes_of(by_pass) for site, by_pass in self.divisions.items()}

    @property
    def seconds(self) -> float:
        return sum(division.seconds for _, division in self._pairs())

    @property
    def workspace(self) -> int:
        """The bytes that are needed: the largest room, or all rooms beside each other."""
        rooms = [division.workspace for _, division in self._pairs()]
        return sum(rooms) if self.together else max(rooms, default=0)

    def __str__(self) -> str:
        room = f"{_size(self.limit)} {'together' if self.together else 'for each pass'}"
        lines = [f"{room}: {self.seconds * 1e3:.3g} ms, {_size(self.workspace)}"]
        for job, division in self._pairs():
            times = f"{division.seconds * 1e3:.3g} ms, {_size(division.workspace)}"
            # Not wider than a notebook's page, which would break reasons in the middle of words.
            reason = textwrap.indent(textwrap.fill(why(job, division), 80), "    ")
            lines += [f"{job.name}: {division}, {times}", reason]
        return "\n".join(lines)

    def _pairs(self) -> list[tuple[DivisibleBatch, Division]]:
        return [
            (job, self.divisions[site][direction])
            for site, by_pass in self.jobs.items()
            for direction, job in by_pass.items()
        ]


def decide(
    jobs: Mapping[str, Mapping[str, DivisibleBatch]], limit: float, together: bool = False
) -> DivisionPlan:
    """The plan for jobs that are known already, by site and pass."""
    flat = [job for by_pass in jobs.values() for job in by_pass.values()]
    if together:
        chosen = iter(share([desirable(job) for job in flat], limit))
    else:
        chosen = (dynamic.divide(job, limit) for job in flat)
    divisions = {
        site: {direction: next(chosen) for direction in by_pass} for site, by_pass in jobs.items()
    }
    return DivisionPlan(limit, together, jobs, divisions)


def why(job: DivisibleBatch, division: Division) -> str:
    """The reason for a division, against the whole batch by one method."""
    whole = [offer for offer in job.offers if offer.size == job.batch]
    if not whole:
        return "The whole batch was not tried"
    fastest = min(whole, key=lambda offer: offer.seconds)
    fitting = [offer for offer in whole if offer.workspace <= division.workspace]
    if division.parts == (fastest,):
        return "The fastest method for the whole batch, and it fits"
    if fastest.workspace <= division.workspace:
        faster = f"{fastest.seconds / division.seconds:.2f} times as fast as the whole batch"
        return f"Even without a limit: in pieces it is {faster} by {fastest.method}"
    reason = f"The whole batch by {fastest.method} would take {_size(fastest.workspace)}"
    if len(division.parts) == 1:
        return f"{reason}, and in pieces nothing that fits is faster than this"
    if not fitting:
        return f"{reason}, and no whole batch fits into this room"
    best = min(fitting, key=lambda offer: offer.seconds)
    gain = best.seconds / division.seconds
    faster = f"{gain:.2f} times as fast as the whole batch by {best.method}"
    return f"{reason}; {faster}, which needs no more room"


def _size(nbytes: float) -> str:
    return f"{nbytes / 2**20:,.3g} MiB"
