"""All plans of a job on so many accelerators: the fastest first, and why others cannot be.

There are some ten thousand, and each is two formulas, so all are computed. What to look at: many
lie within the error of the prediction. A planner says which few to try, not which one is best.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil

from ddl_teach.planning.memory import RESERVED, held_bytes
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob, TransformerSizes
from ddl_teach.planning.step_time import FITTED, Assumptions, StepTime, step_time
from ddl_teach.theory.grids.grid import divisors
from ddl_teach.theory.inputs import count
from ddl_teach.theory.memory import HeldBytes
from ddl_teach.theory.utilisation import utilisation

SPARE_LAYERS = (
    3  # a pipeline's stages may lack so many layers: one has the embedding, one the head
)


@dataclass(frozen=True)
class PlannedStep:
    """A plan with what it needs, and the share of the peak that the model's operations get."""

    plan: ParallelPlan
    held: HeldBytes
    time: StepTime
    mfu: float


@dataclass(frozen=True)
class Ranking:
    """Plans that can be, the fastest first, and how many others could not, by reason."""

    possible: tuple[PlannedStep, ...]
    refused: Counter[str]

    @property
    def best(self) -> PlannedStep:
        """The fastest, or an error that says what stands in the way."""
        if self.possible:
            return self.possible[0]
        reasons = "; ".join(
            f"{number} plans: {why}" for why, number in self.refused.most_common(3)
        )
        raise ValueError(f"no plan can train this: {reasons or 'there is no grid at all'}")

    def place(self, grid: ParallelPlan) -> int:
        """The place of the fastest plan on the grid of this one, counting each grid once; 0 if
        none of them can be."""
        grids = list(dict.fromkeys(grid_of(step.plan) for step in self.possible))
        return grids.index(grid_of(grid)) + 1 if grid_of(grid) in grids else 0


def grid_of(plan: ParallelPlan) -> tuple[float, ...]:
    """The ranks along each axis."""
    return plan.data, plan.tensor, plan.context, plan.pipeline, plan.expert


def work_of_a_word(model: TransformerSizes, sequence: float) -> float:
    """Weights that a word meets, and pairs of words counted as weights: operations are 6 times."""
    looked_up = 0.0 if model.tied else model.vocabulary * model.hidden
    pairs = model.layers * model.attention_width * sequence * (1 if model.causal else 2)
    return model.active - looked_up + pairs


def planned(job: TrainingJob, plan: ParallelPlan, assumed: Assumptions = FITTED) -> PlannedStep:
    """This plan's memory, time and model FLOP utilisation."""
    time = step_time(job, plan, assumed)
    words = job.global_batch * job.sequence
    mfu, _ = utilisation(
        work_of_a_word(job.model, job.sequence), words, time.total, int(plan.ranks),
        job.accelerator.peak * (2 if plan.precision == "fp8" else 1), False, False,
    )  # fmt: skip
    return PlannedStep(plan, held_bytes(job, plan), time, float(mfu))


def rank_plans(
    job: TrainingJob, gpus: int, precision: str = "bf16", assumed: Assumptions = FITTED,
    **only: object,
) -> Ranking:  # fmt: skip
    """All plans; `only` holds fields of a plan to values, such as `tensor=8`."""
    fields = vars(ParallelPlan())
    if unknown := set(only) - set(fields):
        raise ValueError(f"a plan has no {', '.join(unknown)}; it has {', '.join(fields)}")
    if precision not in ("bf16", "fp8"):
        raise ValueError(f"precision={precision!r} is neither bf16 nor fp8")
    if precision == "fp8" and job.accelerator.name == "A100":
        raise ValueError("an A100 has no products in 8 bits: take bf16, or an H100")
    refused: Counter[str] = Counter()
    possible = []
    for plan in every_plan(job, gpus, precision):
        if any(getattr(plan, name) != value for name, value in only.items()):
            continue
        if reason := refusal(job, plan):
            refused[reason] += 1
        else:
            possible.append(planned(job, plan, assumed))
    possible.sort(key=seconds_then_bytes)
    return Ranking(tuple(possible), refused)


def seconds_then_bytes(step: PlannedStep) -> tuple[float, int]:
    """By what plans are in order."""
    return step.time.total, step.held.total


def refusal(job: TrainingJob, plan: ParallelPlan) -> str:
    """Why this plan cannot be; empty if it can."""
    model, pieces = job.model, plan.pipeline * plan.interleaved
    if model.heads % plan.tensor:
        return "tensor does not divide the heads"
    if ceil(model.layers / pieces) * pieces - model.layers > SPARE_LAYERS * (pieces > 1):
        return "stages do not divide the layers"
    if job.global_batch % (plan.data * plan.micro_batch):
        return "data times micro-batch does not divide the batch"
    if plan.interleaved > 1 and plan.turns(job) % plan.pipeline:
        return "an interleaved pipeline wants micro-batches in multiples of its ranks"
    if held_bytes(job, plan).total + RESERVED > job.accelerator.memory:
        return "a rank would hold more than it has"
    return ""


def every_plan(job: TrainingJob, gpus: int, precision: str) -> Iterator[ParallelPlan]:
    """Also those that cannot be. Data and context ranks hold the same weights; where there is a
    pipeline, stages 2 and 3 would send them in each micro-batch, and are left out."""
    node, model = int(job.accelerator.ranks_a_node), job.model
    recomputes = ("none", "norms", "selective" if job.software.scores_kept else "full", "full")
    for tensor, context in product(divisors(node), (1, 2, 4, 8, 16)):
        if count("gpus", gpus) % (tensor * context) or context * 2048 > max(job.sequence, 2048):
            continue
        for pipeline in divisors(gpus // tensor // context):
            if pipeline > min(model.layers, 128):
                continue
            data = gpus // tensor // context // pipeline
            ways = [("1F1B", 1)]
            if pipeline > 1:
                pieces = [v for v in (2, 3, 4, 6, 8, 12) if v * pipeline < model.layers + 4]
                ways += [("zero bubble", 1), *(("interleaved", v) for v in pieces)]
            shardings = [(0, 0), (1, 0)]
            if pipeline == 1:
                groups = {g for g in (node, 8 * node) if g < data and data % g == 0}
                shardings += [(2, 0), (3, 0), *((3, group) for group in groups)]
            experts = [e for e in divisors(data) if model.experts % e == 0 and e <= model.experts]
            for (schedule, v), (stage, group), recompute, micro, expert in product(
                ways, shardings, dict.fromkeys(recomputes), (1, 2, 4, 8),
                experts if model.experts else (1,),
            ):  # fmt: skip
                yield ParallelPlan(
                    data, tensor, context, expert, pipeline, schedule, v, stage, group, recompute,
                    precision, micro,
                )  # fmt: skip


def best_of_each(ranking: Ranking, number: int) -> list[PlannedStep]:
    """The first plans, one for each grid."""
    first: dict[tuple[float, ...], PlannedStep] = {}
    for step in ranking.possible:
        first.setdefault(grid_of(step.plan), step)
    return list(first.values())[:number]
