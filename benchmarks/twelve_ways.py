"""The true measurements behind the twelve ways to fool, as one report in which nothing is found.

    python -m benchmarks.twelve_ways [--seeds 6] [--repetitions 31] [--out FILE.json]

Trainings run on real ranks with make-believe accelerators (benchmarks.make_believe), one for each
seed; parts of a step, products and all-reduces are measured in turns (benchmarks.parts_of_a_step).
Whoever wants to be fooled by numbers of his own writes them to another file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from benchmarks.make_believe import Plan, Trained, train
from benchmarks.parts_of_a_step import (
    HIDDEN,
    NUMBERS,
    PARTS,
    SAMPLES,
    WAYS,
    accuracies,
    allreduces,
    parts_of_a_step,
    products,
)
from benchmarks.true_claims import claims
from ddl_class.notebook.true_measurements import RECORDED
from ddl_measure.machine import describe
from ddl_measure.reports.file import save
from ddl_measure.reports.made import made
from ddl_measure.reports.report import (
    A_TRAINING,
    HELD_OUT,
    QUANTITIES,
    TRAINING,
    VALIDATION,
    Data,
    Entry,
    Report,
    Series,
    Trial,
)
from ddl_measure.reports.review import review, told
from ddl_teach import Ranks

LEARNT, HELD = 1437, 360  # pictures
STEP = ("input", "forward", "backward", "update")
SCALES = (1, 2, 4, 8)
SEARCHED = 24  # rates that are tried
ACCELERATORS = {  # by seconds a sample: a name, and the year in which it might have been sold
    2e-3: ("old accelerators", "2012"),
    1e-3: ("accelerators", "2016"),
    5e-4: ("new accelerators", "2018"),
}
SLOW = Plan(4, 32, bandwidth=4e6, epochs=2)
# Links so slow that averaging seldom comes to 80% first, digits so skewed that it ends below 93%.
SLOWEST = Plan(4, 32, bandwidth=5e5, epochs=4, look=9, skewed=True)
PLANS: dict[str, Plan] = {
    **{f"weak, {ranks} ranks": Plan(ranks, 32 * ranks) for ranks in SCALES},
    **{f"strong, {ranks} ranks": Plan(ranks, 32) for ranks in SCALES[1:]},
    **{f"side {side}, {ranks} ranks": Plan(ranks, 32, side=side, epochs=1)
       for side in (8, 16) for ranks in (1, 8)},
    **{f"{width} bytes, {age} accelerators": replace(SLOW, width=width, sample=sample)
       for width in (8, 4) for age, sample in (("old", 2e-3), ("new", 5e-4))},
    "average now and then": replace(SLOWEST, every=9),
    "average at every step": SLOWEST,
}  # fmt: skip
BUSIEST = max(plan.ranks for plan in PLANS.values())


def trained(name: str, plan: Plan, runs: Sequence[Trained], **more: object) -> Entry:
    """What a plan came to, seed by seed; curves where there are looks."""
    parts = (*STEP, "communication") if plan.ranks > 1 else STEP
    clock = {"ground": "injected delay", "includes": parts}
    clock |= {"over_ranks": "slowest"} if plan.ranks > 1 else {}
    seconds = [run.seconds[-1] for run in runs]
    samples = LEARNT // plan.batch * plan.batch * plan.epochs
    series = [
        made_of("seconds", A_TRAINING, seconds, **clock),
        made_of("samples a second", A_TRAINING, [samples / it for it in seconds], **clock),
        learnt([run.held_out[-1] for run in runs], HELD_OUT, "at the end"),
        learnt([run.learnt[-1] for run in runs], TRAINING, "at the end"),
    ]
    for seed, run in enumerate(runs if plan.look else ()):
        when = f"at each look, seed {seed}"
        series.append(made_of("seconds", when, run.seconds, taken="on the way", **clock))
        series.append(replace(learnt(run.held_out, HELD_OUT, "on the way"), of=when))
        series.append(replace(learnt(run.learnt, TRAINING, "on the way"), of=when))
    shape, said = (plan.side, plan.side), {"searched": 0, **more}
    kept = (it for it in asdict(plan).items() if it[0] not in ("ranks", "batch", "side"))
    settings = {key: value for key, value in kept if key not in ("sample", "validation")}
    return Entry(
        name, ACCELERATORS[plan.sample][0], plan.ranks, plan.ranks, settings, tuple(series),
        plan.batch, shape, **said,
    )  # fmt: skip


def made_of(quantity: str, of: str, values: Sequence[float], **more: object) -> Series:
    """A series of what varies."""
    values, said = tuple(map(float, values)), {"ground": "measured", **more}
    unit = QUANTITIES[quantity][0]
    return Series(quantity, of, unit, values, len(values), deterministic=False, **said)


def learnt(values: Sequence[float], split: str, taken: str) -> Series:
    """Accuracies, one for each training or each look."""
    return made_of("accuracy", A_TRAINING, values, split=split, taken=taken)


def searched(pool: Ranks, seeds: range) -> tuple[Entry, list[Trial]]:
    """A rate chosen among many by validation data, then trained again with every seed."""
    plan = Plan(4, 64, epochs=2)
    rates = [float(f"{it:.3g}") for it in np.geomspace(1e-3, 10, SEARCHED)]
    tried = [train(pool, replace(plan, rate=rate, validation=True), 0) for rate in rates]
    best = int(np.argmax([run.held_out[-1] for run in tried]))
    plan = replace(plan, rate=rates[best])
    runs = [train(pool, plan, seed) for seed in seeds]
    more = {"searched": SEARCHED, "chosen_on": VALIDATION}
    entry = trained("rate searched", plan, runs, **more)
    trials = [
        Trial(entry.name, 0, {**entry.settings, "rate": rate},
              "chosen" if place == best else "not chosen", run.seconds[-1], run.held_out[-1])
        for place, (rate, run) in enumerate(zip(rates, tried, strict=True))
    ]  # fmt: skip
    return entry, trials


def kept(entry: Entry) -> Iterator[Trial]:
    """Its own trainings, as they stand in its series."""
    values = {(it.quantity, it.split): it.values for it in entry.series if it.of == A_TRAINING}
    right = values["accuracy", HELD_OUT]
    seconds = values.get(("seconds", None), (None,) * len(right))
    for seed, (took, accuracy) in enumerate(zip(seconds, right, strict=True)):
        yield Trial(entry.name, seed, entry.settings, "kept", took, accuracy)


def measured_in_parts(repetitions: int, seeds: range) -> list[Entry]:
    """Steps in two precisions, in parts."""
    took, entries = parts_of_a_step(repetitions), []
    for dtype in ("float64", "float32"):
        series = [learnt(accuracies(dtype, seeds), HELD_OUT, "at the end")]
        for what, parts in PARTS.items():
            names = [
                word
                for part in parts
                for word in (("forward", "backward") if part == "gradient" else (part,))
            ]
            series.append(made_of("seconds", what, took[dtype, what], includes=tuple(names)))
        settings = {"precision": dtype, "hidden": HIDDEN, "rate": 0.1}
        entries.append(
            Entry(
                f"step in {dtype}", "processor", 1, 1, settings, tuple(series), SAMPLES, (8, 8), 0
            )
        )
    return entries  # fmt: skip


def measured_products(repetitions: int) -> list[Entry]:
    """The same product with many operations, and with few."""
    took, operations, error = products(repetitions)
    entries = []
    for name, seconds in took.items():
        rates = operations[name] / seconds
        series = (
            made_of("seconds", "a call", seconds, includes=("product",)),
            made_of("operations a second", "a call", rates, includes=("product",),
                    counted="a multiplication and an addition are two, float32"),
            Series("error", "the result", "1", (error,), 1, "measured", True),
        )  # fmt: skip
        settings = {"precision": "float32", "operations": operations[name]}
        entries.append(Entry(f"product, {name}", "processor", 1, 1, settings, series))
    return entries


def measured_allreduces(pool: Ranks, repetitions: int) -> list[Entry]:
    """All-reduces of 1 MiB on four ranks."""
    runs = pool.run(allreduces, 4, repetitions=repetitions, trace=False).results
    clock = {"includes": ("all-reduce",), "over_ranks": "slowest"}
    return [
        Entry(f"all-reduce, {name}", "processor", 4, 4, {"bytes": 4 * NUMBERS}, (
            made_of("seconds", "a call", np.max([run[name] for run in runs], axis=0), **clock),))
        for name in WAYS
    ]  # fmt: skip


def measure(seeds: range, repetitions: int, command: str) -> Report:
    """Everything, in a few minutes."""
    with Ranks(BUSIEST) as pool:
        runs = {name: [] for name in PLANS}
        for seed in seeds:  # in turns, as far as trainings can
            for name, plan in PLANS.items():
                runs[name].append(train(pool, plan, seed))
            print(f"seed {seed}", flush=True)
        entries = [trained(name, plan, runs[name]) for name, plan in PLANS.items()]
        best, trials = searched(pool, seeds)
        calls = measured_allreduces(pool, repetitions)
    steps = measured_in_parts(repetitions, seeds)
    for entry in (*entries, best, *steps):
        trials.extend(kept(entry))
    entries += [best, *steps, *measured_products(repetitions), *calls]
    processor = describe()
    machines = {"processor": processor}
    for sample, (name, year) in ACCELERATORS.items():
        told = f"make-believe: {1e3 * sample:g} ms a sample, on {processor['processor']}"
        machines[name] = {**processor, "processor": told, "year": year}
    data = Data("handwritten digits of scikit-learn", LEARNT, HELD, (8, 8))
    report = Report(
        "True measurements behind the twelve ways to fool", made(command, seeds), machines, data,
        tuple(entries), tuple(trials), None, (), (),
    )  # fmt: skip
    return replace(report, claims=tuple(claims(report)))


def main() -> None:
    """Measure, review, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--repetitions", type=int, default=31)
    parser.add_argument("--out", type=Path, default=RECORDED)
    chosen = parser.parse_args()
    report = measure(range(chosen.seeds), chosen.repetitions, "python -m benchmarks.twelve_ways")
    save(chosen.out, report)
    print(told(review(report)))


if __name__ == "__main__":
    main()
