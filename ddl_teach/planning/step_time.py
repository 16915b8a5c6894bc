"""How long a step of a training should take: its parts in seconds, from one set of assumptions.

A processor does products at a share of its peak that its kind can reach, and what is done number
by number at the rate of its memory. Messages go at a share of the vendor's rates; the cards of a
node are shared by its ranks. What sharded data parallelism sends is hidden behind computing as far
as it fits; what tensor parallelism and a pipeline's gradients send is not.

Formulas: Narayanan et al. 2021 (floating-point operations, bubble), Korthikanti et al. 2022 (what
is recomputed), Rajbhandari et al. 2020 (what sharding sends), Dao et al. 2022 (attention that
writes no scores). What to look at: the assumptions were fitted on a tenth of 336 published runs,
and `benchmarks/published_runs.py` keeps how far the others are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ddl_teach.planning.sizes import TrainingJob, ParallelPlan


@dataclass(frozen=True)
class Assumptions:
    """Everything that no table says. The first rows are fitted, the last ones are cited."""

    a100: float = 0.75  # share of the peak that dense products reach, 16-bit
    h100: float = 0.55
    v100: float = 0.5
    fp8: float = 0.5  # of the doubled peak, on an H100
    tf32: float = 0.35  # on an A100, only for the benchmark's ResNet-50
    fp32: float = 0.95  # on a V100, as tf32
    attention: float = 0.4  # of what products reach: attention that writes no scores
    number_by_number: float = 40.0  # bytes moved a layer for each number of a layer's input
    compiled: float = 0.5  # what is left of them when kernels are fused
    scores: float = 6.0  # bytes moved for each score of attention that writes them
    recomputed: float = 0.8  # of a forward pass, with full recomputation
    accumulated: float = 60.0  # bytes a weight and micro-batch, where gradients are added apart
    between_nodes: float = 0.4  # share of the cards' rate
    image: float = 0.38e9  # bytes that ResNet-50 moves for an image, 16-bit
    inside_node: float = 0.78  # share of the vendor's rate: 234 of 300 GB/s by nccl-tests (stas00)
    memory: float = 0.8  # share of the vendor's rate of the memory
    masked: float = 0.156  # BERT predicts 20 words of 128, 80 of 512: only these reach the head


@dataclass(frozen=True)
class StepTime:
    """The seconds of a step, by where they go."""

    products: float
    number_by_number: float
    head: float = 0.0
    again: float = 0.0  # recomputation
    tensor_messages: float = 0.0
    accumulation: float = 0.0
    bubble: float = 0.0
    gradients: float = 0.0  # messages of data parallelism that nothing hides
    optimizer: float = 0.0

    @property
    def total(self) -> float:
        return sum(getattr(self, field.name) for field in fields(self))


def dense_share(kind: str, assumed: Assumptions) -> float:
    """The share of the peak that large products of 16 bits reach; later kinds as an H100."""
    return {"A100": assumed.a100, "A800": assumed.a100, "V100": assumed.v100}.get(
        kind, assumed.h100
    )


def step_time(job: TrainingJob, plan: ParallelPlan, assumed: Assumptions) -> StepTime:
    """What a step of this job should take by this plan."""
    model, device, software = job.model, job.accelerator, job.software
    share = dense_share(device.name, assumed)
    rate = device.peak * (2 * assumed.fp8 if plan.precision == "fp8" else share)
    memory = assumed.memory * device.memory_rate
    words = plan.micro_batch * job.sequence
    layers = model.layers / plan.pipeline
    turns = plan.turns(job)

    # one layer, one micro-batch, forward
    products = 2 * words * model.layer_weights / plan.tensor / rate
    pairs = 0.5 if model.causal and not software.scores_kept else 1.0
    attention = 4 * words * job.sequence * model.attention_width / plan.tensor * pairs
    attention /= device.peak * share * (0.6 if software.scores_kept else assumed.attention)
    # Between two split products all of it is done on every rank, or a part of the text.
    split = 1 / plan.tensor if software.split_sequence else (1 + 2 / plan.tensor) / 3
    moved = assumed.number_by_number * 2 * words * model.hidden * split
    moved *= assumed.compiled if software.fused else 1.0
    scores = plan.micro_batch * model.heads * job.sequence**2 / plan.tensor
    kept = 2 * assumed.scores * scores * software.scores_kept
    elementwise = (moved + kept) / memory
    forward = products + attention + elementwise

    again = {
        "none": 0.0,
        "operators": 0.2 * forward,
        "selective": attention + kept / memory,
        "full": assumed.recomputed * forward,
    }[plan.recompute]

    # messages of tensor parallelism: two sums of the layer's input forward, two backward
    inside = assumed.inside_node * device.inside_rate
    sums = 4 + 2 * (plan.recompute == "full")
    sent = sums * ring(2 * 2 * words * model.hidden, plan.tensor) / inside
    sent *= not software.hidden_sums

    head = 3 * model.predicted * words * model.vocabulary / plan.tensor
    head *= 2 * model.hidden / rate + 8 / memory
    held = model.weights / plan.tensor / plan.pipeline
    added = held * assumed.accumulated / memory * (software.added_apart and turns > 1)
    micro = layers * (3 * forward + again + sent) + added
    state = held / (plan.data if plan.sharding else 1)

    return StepTime(
        products=turns * layers * 3 * (products + attention),
        number_by_number=turns * layers * 3 * elementwise,
        head=turns * head,
        again=turns * layers * again,
        tensor_messages=turns * layers * sent,
        accumulation=turns * added,
        bubble=(plan.pipeline - 1) * micro / plan.interleaved,
        gradients=exposed_gradients(job, plan, assumed, micro + head),
        optimizer=state * 28 / memory,
    )


def ring(nbytes: float, ranks: float) -> float:
    """What each rank of a ring sends."""
    return (ranks - 1) / ranks * nbytes


def rate_along(job: TrainingJob, stride: float, ranks: float, assumed: Assumptions) -> float:
    """Bytes a second of a ring whose neighbours are `stride` ranks apart; the rings of a node's
    ranks share its cards."""
    device = job.accelerator
    inside = assumed.inside_node * device.inside_rate
    if stride * ranks <= device.ranks_a_node:
        return inside
    cards = assumed.between_nodes * device.node_rate
    return min(inside, cards / min(stride, device.ranks_a_node))


def exposed_gradients(
    job: TrainingJob, plan: ParallelPlan, assumed: Assumptions, micro: float
) -> float:
    """The seconds of data parallelism's messages that computing does not hide.

    Sharded weights are gathered twice and gradients scattered once for every micro-batch, behind
    its computing. In a pipeline gradients are reduced at the end of a step.
    """
    held = 2 * job.model.weights / plan.tensor / plan.pipeline  # bytes
    rate = rate_along(job, plan.tensor, plan.sharers, assumed)
    if plan.sharding == 3:
        return plan.turns(job) * max(0.0, 3 * ring(held, plan.sharers) / rate - micro)
    reduced = 2 * ring(held, plan.sharers) / rate
    if job.software.hidden_gradients:
        return max(0.0, reduced - micro * plan.turns(job) / 3)
    return reduced
