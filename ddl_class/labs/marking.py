"""Marks for what was handed in, each with the reason.

A checker knows no machine. It computes the answers from what the learner measured. So an honest
number from any network is right, and a copied one is not. A prediction is worth its point whatever
it says: it was made. What no measurement can have given is a `Contradiction`, and then nothing of
the folder is marked: `positive`, `repeated`, `ranks_of` and `messages` find it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

SLIPS = {
    1e3: "A thousand times too much: ms for s, or us for ms?",
    1e-3: "A thousand times too little: s for ms, or ms for us?",
    1e6: "A million times too much: us for s, or bytes for MB?",
    1e-6: "A million times too little: s for us, or MB for bytes?",
    1e2: "A hundred times too much: % for a share?",
    1e-2: "A hundred times too little: a share for %?",
    8: "Eight times too much: bits for bytes?",
    1 / 8: "Eight times too little: bytes for bits?",
    2: "Twice too much: is it there and back, or both ends of it?",
    1 / 2: "Half of it: is one of two ways missing?",
}
NEAR_A_SLIP = 0.1
MOST_RANKS, MOST_MESSAGES = 1024, 10_000  # beyond that no lab goes, and marking would take hours


class Contradiction(Exception):
    """Numbers that no measurement can have given; the text says which."""


@dataclass(frozen=True)
class Mark:
    """Points for one thing, out of `of`, and why not all."""

    name: str
    points: float
    of: float
    why: str = ""


def number(
    answers: Mapping[str, Any], name: str, right: float, *, within: float = 0.1, of: float = 1,
    look: str = "", also: tuple[float, float] | None = None,
) -> Mark:  # fmt: skip
    """Full points for a number that is at most the share `within` off `right`, or inside `also`.

    `look` says where to look when it is not; usual slips of units are named by themselves.
    """
    answer = answers.get(name)
    if answer is None:
        return Mark(name, 0, of, f"It was left empty. {look}".rstrip())
    low, high = also or (right, right)
    if abs(answer - right) <= within * abs(right) or low <= answer <= high:
        return Mark(name, of, of)
    why = [f"{answer:.6g} was said, {right:.6g} follows from what was measured."]
    slips = (
        slip for slip in SLIPS if abs(answer - slip * right) <= NEAR_A_SLIP * abs(slip * right)
    )
    why += [SLIPS[factor] for factor in slips][:1]
    return Mark(name, 0, of, " ".join([*why, look]).rstrip())


def choice(
    answers: Mapping[str, Any], name: str, rights: Iterable[str], *, of: float = 1, look: str = ""
) -> Mark:
    """Full points if the answer is one of the words in `rights`, in large or small letters."""
    answer, known = answers.get(name), list(rights)
    if answer is None:
        return Mark(name, 0, of, f"It was left empty. {look}".rstrip())
    if str(answer).strip().casefold() in {right.casefold() for right in known}:
        return Mark(name, of, of)
    right = " or ".join(known)
    return Mark(name, 0, of, f"'{answer}' was said, {right} is right here. {look}".rstrip())


def predicted(measured: Mapping[str, Any], name: str) -> Mark:
    """Full points for a prediction that was made before the measurement and is possible."""
    prediction = measured["predictions"].get(name)
    if prediction is None:
        return Mark(name, 0, 1, "Nothing was predicted before it was measured.")
    if isinstance(prediction, float) and not 0 <= prediction < math.inf:
        return Mark(name, 0, 1, f"{prediction:g} was predicted, which nothing can be.")
    return Mark(name, 1, 1)


def positive(numbers: Iterable[float], what: str) -> list[float]:
    """`numbers` as a list; raises `Contradiction` unless there are some and all are above 0, as
    times and sizes are."""
    values = list(numbers)
    if not values:
        raise Contradiction(f"there are no {what}")
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Contradiction(f"{what}: number {place} is {value!r}, which is no number")
        if not 0 < value < math.inf:
            raise Contradiction(f"{what}: number {place} is {value}, but must be above 0")
    return values


def repeated(seconds: Iterable[float], repetitions: int, what: str) -> list[float]:
    """`seconds` as a list; raises `Contradiction` unless they are above 0, one for each
    repetition."""
    times = positive(seconds, f"seconds of {what}")
    if len(times) != repetitions:
        raise Contradiction(f"{what}: {len(times)} times for {repetitions} repetitions")
    return times


def ranks_of(measured: Mapping[str, Any]) -> int:
    """How many ranks there were, each with a node."""
    ranks, nodes = measured["ground"]["ranks"], measured["results"]["nodes"]
    if len(nodes) != ranks:
        raise Contradiction(f"{ranks} ranks, but {len(nodes)} names of nodes, one for each rank")
    if not 0 < ranks <= MOST_RANKS:
        raise Contradiction(f"{ranks} ranks: a lab runs on 1 to {MOST_RANKS}")
    return ranks


def messages(pings: Mapping[str, Any], way: str) -> tuple[list[float], list[float]]:
    """The bytes and the seconds of the ping-pongs of this way, as `theory.fit.fit` takes them."""
    nbytes = positive(pings["bytes"], f"sizes {way}")
    seconds = positive(pings["seconds"], f"seconds {way}")
    if len(nbytes) != len(seconds):
        raise Contradiction(f"{way}: {len(seconds)} times of {len(nbytes)} messages")
    if len(nbytes) > MOST_MESSAGES:
        raise Contradiction(f"{way}: {len(nbytes)} messages: a lab plays up to {MOST_MESSAGES}")
    return nbytes, seconds
