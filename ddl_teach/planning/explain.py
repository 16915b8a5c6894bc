"""A plan in lines: each number beside where it comes from, and how far to trust it."""

from collections.abc import Iterator

from ddl_teach.planning.memory import RESERVED
from ddl_teach.planning.plans import PlannedStep
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob
from ddl_teach.planning.step_time import FITTED, Assumptions, StepTime, dense_share

RUNS, MEDIAN_ERROR, WITHIN_A_QUARTER = 336, 0.051, 0.976  # benchmarks/results/published_runs.txt
NAMES = {"group": "in groups of", "sharding": "stage", "interleaved": "pieces a rank"}


def grid_text(plan: ParallelPlan) -> str:
    """What differs from one rank: "data 128, tensor 8, pipeline 16 by 1F1B, stage 1"."""
    parts = []
    for name, value in vars(plan).items():
        plain = name == "schedule" or (value in (0, 1) and name not in ("sharding", "micro_batch"))
        if name in ("recompute", "precision"):
            parts.append(f"recompute {value}" if name == "recompute" else value)
        elif not plain:
            parts.append(f"{NAMES.get(name, name).replace('_', '-')} {value}")
        if name == "pipeline" and value > 1:
            parts[-1] += f" by {plan.schedule}"
    return ", ".join(parts)


def limit(time: StepTime) -> str:
    """What limits the step: its largest part besides products."""
    parts = {name: seconds for name, seconds in vars(time).items() if name != "products"}
    return max(parts, key=lambda name: parts[name]).replace("_", " ")


def explained(job: TrainingJob, step: PlannedStep, assumed: Assumptions = FITTED) -> Iterator[str]:
    """The lines."""
    plan, held, time, device = step.plan, step.held, step.time, job.accelerator
    share = assumed.fp8 if plan.precision == "fp8" else dense_share(device.name, assumed)
    yield f"{plan.ranks} {device.name}: {grid_text(plan)}"
    yield f"{plan.turns(job):g} micro-batches of {plan.micro_batch} x {job.sequence:g} words"
    yield ""
    whole = (held.total + RESERVED) / 1e9
    yield f"memory of a rank {whole:8.1f} GB of {device.memory / 1e9:g}"
    shards = {stage: f", / {plan.sharers} by stage {stage}" for stage in (1, 2, 3)}
    cut = [stage <= plan.sharding for stage in (1, 2, 3)]
    sources = {
        "weights": (held.weights, "2 bytes a weight" + shards[3] * cut[2]),
        "gradients": (held.gradients, "4 bytes, added in single precision" + shards[2] * cut[1]),
        "states": (held.states, "12 bytes: weight and two moments of Adam" + shards[1] * cut[0]),
        "activations": (held.activations, f"Korthikanti et al. 2022, recompute {plan.recompute}"),
        "besides": (RESERVED, "median of published runs beyond these formulas"),
    }
    for name, (nbytes, source) in sources.items():
        yield f"  {name:14} {nbytes / 1e9:8.1f} GB  {source}"
    yield ""
    yield f"a step takes     {time.total:8.3f} s"
    between = f"{assumed.between_nodes:.0%} of the cards (fitted)"
    reasons = {
        "products": f"6 operations a weight and word, {share:.0%} of the peak (fitted)",
        "number_by_number": f"{assumed.number_by_number:.0f} bytes a layer (fitted), 80% of the "
        "memory's rate",
        "head": "scores of all words of the vocabulary",
        "again": f"recompute {plan.recompute}",
        "tensor_messages": "4 sums of a layer's input, 78% of the vendor's rate (nccl-tests)",
        "context_messages": "keys and values gathered twice, gradients scattered",
        "expert_messages": "rows to experts and back, what computing does not hide",
        "accumulation": "gradients added apart",
        "bubble": f"{plan.schedule}: theory.pipelines, for {plan.pipeline} stages",
        "gradients": f"what the backward pass does not hide, {between}",
        "optimizer": "28 bytes a weight of the rank's share",
    }
    for name, seconds in vars(time).items():
        if seconds:
            part = f"{seconds:8.3f} s {seconds / time.total:6.1%}"
            yield f"  {name.replace('_', ' '):16} {part}  {reasons[name]}"
    yield ""
    yield f"model FLOP utilisation {step.mfu:.1%}; besides products most goes to the {limit(time)}"
    yield (
        f"trust: of {RUNS} published runs {WITHIN_A_QUARTER:.1%} were predicted within 25%, half "
        f"within {MEDIAN_ERROR:.1%}; none had experts, context or more than 3,584 accelerators"
    )
