"""A search for the settings of a perceptron on the digits, every trial told.

    ddl-teach recipe run benchmarks/recipes/search_on_three_ranks.toml

One rank conducts and the others train. What a search may spend is fixed, in steps of training
over all trials; how it is divided (many short trials, few long ones) is free. Trials are compared
by their loss on validation data; the winner alone looks at the data held out, once, and must reach
the target there.
What to look at: the winner's accuracy beside those of `digits_on_two_ranks`, whose settings a
person chose.
"""

from ddl_measure.recipes.carry_out import Searched
from ddl_measure.reports.report import Trial
from ddl_measure.to_accuracy import Evaluation
from ddl_teach import Comm
from ddl_teach.search.by_ranks import search
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.report import Record
from ddl_teach.search.space import Choice, LogUniform, Space, UniformNumber
from ddl_teach.search.training import DigitsTraining
from ddl_teach.training.tasks.digits import pictures

SPACE = Space(
    {"rate": LogUniform(1e-3, 3), "momentum": UniformNumber(0, 0.95), "hidden": Choice(8, 16, 32)}
)
OUTCOMES = {"best": "chosen", "stopped": "stopped", "crashed": "crashed"}


def find(
    comm: Comm, seed: int, budget: int, batch: int, trials: int, rungs: int, eta: int, least: int
) -> Searched | None:
    """One search, by successive halving; rank 0 tells of it."""
    decider = SuccessiveHalving(SPACE, trials, rungs, eta, least, seed)
    if decider.planned > budget:
        raise ValueError(
            f"trials={trials}, rungs={rungs}, eta={eta}, least={least} cost {decider.planned} "
            f"steps of training, and the budget is {budget}: take fewer trials or fewer steps"
        )
    training = DigitsTraining(batch=batch)
    report = search(comm, training, decider, test=training.test)
    if report is None:
        return None
    spent, seconds = report.progress.steps, report.progress.seconds
    epochs = spent * batch / len(pictures().answers)
    look = Evaluation(spent, epochs, seconds, 0.0, report.accuracy)
    jobs: dict[int, list[Record]] = {}
    for record in report.records:
        jobs.setdefault(record.trial, []).append(record)
    return Searched((look,), tuple(_trial(own) for own in jobs.values()))


def _trial(jobs: list[Record]) -> Trial:
    """All jobs of one trial: it was stopped after the last of them."""
    last, steps = jobs[-1], sum(job.steps for job in jobs if job.loss is not None)
    seconds = sum(job.end - job.start for job in jobs)
    settings = {**last.settings, "steps": steps}
    return Trial(
        settings=settings, outcome=OUTCOMES[last.decision], seconds=seconds, loss=last.loss
    )
