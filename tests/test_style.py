"""The house style, where a machine can check it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = {".py", ".ipynb"}
PICTURES = {".png", ".pdf", ".svg", ".gz", ".ttf"}


def tracked_files():
    """What is committed, or in a copy without git everything but what tools have made."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.split("\0") if name]
        return [path for path in found if path.is_file()]
    made = re.compile(r"/(\.|build/|__pycache__/|[^/]*\.egg-info/)")
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not made.search(f"/{path.relative_to(ROOT)}")
    ]


FILES = tracked_files()
TEXTS = [path for path in FILES if path.suffix not in PICTURES]


def short(path):
    return str(path.relative_to(ROOT))


def source_lines(path):
    """The lines that a person reads: of a notebook, those of its cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text.splitlines()
    cells = json.loads(text)["cells"]
    return [line for cell in cells for line in "".join(cell["source"]).splitlines()]


# One test for all files: thousands of small ones take longer to hand out than to run.


def test_files_stay_under_400_lines():
    long = {}
    for path in (path for path in FILES if path.suffix == ".py"):
        lines = source_lines(path)
        if path.parent == ROOT / "notebooks" / "source":
            # What a notebook tells is no code; tests/test_notebooks.py keeps its cells short.
            lines = [line for line in lines if not line.startswith("#")]
        if len(lines) >= 400:
            long[short(path)] = len(lines)
    assert long == {}


def test_lines_stay_under_100_characters():
    long = []
    for path in (path for path in FILES if path.suffix in CODE):
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            code = [cell for cell in cells if cell["cell_type"] == "code"]
            lines = [line for cell in code for line in "".join(cell["source"]).splitlines()]
        else:
            lines = source_lines(path)
        long += [(short(path), line) for line in lines if len(line) >= 100]
    assert long == []


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by their names alone."""
    names = [path.name for path in FILES if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("words", [["check"], ["format", "--check"]], ids=" ".join)
def test_linter_and_formatter_agree_with_code_and_notebooks(words):
    names = [short(path) for path in FILES if path.suffix in CODE]
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", *words, *names], cwd=ROOT, capture_output=True, text=True
    )
    assert ruff.returncode == 0, ruff.stdout + ruff.stderr


# The patterns are written so that they do not find themselves here.
UNWANTED = {
    "a path of one machine": re.compile(r"(?<![\w.~:/)}])/(home|root|work|Users|opt|scratch)/\w"),
    "a package registry's address": re.compile(
        r"(pypi|anaconda|pytorch|npmjs|debian)\.(org|com)/(simple|whl|packages|channels|conda)"
        r"|pythonhosted\.(org)|conda\.anaconda\.(org)|registry\.npmjs\.(org)"
    ),
    "a merge marker": re.compile(r"^([<]{7}|[>]{7}|[=]{7})( |$)"),
}


def test_nothing_unwanted_is_written():
    found = [
        (short(path), what, line)
        for path in TEXTS
        for line in source_lines(path)
        for what, pattern in UNWANTED.items()
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("cd /" + "home/someone/course", "a path of one machine"),
        (
            "--index-url https://" + "download.pytorch.org/" + "whl/cpu",
            "a package registry's address",
        ),
        ("<" * 7 + " HEAD", "a merge marker"),
    ],
)
def test_unwanted_lines_are_noticed(line, what):
    assert UNWANTED[what].search(line)
