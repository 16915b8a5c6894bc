"""The judges of unit 25 on a plan: a rank's memory, the bubble, utilisation, grids that divide;
and the puzzle: the cheapest plan for a model, a date and a budget."""

from itertools import product

from ddl_class.exercises.kit import Attempt, ask, items, several, texts, whole
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
        weights, parts = 1e9, (2, 4, 12)
        cut = [sharers if stage >= least else 1 for least in (3, 2, 1)]
        right, turned = (
            weights * sum(part / by for part, by in zip(parts, order, strict=True))
            for order in (cut, cut[::-1])
        )
        ask(attempt, STATES, (weights, stage, sharers), right).compare(
            all_cut=weights * 18 / sharers, none_cut=weights * 18, turned=turned
        )


def judge_kept(attempt: Attempt) -> None:
    """Bytes of activations on the first stage."""
    for given in ((96, 1024, 64, 8, 8, 4), (8, 64, 32, 2, 4, 9)):
        layers, width, words, tensor, stages, turns = given
        each = 34 * words * width / tensor * layers / stages
        right = each * min(turns, stages)
        ask(attempt, KEPT, given, right).compare(
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
        answer = attempt.call(gpus, heads, layers, batch)
        grids = set(items(answer, GRIDS("wanted"), lambda grid: tuple(map(whole, grid))))
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
