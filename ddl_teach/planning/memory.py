"""What a rank of a plan holds: weights, gradients, optimizer states, activations.

Of the first stage of a pipeline and of the last one, that which holds more: the first has the most
micro-batches in flight, the last one the scores of all words. A weight has 2 bytes, its gradient 4
(added up in single precision), its states 12, by the stages of `theory.memory`. What to look at:
RESERVED, which no formula has: it is the median of what published runs held besides.
"""

import math

from ddl_teach.planning.sizes import ParallelPlan, TrainingJob
from ddl_teach.theory import memory
from ddl_teach.theory.memory import HeldBytes
from ddl_teach.theory.transformer_memory import in_flight, layer_activations

RESERVED = 6e9  # libraries, buffers, holes between tensors
SCORE = 6  # bytes of a word's score in the last stage: 16 bits, and 32 for the loss


def held_bytes(job: TrainingJob, plan: ParallelPlan, gradient: int = 4) -> HeldBytes:
    """The bytes on the fullest rank."""
    return max((stage_bytes(job, plan, gradient, last) for last in (False, True)), key=total)


def total(held: HeldBytes) -> int:
    """All of them."""
    return held.total


def stage_bytes(job: TrainingJob, plan: ParallelPlan, gradient: int, last: bool) -> HeldBytes:
    """Of the first stage or of the last one; without a pipeline they are one."""
    model = job.model
    stages, pieces = int(plan.pipeline), int(plan.interleaved)
    turns = math.ceil(plan.turns(job))
    layers = pieces * math.ceil(model.layers / stages / pieces)
    edges = model.vocabulary * model.hidden * (1 if stages > 1 else 2 - model.tied)
    shared = model.layers * model.layer_weights - model.expert_weights * (
        model.chosen / model.experts if model.experts else 0
    )
    share = layers / model.layers / plan.tensor
    sharers = int(plan.sharers)
    outside = memory.held(
        plan.sharding, [round(share * shared + edges / plan.tensor)], sharers, weight=2, state=12
    )
    own = round(share * model.expert_weights / plan.expert)
    experts = memory.held(
        plan.sharding, [own], max(1, int(sharers / plan.expert)), weight=2, state=12
    )
    words = job.sequence / plan.context
    inner = model.inner
    if model.experts:
        inner = model.of_expert * (model.chosen + model.shared)

    def activations(recompute: str) -> float:
        return layer_activations(
            words, plan.micro_batch, model.hidden, model.heads, plan.tensor,
            split_sequence=job.software.split_sequence, scores=job.software.scores_kept,
            recompute=recompute, inner=inner, keys=model.keys / model.heads,
            attended=model.attention_width, gated=model.gated,
        )  # fmt: skip

    flying = 1.0 if last else in_flight(plan.schedule, stages, turns, pieces)
    kept = flying * layers * activations(plan.recompute)
    if plan.recompute == "full":
        kept += activations("none")  # the layer that is computed again
    if last or stages == 1:
        kept += SCORE * words * plan.micro_batch * model.vocabulary / plan.tensor
    if plan.sharding == 3:  # the layer at hand and the next one are there whole
        kept += 2 * 2 * share / layers * (shared + model.expert_weights / plan.expert)
    return HeldBytes(
        outside.weights + experts.weights,
        gradient * (outside.gradients + experts.gradients) // 2,
        outside.states + experts.states,
        round(kept),
    )
