"""Consistency x distribution x compressor: what goes with what, and why not everything does.

A consistency needs one of a few verbs, a distribution offers some; where they share none, the
combination is refused with the reason why that verb cannot be had there.

=============== ==================== ================ ================ =================
a consistency   on a distribution    servers          neighbours       one shared vector
needs           that only Averages
=============== ==================== ================ ================ =================
Averages        yes                  yes              of a few only    without messages
Serves          nobody can be late   yes              nobody keeps it  nobody counts
Mixes, Meets .. all are neighbours   no neighbours    yes              no neighbours
Shares          each has its own     the server's     each has its own yes
=============== ==================== ================ ================ =================

A consistency that sends weights themselves, or curvature, needs a compressor that is faithful to
every entry. And each distribution and compressor may have an objection of its own: a window cannot
decode, a part of a layer has no norm. What to look at: a refusal names the next thing to try.
"""

from typing import Any

from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.consistency.asynchronous_gossip import Meets
from ddl_teach.training.consistency.compressed_gossip import MixesChanges
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.handles import Averages, Mixes, Serves
from ddl_teach.training.consistency.hogwild import Shares
from ddl_teach.training.consistency.push_sum import PushesSums
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.optimizers.update import Update

# Verbs of neighbours, all for the same reasons.
KIND: dict[type, type] = dict.fromkeys((Meets, PushesSums, MixesChanges), Mixes)

# (what the consistency needs, what the distribution offers instead): why not, and what to try.
REASONS: dict[tuple[type, type], str] = {
    (Averages, Mixes): (
        "it needs the mean over all workers, and neighbours only get the mean of a few: take a "
        "distribution that averages, such as AllReduce(), or the consistency of neighbours, "
        "Gossip()"
    ),
    (Averages, Shares): (
        "it needs messages to average, and on this distribution all write into one vector without "
        "any: "
        "take AllReduce(), or the consistency that needs no messages, Hogwild()"
    ),
    (Serves, Averages): (
        "a collective ends when everybody has come, so nobody can be ahead, late or left out: "
        "take a distribution with servers, such as Server(), or let all wait with Synchronous()"
    ),
    (Serves, Mixes): (
        "it needs somebody who keeps the weights and counts the clocks, and neighbours have no "
        "such place: take Server(), or AsynchronousGossip()"
    ),
    (Serves, Shares): (
        "it needs a server that counts the clocks, and in a shared vector nobody does: take "
        "Server(), or Hogwild()"
    ),
    (Mixes, Averages): (
        "here everybody would be everybody's neighbour, and that is Synchronous() or LocalSGD(): "
        "take them, or the distribution Neighbours(graph)"
    ),
    (Mixes, Serves): (
        "workers of a server speak to the server only and have no neighbours: take the "
        "distribution "
        "Neighbours(graph), or Elastic() for weights that stay apart"
    ),
    (Mixes, Shares): "one shared vector has no neighbours: take Neighbours(graph), or Hogwild()",
    (Shares, Averages): (
        "lock-free updates need one vector that all can write to, and here each rank has its own: "
        "take SharedVector(), or Synchronous()"
    ),
    (Shares, Serves): (
        "lock-free updates need one vector that all can write to, and here a server writes: take "
        "SharedVector(), or Asynchronous()"
    ),
    (Shares, Mixes): (
        "lock-free updates need one vector that all can write to, and here each rank has its own: "
        "take SharedVector(), or Gossip()"
    ),
}


# What a consistency sends that must arrive whole: what happens where a compressor leaves out some
# of it.
WHOLE = {
    "weights": (
        "weights themselves travel, and this compressor does not keep every entry of them: what a "
        "gradient loses makes a smaller step, what weights lose is the network. Take Dense() or "
        "Half()"
    ),
    "curvature": (
        "the factors of curvature travel beside the gradient, and the step is divided by them: "
        "what this compressor leaves out of them makes it far too long. Take Dense() or Half(), "
        "or the "
        "consistency that sends gradients only, Synchronous()"
    ),
}


def refusal(
    consistency: Consistency[Any],
    distribution: Distribution[Any],
    compressor: Compressor,
    update: Update | None = None,
) -> str | None:
    """Why this combination makes no sense, and what would; None where it does."""
    reason = (
        _no_verb(consistency, distribution)
        or (None if compressor.faithful else WHOLE.get(consistency.sends))
        or distribution.objection(consistency, compressor, update)
        or compressor.objection(consistency.sends, update)
    )
    return (
        reason and f"{consistency} over {distribution} with {compressor} makes no sense: {reason}."
    )


def _no_verb(consistency: Consistency[Any], distribution: Distribution[Any]) -> str | None:
    if set(consistency.needs) & set(distribution.offers):
        return None
    needed = consistency.needs[0]
    offered = (
        Serves if Serves in distribution.offers else distribution.offers[0]
    )  # what tells it from others
    return REASONS.get(
        (KIND.get(needed, needed), KIND.get(offered, offered)),
        f"it needs a distribution that {_words(consistency.needs, ' or ')}, and this one "
        f"{_words(distribution.offers)}: "
        "take another one",
    )


def _words(verbs: tuple[type, ...], between: str = ", ") -> str:
    return between.join(verb.__name__ for verb in verbs)
