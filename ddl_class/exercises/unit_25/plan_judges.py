"""The judges of unit 25 on a plan: a rank's memory, the bubble, utilisation, grids that divide;
and the puzzle: the cheapest plan for a model, a date and a budget."""

from itertools import product

from ddl_class.exercises.exercise import Attempt
from ddl_class.exercises.kit.answers import items, number, several, whole
from ddl_class.exercises.kit.compare import compare
from ddl_class.exercises.kit.texts import texts
from ddl_teach.planning.bill import bill
from ddl_teach.planning.plans import planned, refusal
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob
from ddl_teach.theory.grids.grid import divisors

STATES, KEPT, BUBBLE, MFU, GRIDS, PLAN = texts(
    __package__, "states", "activations", "bubble", "mfu", "grids", "plan"
)
PRICES = {"A100": 1.2, "H100": 2.2, "H200": 2.8, "MI300X": 2.4}  # of this puzzle, dollars an hour
MOST, GOAL = 2048, 0.95e6  # accelerators, and dollars


def judge_states(attempt: Attempt) -> None:
    """Bytes of weights, gradients and states by stage."""
    for stage, sharers in product(range(4), (1, 8, 64)):
        weights = 1e9
        parts = (2, 4, 12)
        cut = [sharers if stage >= least else 1 for least in (3, 2, 1)]
        usual = STATES.each(
            all_cut=weights * 18 / sharers, none_cut=weights * 18,
            turned=weights * sum(p / c for p, c in zip(parts, cut[::-1], strict=True)),
        )  # fmt: skip
        right = weights * sum(part / by for part, by in zip(parts, cut, strict=True))
        result = number(attempt.call(weights, stage, sharers), STATES("wanted"))
        compare(
            STATES("call", stage=stage, sharers=sharers), result, right, usual, STATES("other")
        )


def judge_kept(attempt: Attempt) -> None:
    """Bytes of activations on the first stage."""
    for layers, width, words, tensor, stages, turns in (
        (96, 1024, 64, 8, 8, 4),
        (8, 64, 32, 2, 4, 9),
    ):
        each = 34 * words * width / tensor * layers / stages
        usual = KEPT.each(
            all_turns=each * turns, once=each, not_split=each * min(turns, stages) * tensor
        )
        result = number(attempt.call(layers, width, words, tensor, stages, turns), KEPT("wanted"))
        call = KEPT("call", stages=stages, turns=turns)
        compare(call, result, each * min(turns, stages), usual, KEPT("other"))


def judge_bubble(attempt: Attempt) -> None:
    """The share of a step in which a rank waits."""
    for stages, turns, pieces in ((16, 16, 1), (4, 8, 1), (16, 32, 8), (1, 4, 1)):
        waits = (stages - 1) / pieces
        usual = BUBBLE.each(
            of_work=waits / turns, plain=(stages - 1) / (turns + stages - 1), all_stages=stages
            / pieces / (turns + stages / pieces),
        )  # fmt: skip
        result = number(attempt.call(stages, turns, pieces), BUBBLE("wanted"))
        call = BUBBLE("call", stages=stages, turns=turns, pieces=pieces)
        compare(call, result, waits / (turns + waits), usual, BUBBLE("other"))


def judge_mfu(attempt: Attempt) -> None:
    """The model's operations over those that were possible."""
    for given in ((405e9, 16.8e6, 6.5, 16_384, 989e12), (1e9, 1e6, 2.0, 8, 312e12)):
        weights, words, seconds, gpus, peak = given
        right = 6 * weights * words / (seconds * gpus * peak)
        usual = MFU.each(
            forward=right / 3, recomputed=right * 4 / 3, one_gpu=right * gpus, upside=1 / right
        )
        call = MFU("call", weights=weights, gpus=gpus)
        compare(call, number(attempt.call(*given), MFU("wanted")), right, usual, MFU("other"))


def judge_grids(attempt: Attempt) -> None:
    """All (data, tensor, pipeline) that divide."""
    for gpus, heads, layers, batch in ((96, 12, 8, 48), (48, 6, 12, 24), (1, 1, 1, 1)):
        right = {
            (gpus // t // p, t, p) for t in divisors(heads) for p in divisors(layers)
            if t <= 8 and gpus % (t * p) == 0 and batch % (gpus // t // p) == 0
        }  # fmt: skip
        result = items(
            attempt.call(gpus, heads, layers, batch),
            GRIDS("wanted"),
            lambda grid: tuple(map(whole, grid)),
        )
        grids = set(result)
        wrong, missing = min(grids - right, default=()), min(right - grids, default=())
        values = {"gpus": gpus, "wrong": wrong, "missing": missing, "heads": heads}
        values |= {"layers": layers, "batch": batch}
        wide = any(len(grid) == 3 and grid[1] > 8 for grid in grids)
        GRIDS.refuse_if(values, wide=wide, wrong=wrong, missing=missing)


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
