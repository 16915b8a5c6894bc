"""A transformer as published, the accelerator that trains it, and a plan: what goes where.

A job is a model on texts of one length, in global batches, on accelerators of one kind. A plan
cuts it: data x tensor x context x pipeline ranks, of which `expert` data ranks share the experts.
What to look at: weights of experts count for memory, and only the chosen ones for time.
"""

from dataclasses import dataclass

from ddl_teach.theory.machine import Roofline


@dataclass(frozen=True)
class TransformerSizes:
    """Numbers of a published model. In `expert_layers` a word chooses `chosen` of the experts, of
    width `of_expert`, besides the `shared` ones."""

    layers: float
    hidden: float
    heads: float
    inner: float  # width of the feed-forward layers
    vocabulary: float
    heads_of_keys: float
    gated: bool = False
    tied: bool = True  # the head is the embedding
    causal: bool = True
    predicted: float = 1.0  # the share of words that reach the head
    experts: int = 0
    chosen: int = 0
    shared: int = 0
    of_expert: float = 0.0
    expert_layers: int = 0
    nodes_of_a_word: int = 0  # at most so many nodes have experts of one word; 0: any number
    attended: float = 0.0  # numbers of all heads, queries and values in the mean; 0: hidden
    of_attention: float = 0.0  # weights of a layer's attention; 0: four products

    @property
    def attention_width(self) -> float:
        return self.attended or self.hidden

    @property
    def layer_weights(self) -> float:
        """What a word is multiplied with in a layer, in the mean of all layers."""
        attention = self.of_attention or self.hidden**2 * (2 + 2 * self.heads_of_keys / self.heads)
        wide = self.inner * (self.layers - self.expert_layers)
        wide += self.of_expert * (self.chosen + self.shared) * self.expert_layers
        return attention + (2 + self.gated) * self.hidden * wide / self.layers

    @property
    def expert_weights(self) -> float:
        """The weights of the experts among which a word chooses, in all layers."""
        each = (2 + self.gated) * self.hidden * self.of_expert
        return each * self.experts * self.expert_layers

    @property
    def active(self) -> float:
        """The weights that one word meets, one embedding among them, or two where the head has
        its own."""
        return self.layers * self.layer_weights + (2 - self.tied) * self.vocabulary * self.hidden

    @property
    def weights(self) -> float:
        return self.active + (1 - self.chosen / max(1, self.experts)) * self.expert_weights


@dataclass(frozen=True)
class Accelerator:
    """A processor by its data sheet, and the server in which it stands; rates in one direction."""

    name: str
    peak: float  # dense operations a second in 16 bits; twice as many in 8
    memory_rate: float  # bytes a second
    memory: float = 80e9  # bytes
    watts: float = 0.0
    inside_rate: float = 450e9  # bytes a second from each to the others of a server
    node_rate: float = 400e9  # bytes a second of all network cards of a server
    ranks_a_node: float = 8

    def device(self, launch: float = 0.0, share: float = 1.0) -> Roofline:
        """One of them for simulated ranks, at a share of what the data sheet says.

        No data sheet has what a launch costs: `python -m benchmarks.on_a_gpu` measures it.
        """
        return Roofline(share * self.peak, share * self.memory_rate, self.memory, launch)


@dataclass(frozen=True)
class Software:
    """What the programs do, of which no table says it in a column."""

    scores_kept: bool = False  # attention writes its scores: before Dao et al., 2022
    fused: bool = False  # kernels are compiled together
    split_sequence: bool = True  # what tensor parallelism leaves whole is cut along the text
    hidden_sums: bool = False  # tensor parallelism's sums run beside its products
    hidden_gradients: bool = True  # the backward pass hides gradients as far as they fit
    added_apart: bool = False  # gradients of micro-batches are added in single precision, apart


@dataclass(frozen=True)
class TrainingJob:
    """What is to be trained, on what."""

    model: TransformerSizes
    accelerator: Accelerator
    sequence: float
    global_batch: float  # texts
    software: Software = Software()


@dataclass(frozen=True)
class ParallelPlan:
    """How many ranks split each axis. From `sharding` 1 on optimizer states are sharded, from 2 on
    gradients too, in 3 weights too: over all data ranks, or inside each `group` of them."""

    data: float = 1
    tensor: float = 1
    context: float = 1
    expert: float = 1
    pipeline: float = 1
    schedule: str = "1F1B"
    interleaved: float = 1
    sharding: int = 0
    group: float = 0
    recompute: str = "none"
    precision: str = "bf16"
    micro_batch: float = 1

    @property
    def ranks(self) -> float:
        return self.data * self.tensor * self.context * self.pipeline

    @property
    def sharers(self) -> float:
        """How many ranks share optimizer states, gradients or weights."""
        return min(self.group or self.data * self.context, self.data * self.context)

    def turns(self, job: TrainingJob) -> float:
        """How many micro-batches a rank computes in a step."""
        return max(1.0, job.global_batch / self.data / self.micro_batch)
