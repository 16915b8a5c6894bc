"""What the package offers, read from its files as text: nothing is imported, nothing is listed.

A name is public if it has no underscore before it and is defined in the file: a function, a class
or an assignment. Text about it is its docstring, the string below it, or the comment behind it.
`Index.resolve` finds what a file means by a name, through its imports, as Python would.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ddl_teach", "ddl_runtime", "ddl_measure", "ddl_class")
HIDDEN = ("__main__", "course")  # what runs, and what only says that it has moved
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Name:
    """A public name: of a module, or of a class."""

    name: str
    kind: str  # "function", "class", "data", "method", "property" or "attribute"
    signature: str  # what stands behind the name, as in "(comm: Comm) -> None"; or ": int"
    text: str
    members: tuple[Name, ...] = ()
    bases: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # "classmethod", "staticmethod", "abstractmethod"


@dataclass(frozen=True)
class Module:
    """A file of the package; a folder's is its __init__.py."""

    name: str
    folder: bool
    text: str
    names: tuple[Name, ...]
    imports: dict[str, str]  # what it calls it, and its full name

    @property
    def home(self) -> str:
        """The folder whose page of the reference it stands on."""
        return self.name if self.folder else self.name.rpartition(".")[0]


class Index:
    """All modules of the packages, or of some of their folders."""

    def __init__(self, root: Path = ROOT, rooms: Sequence[str] = PACKAGES) -> None:
        found = {path for room in rooms for path in (root / room).rglob("*.py")}
        files = sorted({root / PACKAGES[0] / "__init__.py"} | found)
        modules = (read_module(path, root) for path in files if path.stem not in HIDDEN)
        self.modules = {module.name: module for module in modules}
        self.objects = set(self.modules)
        for module in self.modules.values():
            for one in module.names:
                self.objects.add(f"{module.name}.{one.name}")
                members = (f"{module.name}.{one.name}.{member.name}" for member in one.members)
                self.objects.update(members)

    def resolve(self, module: str, words: str) -> str | None:
        """The full name of what `words` mean in a module, if it is one of ours."""
        places = [
            f"{module}.{words}",
            self._imported(module, words),
            f"{PACKAGES[0]}.{words}",
            words,
        ]
        above = module
        while above := above.rpartition(".")[0]:
            places.append(f"{above}.{words}")
        return next((name for place in places if (name := self._followed(place))), None)

    def _imported(self, module: str, words: str) -> str:
        first, dot, rest = words.partition(".")
        there = self.modules[module].imports if module in self.modules else {}
        return there.get(first, "") + dot + rest

    def _followed(self, name: str, depth: int = 0) -> str | None:
        """The same, where a folder only hands on what a file of it defines."""
        if name in self.objects:
            return name
        home, _, last = name.rpartition(".")
        if depth > 4 or home not in self.modules or last not in self.modules[home].imports:
            return None
        return self._followed(self.modules[home].imports[last], depth + 1)


def read_module(path: Path, root: Path) -> Module:
    """What a file offers."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, str(path))
    folder = path.stem == "__init__"
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if folder else parts)
    names = tuple(_names(tree.body, source.splitlines(), inside_class=False))
    text = ast.get_docstring(tree) or ""
    return Module(name, folder, text, names, dict(_imports(tree)))


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.name.startswith(PACKAGES):
                    yield alias.asname, alias.name


def _names(body: list[ast.stmt], lines: list[str], inside_class: bool) -> Iterator[Name]:
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, Function) and _public(node.name) and not _stands_elsewhere(node):
            yield _function(node, inside_class)
        elif isinstance(node, ast.ClassDef) and _public(node.name):
            yield _class(node, lines)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and _public(target.id):
                kind = "attribute" if inside_class else "data"
                text = _string(below) or _comment(lines[node.end_lineno - 1])
                of = f": {ast.unparse(node.annotation)}" if hasattr(node, "annotation") else ""
                yield Name(target.id, kind, of, text)


def _function(node: ast.FunctionDef, inside_class: bool) -> Name:
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    text = ast.get_docstring(node) or ""
    returns = ast.unparse(node.returns) if node.returns else ""
    if inside_class and any(mark.endswith("property") for mark in marks):
        return Name(node.name, "property", f": {returns}" if returns else "", text)
    arguments = node.args
    if inside_class and "staticmethod" not in marks:
        (arguments.posonlyargs or arguments.args)[:1] = []  # self
    known = ("classmethod", "staticmethod", "abstractmethod") if inside_class else ()
    return Name(
        node.name,
        "method" if inside_class else "function",
        f"({ast.unparse(arguments)})" + (f" -> {returns}" if returns else ""),
        text,
        marks=tuple(mark for mark in marks if mark in known),
    )


def _class(node: ast.ClassDef, lines: list[str]) -> Name:
    members = tuple(_names(node.body, lines, inside_class=True))
    made = [one for one in node.body if isinstance(one, Function) and one.name == "__init__"]
    if made:
        signature = _function(made[0], inside_class=True).signature.partition(" -> ")[0]
    elif any("dataclass" in ast.unparse(mark) for mark in node.decorator_list):
        signature = f"({', '.join(_fields(node))})"
    else:
        signature = ""
    bases = tuple(ast.unparse(base) for base in node.bases)
    return Name(node.name, "class", signature, ast.get_docstring(node) or "", members, bases)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """How a dataclass is called, as far as its own fields go."""
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation):
            default = f" = {ast.unparse(one.value)}" if one.value else ""
            yield f"{ast.unparse(one.target)}: {ast.unparse(one.annotation)}{default}"


def _stands_elsewhere(node: ast.FunctionDef) -> bool:
    """Whether it is a property's other half, or one of several signatures of a function."""
    return any(ast.unparse(mark).endswith((".setter", "overload")) for mark in node.decorator_list)


def _public(name: str) -> bool:
    return not name.startswith("_") or name == "__call__"


def _string(node: ast.stmt | None) -> str:
    """A string that stands alone describes what stands above it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return str(node.value.value) if isinstance(node.value.value, str) else ""
    return ""


def _comment(line: str) -> str:
    return line.rpartition("  # ")[2] if "  # " in line else ""
