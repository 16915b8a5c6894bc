"""Small programs, each algorithm written in several ways: what a classifier reads.

They stand in small_programs.txt. A function's name there is its algorithm, two underscores, and
the way it is written. Names say nothing here: a call of itself or of a neighbour is spelled alike
for all. Each program runs, on plain numbers and on counted ones.
What to look at: two ways to write one algorithm may have no line in common.
"""

import ast
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ddl_measure.experiments.choosing.counted_numbers import Counted, Counts, counting
from ddl_teach.training.tasks.statements.spelling import headers, spell

BINS, WEIGHTS = 8, 8  # of a histogram; of a convolution


@dataclass(frozen=True)
class SmallProgram:
    """One way to write an algorithm."""

    algorithm: str
    way: str
    text: str
    run: Callable[..., Any] = field(repr=False)

    @property
    def statements(self) -> list[str]:
        """Its statements without their names, in the order of the text."""
        return [spell(header) for header in headers(self._tree().body)]

    @property
    def grammar(self) -> Counter[str]:
        """How often each kind of node stands in each other kind, as "For > Assign"."""
        kinds = Counter[str]()
        for node in ast.walk(self._tree()):
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.expr_context | ast.arguments):
                    kinds[f"{type(node).__name__} > {type(child).__name__}"] += 1
        return kinds

    def counts(self, size: int) -> Counts:
        """Its work and depth on an input of about `size` numbers, the same each time."""
        with counting() as counts:
            counts.end(self.run(*inputs(self.algorithm, size)))
        return counts

    def _tree(self) -> ast.FunctionDef:
        [tree] = ast.parse(self.text).body
        assert isinstance(tree, ast.FunctionDef)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and "__" in node.id:
                node.id = "_"
        return tree


@cache
def small_programs() -> tuple[SmallProgram, ...]:
    """All of them, in the order of the file."""
    text = (files(__package__) / "small_programs.txt").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(compile(text, "<small programs>", "exec"), names)
    programs = []
    for each in ast.parse(text).body:
        if isinstance(each, ast.FunctionDef):
            algorithm, way = each.name.split("__")
            programs.append(SmallProgram(algorithm, way, ast.unparse(each), names[each.name]))
    return tuple(programs)


def inputs(algorithm: str, size: int) -> list[Any]:
    """What programs of this algorithm are called with: counted numbers."""
    random = np.random.default_rng(1)

    def row(count: int, most: int = 1000) -> list[Counted]:
        return [Counted(int(number)) for number in random.integers(0, most, count)]

    if algorithm == "sorting":
        return [row(size // 8)]
    if algorithm == "searching":
        return [[Counted(number) for number in range(size)], Counted(int(random.integers(size)))]
    if algorithm == "convolution":
        return [row(size), row(WEIGHTS)]
    if algorithm == "histogram":
        return [row(size, BINS), BINS]
    if algorithm == "matrix_product":
        side = round((size / 2) ** 0.5)
        return [[row(side) for _ in range(side)] for _ in range(2)]
    return [row(size)]
