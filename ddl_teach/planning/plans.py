"""All plans of a job on its accelerators: the fastest first, and why others cannot be.

There are some twenty thousand, and each is two formulas, so all are computed. What to look at:
many lie within the error of the prediction. A planner says which few to try, not which is best.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil

from ddl_teach.planning.memory import RESERVED, held_bytes
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob, TransformerSizes
from ddl_teach.planning.step_time import FITTED, StepTime, step_time
from ddl_teach.theory.grids.grid import divisors
from ddl_teach.theory.inputs import count
from ddl_teach.theory.memory import HeldBytes
from ddl_teach.theory.utilisation import utilisation

SPARE = 3  # layers that a pipeline's stages may lack: one has the embedding, one the head


@dataclass(frozen=True)
class PlannedStep:
    """A plan with what it needs, and the share of the peak that the model's operations get."""

    plan: ParallelPlan
    held: HeldBytes
    time: StepTime
    mfu: float

    @property
    def grid(self) -> tuple[float, ...]:
        """The ranks along data, tensor, context, expert and pipeline."""
        return tuple(vars(self.plan).values())[:5]

    def order(self) -> tuple[float, int]:
        """The faster one first, of two alike the smaller one."""
        return self.time.total, self.held.total


@dataclass(frozen=True)
class Ranking:
    """Plans that can be, the fastest first, and how many others could not, by reason."""

    possible: tuple[PlannedStep, ...]
    refused: Counter[str]

    @property
    def grids(self) -> list[PlannedStep]:
        """The fastest plan of each grid; the first one is the best of all."""
        if not self.possible:
            reasons = "; ".join(f"{n} plans: {why}" for why, n in self.refused.most_common())
            raise ValueError(f"no plan can train this. {reasons or 'There is no grid at all'}")
        first: dict[tuple[float, ...], PlannedStep] = {}
        for step in self.possible:
            first.setdefault(step.grid, step)
        return list(first.values())


def work_of_a_word(model: TransformerSizes, sequence: float) -> float:
    """Weights that a word meets, and pairs of words counted as weights: operations are 6 times."""
    looked_up = 0.0 if model.tied else model.vocabulary * model.hidden
    pairs = model.layers * model.attention_width * sequence * (1 if model.causal else 2)
    return model.active - looked_up + pairs


def planned(job: TrainingJob, plan: ParallelPlan) -> PlannedStep:
    """This plan's memory, time and model FLOPs utilisation, whether it can be or not."""
    time = step_time(job, plan, FITTED)
    work, words = work_of_a_word(job.model, job.sequence), job.global_batch * job.sequence
    peak = job.accelerator.peak * (2 if plan.precision == "fp8" else 1)
    mfu, _ = utilisation(work, words, time.total, int(plan.ranks), peak, False, False)
    return PlannedStep(plan, held_bytes(job, plan), time, float(mfu))


def rank_plans(job: TrainingJob, gpus: int, precision: str = "bf16", **only: object) -> Ranking:
    """All plans; `only` holds fields of a plan to values, such as `tensor=8`."""
    if unknown := set(only) - set(vars(ParallelPlan())):
        names = ", ".join(vars(ParallelPlan()))
        raise ValueError(f"a plan has no {', '.join(sorted(unknown))}; it has {names}")
    if precision not in ("bf16", "fp8"):
        raise ValueError(f"precision={precision!r} must be 'bf16' or 'fp8'")
    if precision == "fp8" and job.accelerator.name == "A100":
        raise ValueError("an A100 cannot multiply in 8 bits: take precision='bf16', or an H100")
    refused: Counter[str] = Counter()
    possible = []
    plans = list(every_plan(job, count("gpus", gpus), precision))
    held = ""
    for name, value in only.items():
        values = dict.fromkeys(getattr(plan, name) for plan in plans)
        if value not in values:
            raise ValueError(f"no plan has {name}={value}{held}: take one of {[*values]}")
        held += f" beside {name}={value}"
        plans = [plan for plan in plans if getattr(plan, name) == value]
    for plan in plans:
        if reason := refusal(job, plan):
            refused[reason] += 1
        else:
            possible.append(planned(job, plan))
    return Ranking(tuple(sorted(possible, key=PlannedStep.order)), refused)


def refusal(job: TrainingJob, plan: ParallelPlan) -> str:
    """Why this plan cannot be; empty if it can."""
    layers, pieces = job.model.layers, plan.pipeline * plan.interleaved
    if job.model.heads % plan.tensor:
        return "tensor does not divide the heads"
    if ceil(layers / pieces) * pieces - layers > SPARE * (pieces > 1):
        return "stages do not divide the layers"
    if job.global_batch % (plan.data * plan.micro_batch):
        return "data times micro-batch does not divide the batch"
    if plan.interleaved > 1 and plan.turns(job) % plan.pipeline:
        return "an interleaved pipeline wants micro-batches in multiples of its ranks"
    if held_bytes(job, plan).total + RESERVED > job.accelerator.memory:
        return "a rank would hold more than it has"
    return ""


def every_plan(job: TrainingJob, gpus: int, precision: str) -> Iterator[ParallelPlan]:
    """Also those that cannot be."""
    node, model = int(job.accelerator.ranks_a_node), job.model
    recomputes = ["none", "norms", *["selective"] * job.software.scores_kept, "full"]
    for tensor, context in product(divisors(node), (1, 2, 4, 8, 16)):
        if gpus % (tensor * context) or context * 2048 > max(job.sequence, 2048):
            continue
        for pipeline in divisors(gpus // tensor // context):
            if pipeline > min(model.layers, 128):
                continue
            data = gpus // tensor // context // pipeline
            ways, sharding = [("1F1B", 1)], [(stage, 0) for stage in range(4)]
            if pipeline > 1:
                pieces = [v for v in (2, 3, 4, 6, 8, 12) if v * pipeline <= model.layers + SPARE]
                ways += [("zero bubble", 1), *(("interleaved", v) for v in pieces)]
            else:
                groups = [g for g in (node, 8 * node) if g < data and data % g == 0]
                sharding += [(3, group) for group in groups]
            experts = [e for e in divisors(data) if model.experts % e == 0 or e == 1]
            for expert, way, shards, recompute, micro in product(
                experts if model.experts else [1], ways, sharding, recomputes, (1, 2, 4, 8)
            ):
                grid = data, tensor, context, expert, pipeline
                yield ParallelPlan(*grid, *way, *shards, recompute, precision, micro)
