"""Consistency x distribution x compressor: what goes with what, and why not everything does.

A consistency needs one of a few verbs, a distribution offers some; where they share none,
`REASONS` says why that verb cannot be had there. One that sends weights, or curvature, needs a
compressor that keeps every entry. And distributions and compressors may object themselves.
"""

from typing import Any

from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.asynchronous_gossip import Meets
from ddl_teach.training.consistency.compressed_gossip import MixesChanges
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.handles import Averages, Mixes, Serves
from ddl_teach.training.consistency.hogwild import Shares
from ddl_teach.training.consistency.push_sum import PushesSums
from ddl_teach.training.consistency.streaming_diloco import BeginsAverages
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.update import Update

# Verbs that are refused for the same reasons as another.
KIND: dict[type, type] = dict.fromkeys((Meets, PushesSums, MixesChanges), Mixes)
KIND[BeginsAverages] = Averages

# (what the consistency needs, what the distribution offers instead): why not, and what to try.
OWN = "lock-free updates need one vector that all can write to, and here"
REASONS: dict[tuple[type, type], str] = {
    (Averages, Averages): "it begins an average and computes meanwhile, and here all ranks wait "
    "for each average: take AllReduce()",
    (Averages, Mixes): "it needs the mean of all workers, and neighbours get the mean of a few: "
    "take a distribution that averages, such as AllReduce(), or Gossip()",
    (Averages, Shares): "it averages by messages, and here all write into one vector without: "
    "take AllReduce(), or the consistency that needs no messages, Hogwild()",
    (Serves, Averages): "a collective ends when all ranks have come, so no rank can be late: "
    "take a distribution with servers, such as Server(), or let all wait with Synchronous()",
    (Serves, Mixes): "it needs a rank that keeps weights and counts the clocks, and neighbours "
    "have none: take Server(), or AsynchronousGossip()",
    (Serves, Shares): "it needs a server that counts the clocks, and in a shared vector no rank "
    "does: take Server(), or Hogwild()",
    (Averages, Serves): "workers of a server wait for its answer, and here steps go on meanwhile: "
    "take AllReduce(), or DiLoCo()",
    (Mixes, Averages): "here all are neighbours of all: that is Synchronous() or LocalSGD(): "
    "take them, or the distribution Neighbours(graph)",
    (Mixes, Serves): "workers of a server speak to the server only and have no neighbours: "
    "take Neighbours(graph), or Elastic() for weights that stay apart",
    (Mixes, Shares): "one shared vector has no neighbours: take Neighbours(graph), or Hogwild()",
    (Shares, Averages): f"{OWN} each rank has its own: take SharedVector(), or Synchronous()",
    (Shares, Serves): f"{OWN} a server writes: take SharedVector(), or Asynchronous()",
    (Shares, Mixes): f"{OWN} each rank has its own: take SharedVector(), or Gossip()",
}
# What a consistency sends that must arrive whole: why a compressor must not leave out any of it.
WHOLE = {
    "weights": "weights themselves travel, and this compressor loses some of them: what gradients "
    "lose makes a smaller step, what weights lose is the network. Take Dense() or Half()",
    "curvature": "steps are divided by the factors of curvature, and what this compressor leaves "
    "out of them makes steps far too long. Take Dense() or Half(), or Synchronous()",
}

MEMORY = (
    "what one fragment has not sent would be added to the next one, which is another part of the "
    "weights. Take a compressor without a memory, such as Blocks(7)"
)


def refusal(
    consistency: Consistency[Any],
    distribution: Distribution[Any],
    compressor: Compressor,
    update: Update | None = None,
) -> str | None:
    """The reason why this combination makes no sense, and what would; None if it makes sense."""
    reason = (
        _no_verb(consistency, distribution)
        or (None if compressor.faithful else WHOLE.get(consistency.sends))
        or (MEMORY if consistency.sends == "fragments" and compressor.remembers else None)
        or distribution.objection(consistency, compressor, update)
        or compressor.objection(consistency.sends, update)
    )
    combination = f"{consistency} over {distribution} with {compressor}"
    return reason and f"{combination} makes no sense: {reason}."


def _no_verb(consistency: Consistency[Any], distribution: Distribution[Any]) -> str | None:
    needs, offers = consistency.needs, distribution.offers
    if set(needs) & set(offers):
        return None
    offered = Serves if Serves in offers else offers[0]  # how it differs from others
    needed, given = (" or ".join(verb.__name__ for verb in verbs) for verbs in (needs, offers))
    return REASONS.get(
        (KIND.get(needs[0], needs[0]), KIND.get(offered, offered)),
        f"it needs a distribution that {needed}, and this one {given}: take another one",
    )
