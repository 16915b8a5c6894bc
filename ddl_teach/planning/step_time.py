"""How long a step of a training should take: its parts in seconds, from one set of assumptions.

A processor does products at a share of its peak that its kind can reach. What is done number by
number runs at the rate of its memory. Messages go at a share of the vendor's rates; the cards of a
node are shared by its ranks. What sharded data parallelism sends is hidden behind computing as far
as it fits, and rows on their way to experts behind another micro-batch; what tensor parallelism
and context parallelism send is not. From stage 2 on that is counted in each micro-batch, also of a
pipeline: what is not hidden there makes its bubble longer. Messages between stages are left out.

Formulas: Narayanan et al. 2021 (floating-point operations, bubble), Korthikanti et al. 2022 (what
is recomputed), Rajbhandari et al. 2020 (what sharding sends), Dao et al. 2022 (attention that
writes no scores). What to look at: the assumptions were fitted on a tenth of 336 published runs,
and `benchmarks/published_runs.py` keeps how far the others are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ddl_teach.planning.sizes import ParallelPlan, TrainingJob


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
    context_messages: float = 0.0  # keys and values of the other parts of a text
    expert_messages: float = 0.0  # rows to experts and back, that nothing hides
    accumulation: float = 0.0
    bubble: float = 0.0
    gradients: float = 0.0  # messages of data parallelism that nothing hides
    optimizer: float = 0.0

    @property
    def total(self) -> float:
        return float(sum(vars(self).values()))


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
    words = plan.micro_batch * job.sequence / plan.context
    layers = model.layers / plan.pipeline  # in the mean: where one has less, it has the head
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
    scores = words * job.sequence * model.heads / plan.tensor
    kept = 2 * assumed.scores * scores * software.scores_kept
    elementwise = (moved + kept) / memory
    forward = products + attention + elementwise

    again = {
        "none": 0.0,
        "norms": moved / memory,
        "operators": 0.2 * forward,
        "selective": attention + kept / memory,
        "full": assumed.recomputed * forward,
    }[plan.recompute]

    # messages of tensor parallelism: two sums of the layer's input forward, two backward
    sums = 4 + 2 * (plan.recompute == "full")
    sent = sums * ring(2 * 2 * words * model.hidden, plan.tensor)
    sent *= (not software.hidden_sums) / rate_along(job, 1, plan.tensor, assumed)
    # of context: all keys and values are gathered twice, and their gradients scattered
    pair = 2 * model.attention_width * model.heads_of_keys / model.heads / plan.tensor
    sent_round = 3 * ring(2 * plan.context * words * pair, plan.context)
    sent_round /= rate_along(job, plan.tensor, plan.context, assumed)
    # of experts: rows go there and back, twice; what leaves a node has the rank's own card, and
    # one copy for each node, which passes it on inside
    far = plan.expert * plan.tensor * plan.context > device.ranks_a_node
    copies = min(model.chosen, far * model.nodes_of_a_word or model.chosen)
    away = 4 * ring(2 * words * model.hidden * copies / plan.tensor, plan.expert)
    away /= rate_along(job, device.ranks_a_node if far else 1, plan.expert, assumed)
    away = max(0.0, away - 3 * forward - again)

    head = 3 * model.predicted * words * model.vocabulary / plan.tensor
    head *= 2 * model.hidden / rate + 8 / memory
    held = held_weights(job, plan)
    added = held * assumed.accumulated / memory * (software.added_apart and turns > 1)
    messages = sent + sent_round + away
    micro = layers * (3 * forward + again + messages) + added
    # `theory.pipelines`: a zero bubble is filled with gradients of weights, which take `products`
    bubble = micro / plan.interleaved
    if plan.schedule == "zero bubble":
        ahead = layers * (forward + messages / 2)
        bubble = ahead + max(0.0, micro - ahead - 2 * layers * products)
    state = held / (plan.sharers if plan.sharding else 1)
    each, once = exposed_gradients(job, plan, assumed, micro + head)

    return StepTime(
        products=turns * layers * 3 * (products + attention),
        number_by_number=turns * layers * 3 * elementwise,
        head=turns * head,
        again=turns * layers * again,
        tensor_messages=turns * layers * sent,
        context_messages=turns * layers * sent_round,
        expert_messages=turns * layers * away,
        accumulation=turns * added,
        bubble=(plan.pipeline - 1) * (bubble + each / plan.interleaved),
        gradients=turns * each + once,
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


def held_weights(job: TrainingJob, plan: ParallelPlan) -> float:
    """The weights of a rank before data parallelism shards them; those of experts are spread."""
    experts = job.model.expert_weights
    return (job.model.weights - experts + experts / plan.expert) / plan.tensor / plan.pipeline


def exposed_gradients(
    job: TrainingJob, plan: ParallelPlan, assumed: Assumptions, micro: float
) -> tuple[float, float]:
    """The seconds of data parallelism's messages that computing does not hide: in each
    micro-batch, and once in a step.

    In stage 3 weights are gathered twice and gradients scattered once for every micro-batch,
    behind its computing; groups that share nothing with each other add up at the end, behind the
    last backward pass. In stage 2 weights are gathered once, and stay. Below it gradients are
    added up where they are, and reduced behind the backward passes of a step.
    """
    shares, turns = plan.sharers, plan.turns(job)
    replicas = plan.data * plan.context
    held = 2 * held_weights(job, plan)  # bytes
    own = 2 * job.model.expert_weights / plan.expert / plan.tensor / plan.pipeline

    def seconds(times: float, ranks: float) -> float:
        rate = rate_along(job, plan.tensor, ranks, assumed)
        experts = ring(own, max(1.0, ranks / plan.expert))
        return times * (ring(held - own, ranks) + experts) / rate

    if plan.sharding == 3:
        apart = (
            2
            * ring(held / shares, replicas / shares)
            / (rate_along(job, plan.tensor * shares, replicas / shares, assumed))
        )
        return max(0.0, seconds(3, shares) - micro), max(0.0, apart - 2 / 3 * micro)
    if plan.sharding == 2:
        scattered = max(0.0, seconds(1, shares) - 2 / 3 * micro)
        return scattered, max(0.0, seconds(1, shares) - micro / 3)
    hidden = micro * turns / 3 * job.software.hidden_gradients
    return 0.0, max(0.0, seconds(2, replicas) - hidden)


# Fitted by `benchmarks/published_runs.py`, which keeps them to all digits.
FITTED = Assumptions(
    a100=0.73642, h100=0.52090, v100=0.43514, fp8=0.45918, tf32=0.21617, fp32=0.92031,
    attention=0.33662, number_by_number=41.2516, compiled=0.80964, scores=6.71029,
    recomputed=0.74625, accumulated=71.4619, between_nodes=0.40594, image=342_884_416,
)  # fmt: skip
