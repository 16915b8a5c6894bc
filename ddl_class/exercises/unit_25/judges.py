"""The judges of unit 25: grids that divide, and the cheapest plan for a model, a date and a
budget."""

from ddl_class.exercises.kit import Attempt, texts
from ddl_class.exercises.kit.answers import several, whole_rows
from ddl_teach.planning.bill import bill
from ddl_teach.planning.plans import planned, refusal
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob
from ddl_teach.theory.grids.grid import divisors

GRIDS, PLAN = texts(__package__, "grids", "plan")
PRICES = {"A100": 1.2, "H100": 2.2, "H200": 2.8, "MI300X": 2.4}  # of this puzzle, dollars an hour
MOST, GOAL = 2048, 0.95e6  # accelerators, and dollars


def judge_grids(attempt: Attempt) -> None:
    """All (data, tensor, pipeline) that divide."""
    drawn = (*(12 * attempt.generator.integers(1, 7, 4)).tolist(),)
    for gpus, heads, layers, batch in ((96, 12, 8, 48), (48, 6, 12, 24), (1, 1, 1, 1), drawn):
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
    step = planned(job, plan)
    cost = bill(job, step, words, PRICES[device])
    values = {"took": f"{cost.days:.1f}", "days": days, "dollars": f"{cost.dollars:,.0f}"}
    values["goal"] = f"{GOAL:,.0f}"
    PLAN.refuse_if(values, late=cost.days > days, dear=cost.dollars > GOAL)
    held, room = step.held.total / 1e9, job.accelerator.memory / 1e9
    attempt.note(cost.dollars, PLAN("holds", held=held, room=room))
