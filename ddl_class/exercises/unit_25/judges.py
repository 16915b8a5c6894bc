"""The judges of unit 25: a month of failures, from the hours between them to the rank whose bits
are wrong; and a plan, from a rank's memory to the cheapest for a model, a date and a budget."""

import math
from itertools import product
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, held, ranks, run_ranks, texts
from ddl_class.exercises.kit.answers import items, number, several, whole_rows
from ddl_teach.planning.bill import bill
from ddl_teach.planning.plans import planned, refusal
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob
from ddl_teach.theory.grids.grid import divisors

HOURS, INTERVAL, KEPT, SPARE, DIFFER, BLAME, LIMIT = texts(
    __package__, "hours", "interval", "kept", "spare", "differ", "blame", "limit"
)


def judge_hours(attempt: Attempt) -> None:
    """Hours between failures on another number of GPUs."""
    for failures, days, gpus, on in ((419, 54, 16_384, 100_000), (12, 7, 1000, 250)):
        apart = 24 * days / failures
        right = apart * gpus / on
        ask(attempt, HOURS, (failures, days, gpus, on), right).compare(
            not_scaled=apart, grows=apart * on / gpus, days=right / 24, rate=1 / right
        )


def judge_interval(attempt: Attempt) -> None:
    """Young's interval."""
    for save, mean in ((40.0, 11_000.0), (5.0, 1800.0)):
        right = math.sqrt(2 * save * mean)
        ask(attempt, INTERVAL, (save, mean), right).compare(
            no_two=right / math.sqrt(2), no_root=right**2, half=mean / 2
        )


def judge_kept(attempt: Attempt) -> None:
    """What a start leaves that a failure ends."""
    for restart, every, stall, behind in ((60, 100, 0, 0), (100, 300, 4, 0), (30, 120, 5, 70)):
        until = attempt.generator.uniform(0, 3000, 12)
        until[0] = restart / 2
        cycle, copied = every + stall, np.maximum(until - restart - behind, 0)
        right = copied // cycle * every
        ask(attempt, KEPT, (until, restart, every, stall, behind), right).compare(
            no_stall=copied // every * every, with_stall=copied // cycle * cycle,
            part=copied / cycle * every,
        )  # fmt: skip


def judge_spare(attempt: Attempt) -> None:
    """The wait for a machine, and when the others are there."""

    def read(value: Any, wanted: str) -> list[float]:
        wait, others = several(value, 2, wanted)
        return [number(wait, wanted), *sorted(items(others, wanted, float))]

    for now, back, repaired in (
        (10.0, [0.0, 30.0], 40.0),
        (10.0, [25.0, 17.0], 90.0),
        (5.0, [], 8.0),
    ):
        times = sorted([*back, repaired])
        wait, first = max(times[0] - now, 0), min(back, default=repaired)
        ask(attempt, SPARE, (now, back, repaired), [wait, *times[1:]], read=read).compare(
            negative=[times[0] - now, *times[1:]],
            not_taken=[wait, *times],
            not_repaired=[max(first - now, 0), *sorted(back)[1:]],
        )


def judge_differ(attempt: Attempt) -> None:
    """The ranks whose copy is not that of most, in few bytes."""
    for count in attempt.counts:
        for wrong in (0, count - 1, None) if count > 2 else (None,):
            x = np.repeat([attempt.generator.standard_normal(50)], count, axis=0)
            if wrong is not None:
                x[wrong].view(np.uint64)[3] ^= np.uint64(1)
            call, outcome = run_ranks(attempt, DIFFER, [(row,) for row in x], wrong=wrong)
            right = [] if wrong is None else [wrong]
            others = [rank for rank in range(count) if rank != wrong]
            for rank, result in enumerate(outcome.results):
                held(DIFFER, call, rank, result, right).compare(first=others, blind=[])
            ranks.judge_sent(call, outcome, [8 * count] * count, DIFFER("much"), of="bytes")


def judge_blame(attempt: Attempt) -> None:
    """The ranks that are wrong on both sides."""
    for differs in ([0, 1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1]):
        ring = np.array(differs, bool)
        before, after = np.roll(ring, 1), np.roll(ring, -1)
        right, *wrong = (
            np.flatnonzero(each).tolist()
            for each in (ring & before, ring, ring | before, ring & after)
        )
        mistakes = dict(zip(("own", "either", "next"), wrong, strict=True))
        ask(attempt, BLAME, (ring.tolist(),), right, differs=differs).compare(**mistakes)


def judge_limit(attempt: Attempt) -> None:
    """The lowest limit with so many false alarms."""
    for count, alarms in ((20, 0), (50, 2), (9, 4)):
        clean = attempt.generator.exponential(1.0, count)
        falling = np.sort(clean)[::-1]
        ask(attempt, LIMIT, (clean, alarms), falling[alarms]).compare(
            one_less=falling[alarms + 1],
            one_more=falling[max(alarms - 1, 0)],
            low=falling[-1 - alarms],
            place=alarms,
        )


STATES, ACTIVATIONS, BUBBLE, MFU, GRIDS, PLAN = texts(
    __package__, "states", "activations", "bubble", "mfu", "grids", "plan"
)
PRICES = {"A100": 1.2, "H100": 2.2, "H200": 2.8, "MI300X": 2.4}  # of this puzzle, dollars an hour
MOST, GOAL = 2048, 0.95e6  # accelerators, and dollars


def judge_states(attempt: Attempt) -> None:
    """Bytes of weights, gradients and states by stage."""
    for stage, sharers in product(range(4), (1, 8, 64)):
        weights, parts = 1e9, (2, 4, 12)
        cut = [sharers if stage >= least else 1 for least in (3, 2, 1)]
        right, turned = (
            weights * sum(part / by for part, by in zip(parts, order, strict=True))
            for order in (cut, cut[::-1])
        )
        ask(attempt, STATES, (weights, stage, sharers), right).compare(
            all_cut=weights * 18 / sharers, none_cut=weights * 18, turned=turned
        )


def judge_activations(attempt: Attempt) -> None:
    """Bytes of activations on the first stage."""
    for given in ((96, 1024, 64, 8, 8, 4), (8, 64, 32, 2, 4, 9)):
        layers, width, words, tensor, stages, turns = given
        each = 34 * words * width / tensor * layers / stages
        right = each * min(turns, stages)
        ask(attempt, ACTIVATIONS, given, right).compare(
            all_turns=each * turns, once=each, not_split=right * tensor
        )


def judge_bubble(attempt: Attempt) -> None:
    """The share of a step in which a rank waits."""
    for stages, turns, pieces in ((16, 16, 1), (4, 8, 1), (16, 32, 8), (1, 4, 1)):
        waits, all_wait = (stages - 1) / pieces, stages / pieces
        ask(attempt, BUBBLE, (stages, turns, pieces), waits / (turns + waits)).compare(
            of_work=waits / turns,
            plain=(stages - 1) / (turns + stages - 1),
            all_stages=all_wait / (turns + all_wait),
        )


def judge_mfu(attempt: Attempt) -> None:
    """The model's operations over those that were possible."""
    for given in ((405e9, 16.8e6, 6.5, 16_384, 989e12), (1e9, 1e6, 2.0, 8, 312e12)):
        weights, words, seconds, gpus, peak = given
        right = 6 * weights * words / (seconds * gpus * peak)
        ask(attempt, MFU, given, right).compare(
            forward=right / 3, recomputed=right * 4 / 3, one_gpu=right * gpus, upside=1 / right
        )


def judge_grids(attempt: Attempt) -> None:
    """All (data, tensor, pipeline) that divide."""
    for gpus, heads, layers, batch in ((96, 12, 8, 48), (48, 6, 12, 24), (1, 1, 1, 1)):
        right = {
            (gpus // t // p, t, p) for t in divisors(heads) for p in divisors(layers)
            if t <= 8 and gpus % (t * p) == 0 and batch % (gpus // t // p) == 0
        }  # fmt: skip
        grids = set(whole_rows(attempt.call(gpus, heads, layers, batch), GRIDS("wanted")))
        wrong, missing = min(grids - right, default=()), min(right - grids, default=())
        wide = any(len(grid) == 3 and grid[1] > 8 for grid in grids)
        GRIDS.refuse_if(
            {"gpus": gpus, "heads": heads, "layers": layers, "batch": batch}
            | {"wrong": wrong, "missing": missing},
            wide=wide, wrong=wrong, missing=missing,
        )  # fmt: skip


def judge_plan(attempt: Attempt) -> None:
    """A plan that can be, is ready in time, and costs less than the goal."""
    words, days = 2e12, 30
    device, gpus, fields = several(attempt.call(words, days), 3, PLAN("wanted"))
    known = isinstance(fields, dict) and set(fields) <= set(vars(ParallelPlan()))
    PLAN.refuse_if({"device": device}, no_device=device not in PRICES, no_plan=not known)
    PLAN.refuse_if({"gpus": gpus}, no_gpus=gpus not in range(8, MOST + 1, 8))
    plan = ParallelPlan(**fields)
    job = TrainingJob(MODELS["llama3-70b"], ACCELERATORS[device], 8192, 512)
    PLAN.refuse_if({"ranks": plan.ranks, "gpus": gpus}, ranks=plan.ranks != gpus)
    eight = plan.precision == "fp8" and device == "A100"
    reason = refusal(job, plan)
    PLAN.refuse_if({"reason": reason}, eight_bits=eight, refused=reason)
    cost = bill(job, planned(job, plan), words, PRICES[device])
    values = {"took": f"{cost.days:.1f}", "days": days, "dollars": f"{cost.dollars:,.0f}"}
    values["goal"] = f"{GOAL:,.0f}"
    PLAN.refuse_if(values, late=cost.days > days, dear=cost.dollars > GOAL)
    attempt.note(cost.dollars)
