"""What micro-batches would cost on a processor that is only described: the same data, by formula.

    seconds = launch + operations / rates        workspace = numbers held between stages

with the counts of `theory.convolution_cost`. Every call pays its `launch`, however small it is;
that is why pieces cannot be cut ever finer for nothing. What to look at: programs that decide on
measured offers decide on these, for networks and processors that nobody has at home.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.micro_batches.offers import DivisibleBatch, Division, Offer, sizes_of
from ddl_teach.theory.convolution_cost import PASSES, cost
from ddl_teach.theory.convolution_time import Rates, seconds


def predict(
    problem: Convolution,
    rates: Rates,
    *,
    name: str = "convolution",
    launch: float = 0.0,
    methods: Sequence[str] = tuple(METHODS),
    sizes: str | Iterable[int] = "powers_of_two",
    passes: Sequence[str] = PASSES,
    itemsize: int = 4,
) -> dict[str, DivisibleBatch]:
    """A job for each pass, with an offer for every size of every method that can."""
    refusals = {method: find(method).refusal(problem) for method in methods}
    sizes = sizes_of(sizes, problem.batch)

    def offer(method: str, size: int, direction: str) -> Offer:
        counted = cost(method, replace(problem, batch=size), direction)
        taken = launch + seconds(counted, rates, itemsize)
        return Offer(method, size, taken, counted.held * itemsize)

    return {
        direction: DivisibleBatch(
            f"{name}, {direction}",
            problem.batch,
            tuple(
                offer(method, size, direction)
                for method in methods
                if not refusals[method]
                for size in sizes
            ),
            {method: why for method, why in refusals.items() if why},
        )
        for direction in passes
    }


def seconds_of(
    divisions: Mapping[str, Mapping[str, Division]],
    problems: Mapping[str, Convolution],
    rates: Rates,
    *,
    launch: float = 0.0,
    itemsize: int = 4,
) -> float:
    """What a plan's divisions, by site and pass, would take; `problems` are the sites'."""
    return sum(
        launch
        + seconds(cost(part.method, replace(problems[site], batch=part.size), direction), rates,
                  itemsize)
        for site, by_pass in divisions.items()
        for direction, division in by_pass.items()
        for part in division.parts
    )  # fmt: skip
