"""WHEN x PATH x FORM: what goes with what, and why not everything does.

A WHEN needs one of a few verbs, a path offers some; where they share none, the combination is
refused with the reason why that verb cannot be had there.

=============== ==================== ================ ================ =================
a WHEN needs    on a path that has   servers          neighbours       one shared vector
                only Averages
=============== ==================== ================ ================ =================
Averages        yes                  yes              of a few only    without messages
Serves          nobody can be late   yes              nobody keeps it  nobody counts
Mixes, Meets .. all are neighbours   no neighbours    yes              no neighbours
Shares          each has its own     the server's     each has its own yes
=============== ==================== ================ ================ =================

A WHEN that sends weights themselves, or curvature, needs a form that is faithful to every entry.
And each path and form may have an objection of its own: a window cannot decode, a part of a
layer has no norm. What to look at: a refusal names the next thing to try.
"""

from typing import Any

from ddl_teach.training.compression.form import Form
from ddl_teach.training.consistency.asynchronous_gossip import Meets
from ddl_teach.training.consistency.compressed_gossip import MixesChanges
from ddl_teach.training.consistency.hogwild import Shares
from ddl_teach.training.consistency.push_sum import PushesSums
from ddl_teach.training.consistency.station import Averages, Mixes, Serves
from ddl_teach.training.consistency.when import When
from ddl_teach.training.distribution.path import Path
from ddl_teach.training.optimizers.update import Update

# Verbs of neighbours, all for the same reasons.
KIND: dict[type, type] = dict.fromkeys((Meets, PushesSums, MixesChanges), Mixes)

# (what the WHEN needs, what the path offers instead): why not, and what to try.
REASONS: dict[tuple[type, type], str] = {
    (Averages, Mixes): (
        "it needs the mean over all workers, and neighbours only get the mean of a few: take a "
        "path that averages, such as AllReduce(), or the WHEN of neighbours, Gossip()"
    ),
    (Averages, Shares): (
        "it needs messages to average, and on this path all write into one vector without any: "
        "take AllReduce(), or the WHEN that needs no messages, Hogwild()"
    ),
    (Serves, Averages): (
        "a collective ends when everybody has come, so nobody can be ahead, late or left out: "
        "take a path with servers, such as Server(), or let all wait with Synchronous()"
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
        "take them, or the path Neighbours(graph)"
    ),
    (Mixes, Serves): (
        "workers of a server speak to the server only and have no neighbours: take the path "
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


# What a WHEN sends that must arrive whole: what happens where a form leaves out some of it.
WHOLE = {
    "weights": (
        "weights themselves travel, and this form does not keep every entry of them: what a "
        "gradient loses makes a smaller step, what weights lose is the network. Take Dense() or "
        "Half()"
    ),
    "curvature": (
        "the factors of curvature travel beside the gradient, and the step is divided by them: "
        "what this form leaves out of them makes it far too long. Take Dense() or Half(), or the "
        "WHEN that sends gradients only, Synchronous()"
    ),
}


def refusal(
    when: When[Any], path: Path[Any], form: Form, update: Update | None = None
) -> str | None:
    """Why this combination makes no sense, and what would; None where it does."""
    reason = (
        _no_verb(when, path)
        or (None if form.faithful else WHOLE.get(when.sends))
        or path.objection(when, form, update)
        or form.objection(when.sends, update)
    )
    return reason and f"{when} over {path} in the form {form} makes no sense: {reason}."


def _no_verb(when: When[Any], path: Path[Any]) -> str | None:
    if set(when.needs) & set(path.offers):
        return None
    needed = when.needs[0]
    offered = Serves if Serves in path.offers else path.offers[0]  # what tells it from others
    return REASONS.get(
        (KIND.get(needed, needed), KIND.get(offered, offered)),
        f"it needs a path that {_words(when.needs, ' or ')}, and this one {_words(path.offers)}: "
        "take another one",
    )


def _words(verbs: tuple[type, ...], between: str = ", ") -> str:
    return between.join(verb.__name__ for verb in verbs)
