"""Judging a sum over ranks: which ranks' parts are in it, and how often.

All ranks are given the same pattern, each times a power of its own. So the sum has a digit for
each rank, like tens, hundreds and thousands. So every element of a result, however wrong, can be
read off: three times the part of rank 0, nothing of rank 2. The message to the learner says so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddl_class.exercises.exercise import ProgramOutcome, ProgramRunner, Wrong, ranks_text
from ddl_class.exercises.kit import ranks
from ddl_class.exercises.kit.ranks import SAYS, listed

LONG = 20_011  # elements: longer than what an MPI library sends before a receive
DIGITS = 48  # bits shared by all ranks; with five more for the pattern sums are exact as floats


@dataclass(frozen=True)
class Parts:
    """The vectors that the ranks are given.

    The vectors in `strangers` have nothing in common: a rank cannot know them from its own. A sum
    of them does not show what is wrong with it, so they come after all others.
    """

    ranks: int
    pattern: np.ndarray
    strangers: tuple[np.ndarray, ...] = ()

    @property
    def base(self) -> int:
        return 2 ** max(1, DIGITS // self.ranks)

    @cached_property
    def vectors(self) -> list[np.ndarray]:
        return list(self.strangers) or [
            self.pattern * self.pattern.dtype.type(self.base**r) for r in range(self.ranks)
        ]

    @cached_property
    def total(self) -> np.ndarray:
        return np.sum(self.vectors, axis=0)

    def counted(self, result: np.ndarray) -> np.ndarray:
        """How often each rank's part (columns) is in each element; -1 where it is no such sum."""
        if self.strangers:
            right = np.asarray(result) == self.total
            return np.where(right[:, None], 1, -1).repeat(self.ranks, axis=1)
        whole, rest = np.divmod(np.asarray(result, np.float64), self.pattern)
        strange = ~np.isfinite(whole) | (rest != 0) | (whole < 0) | (whole >= 2.0**62)
        number = np.where(strange, 0, whole).astype(np.int64)
        digits = [number // self.base**rank % self.base for rank in range(self.ranks)]
        counts = np.array(digits).T.reshape(-1, self.ranks)
        # No part is counted that often: by chance a strange number was divisible.
        strange |= counts.max(axis=1, initial=0) > 2 * self.ranks
        return np.where(strange[:, None], -1, counts)

    def chunk(self, place: int) -> slice:
        """Chunk `place` of as many as there are ranks."""
        length = len(self.pattern)
        return slice(length * place // self.ranks, length * (place + 1) // self.ranks)

    @property
    def setting(self) -> str:
        what = "whole numbers" if self.pattern.dtype.kind == "i" else "numbers"
        return f"On {ranks_text(self.ranks)} with vectors of {len(self.pattern)} {what}"


def trials(generator: np.random.Generator, counts: Sequence[int]) -> Iterator[Parts]:
    """What a function is tried with. Four ranks come first: with two, most mistakes look alike."""
    for count in ranks.first(4, counts):
        even = 2 ** (count - 1).bit_length() * count * int(generator.integers(1, 4))
        uneven = 3 * count + int(generator.integers(1, max(2, count)))
        long = [LONG] if count in (2, 3, 4) else []
        for length in (even, uneven, count // 2, 0, *long):
            yield Parts(count, _pattern(generator, length, np.float64))
        yield Parts(count, _pattern(generator, even, np.int64))
        own = [_pattern(generator, uneven, np.float64) for _ in range(count)]
        yield Parts(count, own[0], tuple(own))


def _pattern(generator: np.random.Generator, length: int, kind: type) -> np.ndarray:
    return generator.integers(1, 32, length).astype(kind)


Explain = Callable[[Parts, np.ndarray], str]
"""From how often each rank's part was counted (by rank, element, part) to the usual mistake."""


def run(stage: ProgramRunner, parts: Parts, advice: str) -> ProgramOutcome:
    """The outcome of the function for these vectors; a deadlock becomes `Wrong` with its usual
    cause."""
    given = [(vector,) for vector in parts.vectors]
    return ranks.run(stage, parts.ranks, given, parts.setting, ranks.general(advice))


def compare(parts: Parts, outcome: ProgramOutcome, explain: Explain) -> None:
    """Raise `Wrong` unless every rank holds the sum in its own vector."""
    held = vectors_left(parts, outcome)
    wrong = [rank for rank, x in enumerate(held) if not np.array_equal(x, parts.total)]
    if wrong:
        counted = np.array([parts.counted(x) for x in held])
        refuse(parts, explain(parts, counted), counted[wrong[0]], wrong[0])


def vectors_left(parts: Parts, outcome: ProgramOutcome) -> list[np.ndarray]:
    """Each rank's vector as the function left it; `Wrong` if it left them all as they were."""
    held = [arguments[0] for arguments in outcome.arguments]
    for rank, x in enumerate(held):
        if not isinstance(x, np.ndarray) or x.shape != parts.pattern.shape:
            raise Wrong(SAYS("no_vector", rank=rank, setting=parts.setting))
    if parts.ranks > 1 and len(parts.pattern) and all(map(np.array_equal, held, parts.vectors)):
        returned = all(
            isinstance(result, np.ndarray) and np.array_equal(result, parts.total)
            for result in outcome.results
        )
        silent = not any(ledger.messages_sent for ledger in outcome.ledger)
        but = "no rank has sent anything, and " if silent else ""
        but = "you return the sum, but " if returned else but
        raise Wrong(SAYS("unchanged", but=but, setting=parts.setting))
    return held


def refuse(parts: Parts, usual: str, counted: np.ndarray, rank: int, first: int = 0) -> None:
    """Raise `Wrong` with the usual mistake, if any, and what is wrong on one rank: those
    elements, from `first` on, that share the first mistake."""
    first += int((counted[first:] != 1).any(axis=1).argmax())
    alike = (counted[first:] == counted[first]).all(axis=1)
    last = first + (len(alike) if alike.all() else int(alike.argmin())) - 1
    chunk = next(place for place in range(parts.ranks) if first < parts.chunk(place).stop)
    where = f"element {first}" if first == last else f"elements {first} to {last}"
    raise Wrong(
        f"{usual + chr(10) if usual else ''}{parts.setting}, look at rank {rank}, {where} "
        f"(chunk {chunk}): {_in_words(counted[first])}."
    )


def _in_words(count: np.ndarray) -> str:
    """A text that says how often each rank's part is in one element, if not once."""
    if (count < 0).any():
        return SAYS("no_sum")
    phrases = []
    for often in sorted(set(count.tolist()) - {1}):
        those = np.flatnonzero(count == often)
        parts, verb = ("the part", "is") if len(those) == 1 else ("those", "are")
        times = {0: "missing", 2: "in it twice"}.get(often, f"in it {often} times")
        phrases.append(f"{parts} of {listed(those)} {verb} {times}")
    return "; ".join(phrases).replace("those", "the parts", 1)
