"""What pieces of a batch would cost on a processor that is only described: by formula.

    seconds = launch + operations / rates        workspace = numbers held between stages

with the counts of `theory.convolution_cost`. Every call pays its `launch`, so pieces cannot be cut
ever finer for nothing. Programs that decide on measured offers decide on these too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division, Offer, sizes_of
from ddl_teach.theory.convolution_cost import PASSES, cost
from ddl_teach.theory.convolution_time import Rates, seconds

ITEM_SIZE = 4  # bytes of a float32


def predict(
    problem: Convolution,
    rates: Rates,
    *,
    launch: float = 0.0,
    methods: Sequence[str] = tuple(METHODS),
    sizes: str | Iterable[int] = "powers_of_two",
) -> dict[str, DivisibleBatch]:
    """A job for each pass, with an offer for every size of every method that can."""
    refused = {name: why for name in methods if (why := find(name).refusal(problem))}
    jobs = {}
    for direction in PASSES:
        offers = []
        for size in sizes_of(sizes, problem.batch):
            for method in (name for name in methods if name not in refused):
                counted = cost(method, replace(problem, batch=size), direction)
                taken = launch + seconds(counted, rates)
                offers.append(Offer(method, size, taken, counted.held * ITEM_SIZE))
        name = f"convolution, {direction}"
        jobs[direction] = DivisibleBatch(name, problem.batch, tuple(offers), refused)
    return jobs


def seconds_of(
    divisions: Mapping[str, Mapping[str, Division]],
    problems: Mapping[str, Convolution],
    rates: Rates,
    *,
    launch: float = 0.0,
) -> float:
    """What a plan's divisions, by site and pass, would take; `problems` are the sites'."""
    return sum(
        launch + seconds(cost(part.method, replace(problems[site], batch=part.size), name), rates)
        for site, by_pass in divisions.items()
        for name, division in by_pass.items()
        for part in division.parts
    )
