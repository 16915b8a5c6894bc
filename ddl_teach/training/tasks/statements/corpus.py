"""The statements of Python's own library, and which of them belong together.

Two statements are in context where one follows the other in a function, or where one reads a
variable that the other has set last: flow of control and flow of data. Each such pair is a sample.
Every third file of a package is held out, with all that is in it.

The files are those of the Python that runs, and so numbers depend on its version, a little.
Reading takes a few seconds: read it once and hand the arrays to the ranks.
"""

from __future__ import annotations

import ast
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ddl_teach.training.tasks.statements.spelling import DEFINITIONS, headers, names, spell

PACKAGES = ("asyncio", "email", "multiprocessing", "unittest", "xml")
EVERY = 3  # of so many files of a package one is held out
RARE = 2  # statements that are seen less often are not learnt

Pair = tuple[int, int]  # of places in a function's statements


@dataclass(frozen=True, eq=False)
class Corpus:
    """Plain arrays. A statement's number is its place in the vocabulary, by frequency."""

    packages: tuple[str, ...]
    vocabulary: tuple[str, ...]
    counts: np.ndarray  # of each statement in the files to learn from
    pairs: np.ndarray  # (n, 2) statements in context, in the files to learn from
    held_out_pairs: np.ndarray  # in the others
    statements: np.ndarray  # of all functions, one after another
    begins: np.ndarray  # where each function begins in `statements`, and the end
    package: np.ndarray  # of each function, its place in `packages`
    held_out: np.ndarray  # of each function, whether its file is held out

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __deepcopy__(self, memo: dict[int, object]) -> Corpus:
        return self  # it cannot be changed: simulated ranks share one


@cache
def read(packages: tuple[str, ...] = PACKAGES, rare: int = RARE, fold: int = 1) -> Corpus:
    """The corpus of these packages of the standard library, read once in a process. `fold` says
    which third of the files is held out, 0 to 2. Settings that were chosen by one third must be
    judged by another."""
    if fold not in range(EVERY):
        raise ValueError(f"fold={fold}: one file in {EVERY} is held out, from 0 to {EVERY - 1}")
    labels = enumerate(packages)
    functions = [
        (label, *function) for label, package in labels for function in _functions(package, fold)
    ]
    seen = Counter(text for _, held_out, texts, _ in functions if not held_out for text in texts)
    common = sorted((-count, text) for text, count in seen.items() if count >= rare)
    if not common:
        raise ValueError(f"the packages {packages} have no statement {rare} times: name more")
    number = {text: place for place, (_, text) in enumerate(common)}
    pairs: dict[bool, list[Pair]] = {False: [], True: []}
    kept: list[tuple[int, bool, list[int]]] = []
    for label, held_out, texts, together in functions:
        numbers = [number.get(text, -1) for text in texts]
        found_pairs = ((numbers[function], numbers[other]) for function, other in together)
        pairs[held_out] += [pair for pair in found_pairs if min(pair) >= 0]
        known = [place for place in numbers if place >= 0]
        if known:
            kept.append((label, held_out, known))
    return Corpus(
        tuple(packages),
        tuple(number),
        np.array([-count for count, _ in common]),
        np.array(pairs[False]).reshape(-1, 2),
        np.array(pairs[True]).reshape(-1, 2),
        np.concatenate([known for *_, known in kept]),
        np.cumsum([0, *(len(known) for *_, known in kept)]),
        np.array([label for label, *_ in kept]),
        np.array([held_out for _, held_out, _ in kept]),
    )


def _functions(package: str, fold: int) -> Iterator[tuple[bool, list[str], list[Pair]]]:
    """Of each function of a package: whether its file is held out, its statements, and pairs."""
    folder = Path(sysconfig.get_paths()["stdlib"]) / package
    # Their own tests some versions of Python carry beside them and others do not.
    sources = sorted(folder.rglob("*.py"))
    files = [file for file in sources if "test" not in file.relative_to(folder).parts]
    if not files:
        others = f"name others, such as {', '.join(PACKAGES)}"
        raise ValueError(f"this Python has no source files of the package {package!r}: {others}")
    for place, file in enumerate(files):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, DEFINITIONS[:2]):
                yield place % EVERY == fold, *_function(node.body)


def _function(body: list[ast.stmt]) -> tuple[list[str], list[Pair]]:
    texts: list[str] = []
    together: list[Pair] = []
    set_by: dict[str, int] = {}
    for place, header in enumerate(headers(body)):
        texts.append(spell(header))
        reads, sets = names(header)
        before = {set_by[name] for name in reads if name in set_by} | {place - 1}
        for earlier in sorted(before - {-1}):
            together += [(earlier, place), (place, earlier)]
        set_by |= dict.fromkeys(sets, place)
    return texts, together
