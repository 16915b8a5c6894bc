"""From what convolutions cost and a limit to a division of each, and the reason for it.

Costs are measured or predicted; then choose:

    a room for each    the dynamic program, with the same limit for every pass of every layer
    one room together  the integer program divides it: bytes go where they save most time

What to look at: the last column of the report. Most layers get what they would have got anyway;
the time is won in the few where a faster method fits only in pieces.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from ddl_teach.operators.micro_batches import dynamic
from ddl_teach.operators.micro_batches.front import desirable
from ddl_teach.operators.micro_batches.integer import share
from ddl_teach.operators.micro_batches.offers import DivisibleBatch, Division
from ddl_teach.operators.micro_batches.operator import recipes_of


@dataclass(frozen=True)
class DivisionPlan:
    """What every pass of every convolution got."""

    limit: float  # bytes: of each pass, or of all together
    together: bool
    jobs: Mapping[str, Mapping[str, DivisibleBatch]]  # by site and pass
    divisions: Mapping[str, Mapping[str, Division]]

    @property
    def recipes(self) -> dict[str, str]:
        """What `transform.in_micro_batches` is told."""
        return {site: recipes_of(by_pass) for site, by_pass in self.divisions.items()}

    @property
    def seconds(self) -> float:
        """The predicted time of all passes, one after another."""
        return sum(one.seconds for by_pass in self.divisions.values() for one in by_pass.values())

    @property
    def workspace(self) -> int:
        """The bytes that are needed: the largest room, or all rooms beside each other."""
        rooms = [one.workspace for by_pass in self.divisions.values() for one in by_pass.values()]
        return sum(rooms) if self.together else max(rooms, default=0)

    def __str__(self) -> str:
        """Two lines for each pass: what it got, and why."""
        head = (
            f"{_size(self.limit)} {'together' if self.together else 'for each pass'}: "
            f"{self.seconds * 1e3:.3g} ms, {_size(self.workspace)}"
        )
        # Not wider than a notebook's page, which would break reasons in the middle of words.
        page = textwrap.TextWrapper(84, initial_indent="    ", subsequent_indent="    ")
        pairs = [
            (job, self.divisions[site][direction])
            for site, by_pass in self.jobs.items()
            for direction, job in by_pass.items()
        ]
        lines = [f"{job.name}: {_describe(one)}\n{page.fill(why(job, one))}" for job, one in pairs]
        return "\n".join([head, *lines])


def decide(
    jobs: Mapping[str, Mapping[str, DivisibleBatch]], limit: float, together: bool = False
) -> DivisionPlan:
    """The plan for jobs that are known already, by site and pass."""
    places = [(site, direction) for site, by_pass in jobs.items() for direction in by_pass]
    flat = [jobs[site][direction] for site, direction in places]
    if together:
        chosen = share([desirable(job) for job in flat], limit)
    else:
        chosen = [dynamic.divide(job, limit) for job in flat]
    divisions: dict[str, dict[str, Division]] = {site: {} for site in jobs}
    for (site, direction), division in zip(places, chosen, strict=True):
        divisions[site][direction] = division
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
    if fastest.workspace > division.workspace:
        reason = f"The whole batch by {fastest.method} would take {_size(fastest.workspace)}"
    else:
        reason = f"in pieces it is {fastest.seconds / division.seconds:.2f} times as fast as "
        return f"Even without a limit: {reason}the whole batch by {fastest.method}"
    if len(division.parts) == 1:
        return f"{reason}, and in pieces nothing that fits is faster than this"
    if not fitting:
        return f"{reason}, and no whole batch fits into this room"
    best = min(fitting, key=lambda offer: offer.seconds)
    gain = best.seconds / division.seconds
    return (
        f"{reason}; {gain:.2f} times as fast as the whole batch by {best.method}, which needs no "
        "more room"
    )


def _describe(division: Division) -> str:
    return f"{division}, {division.seconds * 1e3:.3g} ms, {_size(division.workspace)}"


def _size(nbytes: float) -> str:
    return f"{nbytes / 2**20:,.3g} MiB"
