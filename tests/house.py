"""What the house is measured by: circles of files, foreign privates, sliced classes, names,
types, loops.

    python -m tests.house      # today's numbers, and where each of them comes from

`test_ratchets.py` holds the numbers: they may only fall.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tests import looped_cases

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ddl_runtime", "ddl_teach", "ddl_measure", "ddl_class")

MUTE = {"found", "one", "it", "said", "told"}  # names of variables that say nothing
PARTS = "ddl_runtime.core.parts"  # its Protocols have one class of their name on each ground


@dataclass(eq=False)
class Module:
    """One file of the packages."""

    name: str
    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        """Its source, parsed."""
        return ast.parse(self.path.read_text(), str(self.path))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All of its tree, in the order of `ast.walk`."""
        return list(ast.walk(self.tree))

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Each name that an import binds anywhere in the file: its full name."""
        bound = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    bound[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return bound


@cache
def modules() -> dict[str, Module]:
    """Every file of the packages, by its full name."""
    known = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            name = name.removesuffix(".__init__")
            known[name] = Module(name, path)
    return known


def imports(module: Module) -> set[str]:
    """The packages' files that a file imports, those for type checking included."""
    wanted = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            wanted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            wanted.add(str(node.module))
            wanted |= {f"{node.module}.{alias.name}" for alias in node.names}
    # A package's own face is no circle: importing a file runs it in any case.
    faces = {name for name in wanted if module.name.startswith(f"{name}.")}
    return (wanted & modules().keys()) - faces - {module.name}


def circles() -> list[list[str]]:
    """Files that import each other in a circle, the largest first (Tarjan's components)."""
    graph = {name: sorted(imports(module)) for name, module in modules().items()}
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for other in graph[name]:
            if other not in order:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], order[other])
        if lowest[name] == order[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            components.append(sorted(component))

    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    return sorted((one for one in components if len(one) > 1), key=len, reverse=True)


def foreign_privates() -> list[str]:
    """Where a file reads a private attribute of anything but `self`, `cls` or what a call gives:
    of other objects, also of its own class, and of libraries."""
    return [
        f"{module.path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"
        for module in modules().values()
        for node in module.nodes
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not isinstance(node.value, ast.Call)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]


FREE = {"Protocol", "ABC", "NamedTuple", "Enum"}


def sliced_classes() -> list[str]:
    """Classes whose only subclass stands in another file; abstract bases are free."""
    homes: dict[str, tuple[Module, ast.ClassDef]] = {}
    for module in modules().values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                homes[f"{module.name}.{node.name}"] = module, node
    heirs: dict[str, list[str]] = {}
    for name, (module, node) in homes.items():
        for base in _bases(module, node):
            heirs.setdefault(base, []).append(name)
    return sorted(
        f"{base} <- {names[0]}"
        for base, names in heirs.items()
        if base in homes
        and len(names) == 1
        and homes[base][0] is not homes[names[0]][0]
        and not _is_abstract(homes[base][1])
    )


def shared_names() -> list[str]:
    """Public classes of one name in several files; a part has the same name on every ground."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, module in modules().items():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    parts = {name for name, files in homes.items() if PARTS in files}
    return [f"{name}: {files}" for name, files in homes.items() if files[1:] and name not in parts]


def mute_variables() -> list[str]:
    """Variables and arguments of functions whose names say nothing of what they hold."""
    return [
        f"{name}:{line}: {word}"
        for name, module in modules().items()
        for line, word in sorted({*_variables(module.tree)})
        if word in MUTE
    ]


def _variables(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What functions bind, with the lines."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.arg):
                    yield node.lineno, node.arg
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.lineno, node.id


def _bases(module: Module, node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        base = base.value if isinstance(base, ast.Subscript) else base
        first, *rest = ast.unparse(base).split(".")
        yield ".".join([module.aliases.get(first, f"{module.name}.{first}"), *rest])


def _is_abstract(node: ast.ClassDef) -> bool:
    words = {part.split("[")[0].split(".")[-1] for part in map(ast.unparse, node.bases)}
    return bool(words & FREE) or any(
        isinstance(part, ast.Name | ast.Attribute) and ast.unparse(part).endswith("abstractmethod")
        for part in ast.walk(node)
    )


def type_errors() -> Counter[str]:
    """How many errors a strict type checker finds in each room."""
    with tempfile.TemporaryDirectory() as folder:
        strict = ["--strict", "--ignore-missing-imports", "--python-version", "3.11"]
        form = ["--no-error-summary", "--hide-error-context", "--cache-dir", folder]
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", *strict, *form, *PACKAGES],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    if checked.returncode > 1:
        raise RuntimeError(checked.stderr or checked.stdout)
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    return Counter(".".join(Path(line.split(":")[0]).parts[:-1][:2]) for line in errors)


def main() -> None:
    """Print all numbers with their places."""
    for title, places in (
        ("circles of files", [", ".join(circle) for circle in circles()]),
        ("reads of another object's privates", foreign_privates()),
        ("classes cut over two files", sliced_classes()),
        ("names of several classes", shared_names()),
        ("variables that say nothing", mute_variables()),
        ("tests that loop over their cases", looped_cases.loops_over_cases()),
        ("errors of types", [f"{room}: {count}" for room, count in type_errors().items()]),
    ):
        print(f"{title}: {len(places)}", *places, sep="\n  ")


if __name__ == "__main__":
    main()
