"""`ddl-teach plan`: the grid of a training, its memory, time, price and carbon."""

import argparse

from ddl_class.commands.mistake import Mistake
from ddl_teach.planning.bill import bill
from ddl_teach.planning.explain import explained, plan_text
from ddl_teach.planning.plans import rank_plans
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import Software, TrainingJob, TransformerSizes

SIZES = "layers,hidden,heads,inner,vocabulary"


def plan(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    try:
        job = TrainingJob(
            model_of(options.model), ACCELERATORS[options.device], options.sequence,
            options.batch, Software(fused=options.fused),
        )  # fmt: skip
        ranking = rank_plans(job, options.gpus, options.precision, **held_to(options.hold))
        grids = ranking.grids
        cost = bill(job, grids[0], options.words or 0, options.price, options.pue, options.grams)
    except ValueError as error:
        raise Mistake(str(error)) from None
    print("\n".join(explained(job, grids[0])))
    if options.words:
        print(
            f"\n{options.words:g} words: {cost.steps:,.0f} steps, {cost.days:.1f} days if nothing "
            f"fails, {cost.hours:,.0f} hours, {cost.dollars:,.0f} dollars at {options.price:g},\n"
            f"{cost.kilowatt_hours / 1000:,.0f} MWh at {job.accelerator.watts:g} W and a PUE of "
            f"{options.pue:g}, {cost.tonnes:,.0f} t of CO2 at {options.grams:g} g a kWh"
        )
    print("\nthe fastest plan of each grid, and how many times the first one's step it takes")
    for step in grids[: options.show]:
        size = f"{step.held.total / 1e9:5.1f} GB, {step.mfu:5.1%} MFU"
        behind = step.time.total / grids[0].time.total
        print(f"  {behind:5.2f}  {size}  {plan_text(step.plan)}")
    print(f"{len(ranking.possible)} plans on {len(grids)} grids can be; others cannot:")
    for reason, number in ranking.refused.most_common():
        print(f"  {number:6} plans: {reason}")
    return 0


def model_of(text: str) -> TransformerSizes:
    """A published model, or five sizes."""
    if text in MODELS:
        return MODELS[text]
    try:
        layers, hidden, heads, inner, vocabulary = map(int, text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is no model: take {', '.join(MODELS)}, or {SIZES}") from None
    if min(layers, hidden, heads, inner, vocabulary) < 1 or hidden % heads:
        raise ValueError(f"{text!r}: {SIZES} are at least 1, and heads divide hidden")
    return TransformerSizes(layers, hidden, heads, inner, vocabulary, heads)


def held_to(pairs: list[str]) -> dict[str, int | str]:
    """`tensor=8` as a value; words stay words."""
    split = [pair.partition("=") for pair in pairs]
    if wrong := [name for name, equals, _ in split if not equals]:
        raise ValueError(f"--hold {wrong[0]}: give a field and its value, such as tensor=8")
    return {name: int(value) if value.isdigit() else value for name, _, value in split}
