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
WEIGHT, GRADIENT, STATE = 2, 4, 12


def held_bytes(job: TrainingJob, plan: ParallelPlan) -> HeldBytes:
    """The bytes on the fullest rank."""
    first, last = (stage_bytes(job, plan, last) for last in (False, True))
    return first if first.total >= last.total else last


def stage_bytes(job: TrainingJob, plan: ParallelPlan, last: bool) -> HeldBytes:
    """The bytes on a rank of the first stage, or of the `last` one."""
    model, software, stages = job.model, job.software, int(plan.pipeline)
    pieces, sharers = int(plan.interleaved), int(plan.sharers)
    layers = pieces * math.ceil(model.layers / stages / pieces)
    share = layers / model.layers / plan.tensor
    edges = model.vocabulary * model.hidden * (1 if stages > 1 else 2 - model.tied)
    chosen = model.expert_weights * model.chosen / max(1, model.experts)
    outside = share * (model.layers * model.layer_weights - chosen) + edges / plan.tensor
    experts = share * model.expert_weights / plan.expert
    parts = [
        memory.held(plan.sharding, [round(weights)], ranks, weight=WEIGHT, state=STATE)
        for weights, ranks in ((outside, sharers), (experts, max(1, int(sharers / plan.expert))))
    ]
    words = job.sequence / plan.context

    def activations(recompute: str) -> float:
        return layer_activations(
            words, plan.micro_batch, model.hidden, model.heads, plan.tensor,
            split_sequence=software.split_sequence, scores=software.scores_kept,
            recompute=recompute, inner=model.of_expert * (model.chosen + model.shared)
            or model.inner, keys=model.heads_of_keys / model.heads,
            attended=model.attention_width, gated=model.gated,
        )  # fmt: skip

    turns = math.ceil(plan.turns(job))
    flying = 1.0 if last else in_flight(plan.schedule, stages, turns, pieces)
    kept = flying * layers * activations(plan.recompute)
    if plan.recompute == "full":
        kept += activations("none")  # the layer that is computed again
    if last or stages == 1:
        kept += SCORE * words * plan.micro_batch * model.vocabulary / plan.tensor
    if plan.sharding == 3:  # the layer at hand and the next one are there whole
        kept += 2 * WEIGHT * (outside + experts) / layers
    weights, gradients, states = (
        sum(getattr(part, kind) for part in parts) for kind in ("weights", "gradients", "states")
    )
    return HeldBytes(weights, GRADIENT * gradients // WEIGHT, states, round(kept))
