"""`ddl-teach plan`: the grid of a training, its memory, time, price and carbon."""

import argparse
from dataclasses import replace

from ddl_class.commands.mistake import Mistake
from ddl_teach.planning import bill as bills
from ddl_teach.planning.explain import explained, grid_text
from ddl_teach.planning.plans import Ranking, best_of_each, rank_plans
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import Software, TrainingJob, TransformerSizes

NOT_POSSIBLE = 1
SIZES = "layers,hidden,heads,inner,vocabulary"


def plan(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    try:
        job = TrainingJob(
            model_of(options.model), ACCELERATORS[options.device], options.sequence,
            options.batch, Software(fused=options.fused),
        )  # fmt: skip
        ranking = rank_plans(job, options.gpus, options.precision, **held_to(options.hold))
    except ValueError as error:
        raise Mistake(str(error)) from None
    if not ranking.possible:
        print(f"No plan of {options.gpus} {options.device} can train {options.model}:")
        refusals(ranking)
        print("Try more accelerators, another batch, or --hold less.")
        return NOT_POSSIBLE
    print("\n".join(explained(job, ranking.best)))
    if options.words:
        try:
            whole = bills.bill(
                job, ranking.best, options.words, options.price, options.pue, options.grams
            )
        except ValueError as error:
            raise Mistake(str(error)) from None
        print(
            f"\n{options.words:.4g} words: {whole.steps:,.0f} steps, {whole.days:.1f} days if "
            f"nothing fails, {whole.hours:,.0f} hours, {whole.dollars:,.0f} dollars at "
            f"{options.price:g},\n{whole.kilowatt_hours / 1000:,.0f} MWh at "
            f"{job.accelerator.watts:g} W and a PUE of {options.pue:g}, {whole.tonnes:,.0f} t of "
            f"CO2 at {options.grams:g} g a kWh"
        )
    print("\nthe fastest plan of each grid, and how many times the first one's step it takes")
    for step in best_of_each(ranking, options.show):
        behind = step.time.total / ranking.best.time.total
        size = f"{step.held.total / 1e9:5.1f} GB, {step.mfu:5.1%} MFU"
        print(f"  {behind:5.2f}  {size}  {grid_text(step.plan)}")
    print(f"{len(ranking.possible)} plans can be; others cannot:")
    refusals(ranking)
    return 0


def refusals(ranking: Ranking) -> None:
    """Print why other plans cannot be."""
    for reason, number in ranking.refused.most_common():
        print(f"  {number:6} plans: {reason}")


def model_of(text: str) -> TransformerSizes:
    """A published model, or five sizes."""
    if text in MODELS:
        return MODELS[text]
    try:
        layers, hidden, heads, inner, vocabulary = map(int, text.split(","))
    except ValueError:
        known = ", ".join(MODELS)
        raise ValueError(f"{text!r} is no model: take {known}, or {SIZES}") from None
    if min(layers, hidden, heads, inner, vocabulary) < 1 or hidden % heads:
        raise ValueError(f"{text!r}: {SIZES} are at least 1, and heads divide hidden")
    return replace(MODELS["gpt-124m"], layers=layers, hidden=hidden, heads=heads, inner=inner,
                   vocabulary=vocabulary)  # fmt: skip


def held_to(pairs: list[str]) -> dict[str, object]:
    """`tensor=8` as a value; words stay words."""
    values: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--hold {pair}: give a field and its value, such as tensor=8")
        values[name.replace("-", "_")] = int(value) if value.isdigit() else value
    return values
