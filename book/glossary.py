"""The words of the course, each with what it means and, where there is one, its formula.

A formula is written once, as a Python expression: it is drawn in the book, and where `theory` has
the same it is computed beside it, for many values. Terms are linked from the units, and lead back.
"""

from __future__ import annotations

import math
import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.formulas import latex
from ddl_teach.theory import (
    byzantine,
    checkpointing,
    collectives,
    context,
    elastic,
    failures,
    halo,
    large_batches,
    pipelines,
    ring_bytes,
    servers,
    serving,
    slow_links,
    sparse,
    staleness,
    stragglers,
    utilisation,
    wavefront,
)
from ddl_teach.theory.gossip import contraction
from ddl_teach.theory.machine import Link
from ddl_teach.theory.work_depth import counting

LIST = Path(__file__).resolve().parent / "glossary.toml"
THEORY = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        checkpointing, collectives, context, contraction, counting, elastic, failures, halo,
        large_batches, pipelines, ring_bytes, servers, slow_links, sparse, staleness, stragglers,
        byzantine, checkpointing, collectives, context, contraction, counting, elastic, failures,
        halo, large_batches, pipelines, ring_bytes, servers, sparse, staleness, stragglers,
        large_batches, pipelines, ring_bytes, servers, serving, sparse, staleness, stragglers,
        utilisation, wavefront,
    )
}  # fmt: skip
FUNCTIONS = {
    name: getattr(math, name) for name in "ceil cos exp floor log log2 pi sin sqrt".split()
} | {"max": max, "min": min, "sum": sum, "abs": abs, "Link": Link}
WHOLE = "KNSTkmsWD"  # letters that stand for whole numbers
LEAST = {"N": 16, "W": 32}


@dataclass(frozen=True)
class Term:
    """A word of the course."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()  # other forms in which units write it
    formula: str = ""  # Python
    letters: str = ""  # what its letters mean, beyond those that all formulas share
    theory: str = ""  # the same as the formula, by a function of theory
    within: float = 1e-9  # so near, where theory counts something more
    latex: str = ""  # a formula that nothing computes

    @property
    def words(self) -> tuple[str, ...]:
        return (self.name, *self.also)

    @property
    def drawn(self) -> str:
        return latex(self.formula) if self.formula else self.latex


def read(path: Path = LIST) -> list[Term]:
    """All terms, by name."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["term"]
    terms = [Term(**entry | {"also": tuple(entry.get("also", ()))}) for entry in entries]
    return sorted(terms, key=lambda term: term.name.lower())


def both_ways(term: Term, tries: int = 20) -> Iterator[tuple[dict[str, Any], float, float]]:
    """The formula and theory's function, each with the same values of all letters."""
    draw = random.Random(term.name)
    for _ in range(tries):
        values = _values(term, draw)
        known = FUNCTIONS | THEORY | values | {"__builtins__": {}}
        yield values, eval(term.formula, known), eval(term.theory, known)


def _values(term: Term, draw: random.Random) -> Mapping[str, float]:
    letters = set(re.findall(r"(?<![\w.])(tau|[A-Za-z])(?!\w|\()", term.formula + term.theory))
    values: dict[str, float] = {}
    for letter in sorted(letters):
        if letter == "P":
            values[letter] = 2 ** draw.randint(2, 6)  # where only powers of two have a formula
        elif letter == "n":
            values[letter] = 64 * draw.randint(10_000, 100_000)
        elif letter == "tau" or letter in WHOLE:
            values[letter] = draw.randint(LEAST.get(letter, 2), LEAST.get(letter, 2) + 8)
        else:
            values[letter] = draw.uniform(0.1, 1.0)
    return values


def page(terms: list[Term], units: Mapping[str, str]) -> str:
    """The glossary; `units` has each unit's text by the name of its notebook."""
    lines = ["# Glossary", "", "The words of the course, and the units that use them.", "",
             "`````{glossary}"]  # fmt: skip
    for term in terms:
        parts = [term.meaning]
        if term.drawn:
            parts.append(f"$${term.drawn}$$")
        if term.letters:
            parts.append(term.letters)
        if term.theory:
            parts.append(f"Computed by {_function(term)}.")
        if found := taught_in(term, units):
            numbers = (f"[{name[:2]}](notebooks/{name}.md)" for name in found)
            parts.append(f"*Units:* {' · '.join(numbers)}")
        lines += [term.name, *(f"  {part}\n" for part in parts)]
    return "\n".join([*lines, "`````", ""])


def _function(term: Term) -> str:
    room, name = re.findall(r"([a-z_]+)\.([A-Za-z_]+)", term.theory)[0]
    return f"{{py:obj}}`{THEORY[room].__name__}.{name}`"


def taught_in(term: Term, units: Mapping[str, str]) -> list[str]:
    """The notebooks whose text has the word."""
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in term.words)
    # A name begins with a capital letter and keeps it: an FFT, but a Ring at a sentence's begin.
    return [name for name, text in units.items() if re.search(rf"(?i)\b({words})\b", text)]


def with_links(text: str, terms: list[Term]) -> str:
    """A unit's text, whose words in bold lead to the glossary."""
    names = {word.lower(): term.name for term in terms for word in term.words}

    def link(match: re.Match[str]) -> str:
        words = " ".join(match[1].split())
        name = names.get(words.lower())
        return f"**{{term}}`{words} <{name}>`**" if name else match[0]

    return re.sub(r"\*\*([A-Za-z][\w' -]*(?:\n[\w' -]+)?)\*\*", link, text)
