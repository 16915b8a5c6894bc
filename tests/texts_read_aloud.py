"""All that learners read: units, decks, guides, the book, what exercises, errors, docstrings say.

python -m tests.texts_read_aloud        # words that are neither plain nor in the glossary
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from book import glossary

ROOT = Path(__file__).resolve().parents[1]
PLAIN = Path(__file__).with_name("plain_words.txt")
PACKAGES = ("ddl_runtime", "ddl_teach", "ddl_measure", "ddl_class")
PROSE = ("slides/decks/*.md", "docs/*.md", "book/pages/**/*.md")
NAMES = Path(__file__).with_name("names_written_small.txt")
SAID = ("first_hint", "second_hint", "third_hint", "question", "right")
# Code, formulas, names, titles and citations are no words that a reader must know.
NO_PROSE = re.compile(
    r"```.*?```|^    .*?$|\{\{.*?\}\}|<!-- made:.*?<!-- end -->|`[^`]*`"
    r"|<p class=\"source\">.*?</p>|<[^>]+>|\$\$.*?\$\$|\$[^$]*\$|!?\[(?P<kept>[^\]]*)\]\([^)]*\)"
    r"|\([^()]*\b(?:19|20)\d\d[^()]*\)|[“\"][^”\"]*[”\"]|https?://\S+|\{[^}]*\}",
    re.DOTALL | re.MULTILINE,
)
TABLE_OR_EXAMPLE = re.compile(
    r"^[^\n]*(?:\S {2,}\S|={4}|-{4})[^\n]*$|^ *>>>.*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL
)
WORD = re.compile(r"(?<![\w'./_@=-])[a-z]{3,}(?![\w_./(=@]*[\w_(=@])")
ENDINGS = {
    "ies": ("y",), "es": ("", "e", "is"), "s": ("",), "ied": ("y",), "ed": ("", "e"),
    "ing": ("", "e"), "er": ("", "e"), "ers": ("", "e"), "est": ("", "e"), "ly": ("",),
    "ation": ("", "e"), "ations": ("e", "ation"), "fold": ("",), "ths": ("", "th"), "th": ("",),
}  # fmt: skip
BEGINNINGS = ("un", "re", "non", "over")


def of_unit(source: str) -> str:
    """The Markdown of a notebook's source."""
    lines, prose = [], False
    for line in source.splitlines():
        if line.startswith("# %%"):
            prose = "[markdown]" in line
            lines.append("")
        elif prose and line.startswith("#"):
            lines.append(line[2:])
    return "\n".join(lines)


def of_exercises(path: Path) -> str:
    """What a unit's exercises ask, hint and say."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("exercises", [])
    texts = [entry[key] for entry in entries for key in SAID if isinstance(entry.get(key), str)]
    texts += [text for entry in entries for text in entry.get("says", {}).values()]
    return "\n\n".join(texts)


def of_docstrings(path: Path) -> list[str]:
    """The docstrings of a file, without tables and examples."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    return [TABLE_OR_EXAMPLE.sub("\n", text) for text in own if text]


def of_errors(path: Path) -> str:
    """What the errors say that a file raises; N stands for what is put in."""
    errors = [
        node.exc
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    ]
    return "\n\n".join(filter(None, (_written(each) for error in errors for each in error.args)))


def _written(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_written(value) or "N" for value in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = _written(left), _written(right)
            return " ".join(part or "N" for part in parts) if any(parts) else ""
    return ""


@cache
def prose() -> dict[str, str]:
    """All of these but errors, by the file's place."""
    every = {path: path.read_text(encoding="utf-8") for form in PROSE for path in ROOT.glob(form)}
    every |= {path: of_unit(path.read_text(encoding="utf-8"))
              for path in ROOT.glob("notebooks/source/*.py")}  # fmt: skip
    every |= {path: of_exercises(path)
              for path in ROOT.glob("ddl_class/exercises/unit_*/exercises.toml")}  # fmt: skip
    every[glossary.LIST] = "\n\n".join(term.meaning for term in glossary.read())
    return {path.relative_to(ROOT).as_posix(): every[path] for path in sorted(every)}


@cache
def docstrings() -> dict[str, list[str]]:
    """All docstrings, by the package."""
    return {top: [text for path in sorted((ROOT / top).rglob("*.py"))
                  for text in of_docstrings(path)] for top in PACKAGES}  # fmt: skip


@cache
def texts() -> dict[str, str]:
    """All of these, by the file's place."""
    files = [path for top in PACKAGES for path in sorted((ROOT / top).rglob("*.py"))]
    errors = {path.relative_to(ROOT).as_posix(): of_errors(path) for path in files}
    return prose() | {name: text for name, text in errors.items() if text}


def words(text: str) -> list[str]:
    """The small words of a text; those with a capital are names."""
    return WORD.findall(NO_PROSE.sub(lambda match: f" {match['kept'] or ''} ", text))


def stems(word: str) -> Iterator[str]:
    """The word, and what it may come from."""
    yield word
    for ending, instead in ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 2:
            yield from (stem + end for end in instead)
            if ending == "s":
                yield from stems(stem)
            if len(stem) > 3 and stem[-1] == stem[-2]:
                yield stem[:-1]
    for beginning in BEGINNINGS:
        stem = word.removeprefix(beginning)
        if stem != word and len(stem) > 3:
            yield from stems(stem)


@cache
def known() -> frozenset[str]:
    """Plain words, and those of the glossary."""
    plain = PLAIN.read_text(encoding="utf-8").split()
    names = [name for term in glossary.read() for name in (term.name, *term.also)]
    parts = (re.findall("[a-z]+", name.lower()) for name in names)
    return frozenset(plain).union(small_names(), *parts)


@cache
def small_names() -> frozenset[str]:
    """Programs, libraries, functions and arguments whose makers write them without a capital."""
    return frozenset(NAMES.read_text(encoding="utf-8").split())


def unexplained() -> dict[str, list[str]]:
    """Words that are neither, each with the texts that use it."""
    places: dict[str, list[str]] = {}
    for name, text in texts().items():
        for word in sorted(set(words(text))):
            if not any(stem in known() for stem in stems(word)):
                places.setdefault(word, []).append(name)
    return places


if __name__ == "__main__":
    for word, names in sorted(unexplained().items()):
        print(f"{word:18} {', '.join(names)}")
