"""How long a step of a published training should take: its parts in seconds, from one set of
assumptions.

A processor does products at a share of its peak that its kind can reach, and what is done number
by number at the rate of its memory. Messages go at a share of the vendor's rates; the cards of a
node are shared by its ranks. What sharded data parallelism sends is hidden behind computing as far
as it fits; what tensor parallelism and a pipeline's gradients send is not.

Formulas: Narayanan et al. 2021 (floating-point operations, bubble), Korthikanti et al. 2022 (what
is recomputed), Rajbhandari et al. 2020 (what sharding sends), Dao et al. 2022 (attention that
writes no scores).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from benchmarks.published.runs import PublishedRun


@dataclass(frozen=True)
class Assumptions:
    """Everything that no table says. The first rows are fitted, the last ones are cited."""

    a100: float = 0.75  # share of the peak that dense products reach, 16-bit
    h100: float = 0.55
    v100: float = 0.5
    fp8: float = 0.5  # of the doubled peak, on an H100
    tf32: float = 0.35  # on an A100
    fp32: float = 0.95  # on a V100
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


FITTED = tuple(field.name for field in fields(Assumptions))[:14]
SCORES_KEPT = ("Megatron-LM", "Korthikanti", "BLOOM")  # before attention that writes none
COMPILED = ("MLPerf", "IBM fms-fsdp")
RESNET_OPERATIONS = 3 * 8.2e9  # forward and backward, for an image of 224 x 224


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


def step_time(run: PublishedRun, assumed: Assumptions) -> StepTime:
    """What a step of this run should take."""
    return images(run, assumed) if run.arch == "cnn" else transformer(run, assumed)


def reached(run: PublishedRun, assumed: Assumptions) -> float:
    """Operations a second that large dense products reach."""
    odd = {"fp8": assumed.fp8, "tf32": assumed.tf32, "fp32": assumed.fp32}
    return run.peak * odd.get(run.precision, dense_share(run, assumed))


def dense_share(run: PublishedRun, assumed: Assumptions) -> float:
    """The share of the peak that large products of 16 bits reach; later kinds as an H100."""
    return {"A100": assumed.a100, "A800": assumed.a100, "V100": assumed.v100}.get(
        run.kind, assumed.h100
    )


def images(run: PublishedRun, assumed: Assumptions) -> StepTime:
    """ResNet-50: products, and everything else at the rate of the memory."""
    own = run.global_batch / run.processors
    wide = 2 if run.precision in ("tf32", "fp32") else 1
    return StepTime(
        products=own * RESNET_OPERATIONS / reached(run, assumed),
        number_by_number=own * wide * assumed.image / run.memory_rate,
    )


def transformer(run: PublishedRun, assumed: Assumptions) -> StepTime:
    """A transformer, by data, tensor and pipeline parallelism."""
    rate, memory = reached(run, assumed), assumed.memory * run.memory_rate
    words = run.micro_batch * run.sequence
    layers = run.layers / run.pipeline
    turns = run.turns  # micro-batches of a rank
    scores_kept = any(name in run.source for name in SCORES_KEPT)

    # one layer, one micro-batch, forward
    products = 2 * words * run.layer_weights / run.tensor / rate
    causal = 1.0 if run.arch == "bert" or scores_kept else 0.5
    attention = 4 * words * run.sequence * run.hidden / run.tensor * causal
    attention /= min(run.peak, run.peak_16_bit) * share_of_attention(run, assumed, scores_kept)
    moved = assumed.number_by_number * 2 * words * run.hidden * split_by(run)
    if "compile" in run.note or any(name in run.source for name in COMPILED):
        moved *= assumed.compiled
    kept = assumed.scores * 2 * run.micro_batch * run.heads * run.sequence**2 / run.tensor
    elementwise = (moved + kept * scores_kept) / memory
    forward = products + attention + elementwise

    again = {
        "none": 0.0,
        "full": assumed.recomputed * forward,
        "selective+SP": attention + kept * scores_kept / memory,
    }.get(run.recompute, 0.2 * forward)

    # messages of tensor parallelism: two sums of the layer's input forward, two backward
    inside = assumed.inside_node * run.inside_rate
    sums = 4 + 2 * (run.recompute == "full")
    sent = sums * ring(2 * 2 * words * run.hidden, run.tensor) / inside
    if "async" in run.note or "MLPerf Training v3.1" in run.source:
        sent = 0.0  # overlapped with the products, piece by piece

    predicted = assumed.masked if run.arch == "bert" else 1.0
    head = (
        3 * predicted * words * run.vocabulary / run.tensor * (2 * run.hidden / rate + 8 / memory)
    )
    held = run.weights / run.tensor / run.pipeline
    added = held * assumed.accumulated / memory * ("ZeRO" in run.sharding) * (turns > 1)
    micro = layers * (3 * forward + again + sent) + added
    state = held / (run.data if run.shards_state else 1)

    return StepTime(
        products=turns * layers * 3 * (products + attention),
        number_by_number=turns * layers * 3 * elementwise,
        head=turns * head,
        again=turns * layers * again,
        tensor_messages=turns * layers * sent,
        accumulation=turns * added,
        bubble=(run.pipeline - 1) * micro / run.interleaved,
        gradients=exposed_gradients(run, assumed, micro + head),
        optimizer=state * 28 / memory,
    )


def share_of_attention(run: PublishedRun, assumed: Assumptions, scores_kept: bool) -> float:
    """The share of the peak that the products of attention reach; always in 16 bits."""
    return dense_share(run, assumed) * (0.6 if scores_kept else assumed.attention)


def split_by(run: PublishedRun) -> float:
    """The share of what is done number by number that a rank does: all of it between two split
    products, unless the sequence is split there as well."""
    if "SP" in run.recompute or "MLPerf" in run.source:
        return 1 / run.tensor
    return (1 + 2 / run.tensor) / 3


def ring(nbytes: float, ranks: float) -> float:
    """What each rank of a ring sends."""
    return (ranks - 1) / ranks * nbytes


def exposed_gradients(run: PublishedRun, assumed: Assumptions, micro: float) -> float:
    """The seconds of data parallelism's messages that computing does not hide.

    Sharded weights are gathered twice and gradients scattered once for every micro-batch, behind
    its computing. In a pipeline gradients are reduced at the end of a step. The rings of a node's
    ranks share its cards.
    """
    held = 2 * run.weights / run.tensor / run.pipeline  # bytes
    inside, cards = assumed.inside_node * run.inside_rate, assumed.between_nodes * run.node_rate
    ranks = run.ranks_a_node if "HSDP" in run.sharding else run.data
    on_one_node = ranks * run.tensor <= run.ranks_a_node
    rings = run.ranks_a_node / max(1.0, min(ranks, run.ranks_a_node / run.tensor))
    rate = inside if on_one_node else min(inside, cards / rings)
    if run.shards_weights:
        return run.turns * max(0.0, 3 * ring(held, ranks) / rate - micro)
    if "distributed" in run.sharding:
        return max(0.0, 2 * ring(held, ranks) / rate - micro * run.turns / 3)
    return 2 * ring(held, ranks) / rate
