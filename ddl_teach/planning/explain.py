"""A plan in lines: each number beside where it comes from, and how far to trust it."""

from collections.abc import Iterator

from ddl_teach.planning.memory import GRADIENT, RESERVED, STATE, WEIGHT
from ddl_teach.planning.plans import PlannedStep
from ddl_teach.planning.sizes import ParallelPlan, TrainingJob
from ddl_teach.planning.step_time import FITTED, StepTime, dense_share

RUNS, MEDIAN_ERROR, WITHIN_A_QUARTER = 336, 0.051, 0.976  # benchmarks/results/published_runs.txt
REASONS = {
    "number by number": f"{FITTED.number_by_number:.0f} bytes a layer and number (fitted)",
    "head": "scores of all words of the vocabulary",
    "again": "what is recomputed",
    "tensor messages": "4 sums of a layer's input, at 78% of the vendor's rate (nccl-tests)",
    "context messages": "keys and values gathered twice, gradients scattered",
    "expert messages": "rows to experts and back, as far as computing does not hide them",
    "accumulation": "gradients added apart",
    "bubble": "waiting in the pipeline, theory.pipelines",
    "gradients": f"not hidden by computing, {FITTED.between_nodes:.0%} of the cards (fitted)",
    "optimizer": "28 bytes a weight, at 80% of the memory's rate",
}

SENT = {  # by stage, if gradients or weights are not whole
    2: "gradients are scattered after each of them; weights are gathered once in a step, and stay",
    3: "before each of them weights are gathered twice, for both ways; gradients are scattered",
}


def plan_text(plan: ParallelPlan) -> str:
    """In one line: "data 128, tensor 8, pipeline 16 by 1F1B, stage 1, micro-batch 1"."""
    axes = ("data", "tensor", "context", "expert", "pipeline")
    parts = [f"{axis} {getattr(plan, axis)}" for axis in axes if getattr(plan, axis) > 1]
    if plan.pipeline > 1:
        parts[-1] += f" by {plan.schedule}" + f" ({plan.interleaved})" * (plan.interleaved > 1)
    groups = f" in groups of {plan.group}" if plan.group else ""
    again = f"recompute {plan.recompute}, {plan.precision}, micro-batch {plan.micro_batch}"
    return ", ".join([*parts, f"stage {plan.sharding}{groups}", again])


def limit(time: StepTime) -> str:
    """What limits the step: its largest part besides products."""
    parts = {name: seconds for name, seconds in vars(time).items() if name != "products"}
    return max(parts, key=parts.__getitem__).replace("_", " ")


def explained(job: TrainingJob, step: PlannedStep) -> Iterator[str]:
    """The lines."""
    plan, held, time, device = step.plan, step.held, step.time, job.accelerator
    share = FITTED.fp8 if plan.precision == "fp8" else dense_share(device.name, FITTED)
    yield f"{plan.ranks} {device.name}: {plan_text(plan)}"
    yield f"{plan.turns(job):g} micro-batches of {plan.micro_batch} x {job.sequence:g} words"
    yield SENT.get(plan.sharding, "gradients are added up, and reduced once in a step") + "\n"
    yield f"memory of a rank {(held.total + RESERVED) / 1e9:8.1f} GB of {device.memory / 1e9:g}"
    cut = [f", / {plan.sharers} by stage {stage}" * (stage <= plan.sharding) for stage in range(4)]
    for name, nbytes, source in (
        ("weights", held.weights, f"{WEIGHT} bytes a weight" + cut[3]),
        ("gradients", held.gradients, f"{GRADIENT} bytes, for single precision" + cut[2]),
        ("states", held.states, f"{STATE} bytes: weight and two moments of Adam" + cut[1]),
        ("activations", held.activations, f"Korthikanti et al. 2022, recompute {plan.recompute}"),
        ("besides", RESERVED, "the median of what published runs held beyond these formulas"),
    ):
        yield f"  {name:14} {nbytes / 1e9:8.1f} GB  {source}"
    yield f"\na step takes     {time.total:8.3f} s"
    of_products = f"6 operations a weight and word, at {share:.0%} of the peak (fitted)"
    for field, seconds in vars(time).items():
        name = field.replace("_", " ")
        if seconds:
            where = REASONS.get(name, of_products)
            yield f"  {name:16} {seconds:8.3f} s {seconds / time.total:6.1%}  {where}"
    yield f"\nmodel FLOPs utilisation {step.mfu:.1%}; most of the rest is {limit(time)}"
    yield (
        f"trust: of {RUNS} published runs {WITHIN_A_QUARTER:.1%} were predicted within 25%, half "
        f"within {MEDIAN_ERROR:.1%}; none had experts, context, gradients sharded in a pipeline, "
        "or more than 3,584 accelerators"
    )
