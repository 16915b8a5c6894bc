"""The ways through a notebook, and the names that a way lacks, found without running it.

A heading such as `## 4. Any number · *intermediate*` marks what follows it. A beginner runs what
is marked *beginner* and what has no mark, an intermediate reader also what is marked so.
"""

import ast
import builtins
import re
import symtable
from dataclasses import dataclass, field

LEVELS = ("beginner", "intermediate", "advanced")
HEADING = re.compile(r"^(##+) .*?(?:· \*(\w+)\*)?$", re.MULTILINE)
COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


def on_the_way(level, notebook):
    """The code cells that a reader of this level runs, in their order."""
    allowed = LEVELS[: LEVELS.index(level) + 1]
    section = marked = LEVELS[0]
    for cell in notebook.cells:
        if cell.cell_type == "code" and marked in allowed:
            yield cell
        elif cell.cell_type == "markdown":
            for depth, mark in HEADING.findall(cell.source):
                if depth == "##":
                    section = mark or LEVELS[0]
                marked = mark or section


def missing_names(cells):
    """Which names do not exist when these cells run, one after the other: (name, cell) pairs."""
    notebook, engines = Names({"display", "get_ipython"}), Names({"comm"})
    missing = []
    for cell in cells:
        if "raises-exception" in cell.metadata.get("tags", ()):
            continue  # it fails on purpose
        lines = cell.source.split("\n")
        on_engines = lines[0].startswith("%%px")
        remote = lines[1:] if on_engines else [x[4:] for x in lines if x.startswith("%px ")]
        local = [] if on_engines else [x for x in lines if not x.startswith("%")]
        for names, part in ((notebook, local), (engines, remote)):
            missing += [(name, cell.source) for name in sorted(names.run("\n".join(part)))]
    return missing


@dataclass
class Names:
    """What is bound in a namespace, and what its functions will ask for once they are used."""

    bound: set[str]
    asked_by: dict[str, set[str]] = field(default_factory=dict)

    def run(self, source):
        """Bind what this source binds; which names it would not find."""
        missing = set()
        for statement in ast.parse(source).body:
            table = symtable.symtable(ast.unparse(statement), "cell", "exec")
            symbols = table.get_symbols()
            loads = {s.get_name() for s in symbols if s.is_referenced()}
            binds = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                loads.add(statement.target.id)
            for inner in table.get_children():
                if inner.get_name() in binds:  # a function or a class: it asks when it is used
                    self.asked_by[inner.get_name()] = _globals(inner)
                else:  # a comprehension or a lambda
                    loads |= _globals(inner)
            known = self.bound | (binds if isinstance(statement, COMPOUND) else set())
            missing |= {x for x in self._reached(loads) - known if not hasattr(builtins, x)}
            self.bound |= binds
        return missing

    def _reached(self, loads):
        """These names, and those which the functions among them load."""
        found, todo = set(), list(loads)
        while todo:
            if (name := todo.pop()) not in found:
                found.add(name)
                todo.extend(self.asked_by.get(name, ()))
        return found


def _globals(table):
    """The names that a function looks up in its module, and so do those inside it."""
    own = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    return own.union(*map(_globals, table.get_children()))
