"""Would the tests notice? Plant one fault at a time in a room and run the tests that mirror it.

    python -m tests.mutation collectives                 # 60 mutants, always the same
    python -m tests.mutation theory --mutants 20 --seed 3
    python -m tests.mutation networks --only pipelines/one_f_one_b.py

A *mutant* is the room with one small change in one line: `-` for `+`, `<=` for `<`, one more, a
statement left out. It is *killed* if a test fails among those that import the changed file, or a
file that stands on it. A survivor is a hole in the tests, or no fault at all:
`tests/survivors.toml` says why for each that stays. The command ends with 1 if fewer than 95% are
killed, or if a survivor is not in that list.

Quick tests are collected once, and run in a fork for each mutant, whose fault is put into the
modules in memory (`tests/grafts.py`). What does not fit in there, or passes, is written to a file
of a copy and run anew, at last with slow tests and those on real ranks.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

import pytest

from tests import house
from tests.mutation_forks import DECLINED, END, NOTHING, Forks, Trial, collected

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = Path(__file__).parent / "survivors.toml"
TESTS = sorted((ROOT / "tests").glob("*/**/test_*.py"))  # those beside folders look at the house
ROOMS = ("plain", "theory", "collectives", "operators", "networks", "training")
WANTED = 0.95
SECONDS = 900  # a mutant that hangs is killed by its tests' own limits long before
NEAREST, QUICK, DEAR = 4, "not long and not slow and not real", "not long and (slow or real)"
PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
FORKS = multiprocessing.get_context("forkserver")
PRELOADED = ["torch", "scipy.stats", "ipyparallel", "matplotlib.pyplot", "pytest", "tests.house"]

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed line of one file."""

    path: Path  # below ddl_teach
    line: int
    before: str
    after: str
    source: str  # the whole changed file

    def __str__(self) -> str:
        return f"{self.path}: {self.before}  ->  {self.after}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    source = (ROOT / "ddl_teach" / path).read_text()
    lines = source.splitlines(keepends=True)
    for node, replacement in _changes(ast.parse(source)):
        first, last = node.lineno - 1, node.end_lineno
        start = len(lines[first].encode()[: node.col_offset].decode())
        end = len(lines[last - 1].encode()[: node.end_col_offset].decode())
        text = "".join([lines[first][:start], replacement, lines[last - 1][end:]])
        before = lines[first][start:end] if last == first + 1 else ast.unparse(node)
        shown = (" ".join(before.split()), " ".join(replacement.split()))
        changed = "".join([*lines[:first], text, *lines[last:]])
        try:
            compile(changed, str(path), "exec")
        except SyntaxError:
            continue
        yield Mutant(path, node.lineno, *shown, changed)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Pairs of a node and the text that takes its place."""
    for node in _executed(tree):
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
                yield node, f"({ast.unparse(ast.BinOp(left, SWAPPED[type(op)](), right))})"
            case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in SWAPPED:
                yield (
                    node,
                    f"({ast.unparse(ast.Compare(left, [SWAPPED[type(op)]()], comparators))})",
                )
            case ast.BoolOp(op=op, values=values):
                yield node, f"({ast.unparse(ast.BoolOp(SWAPPED[type(op)](), values))})"
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield node, f"({ast.unparse(operand)})"
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                yield node, f"{value + 1}"
            case ast.Constant(value=bool() as value):
                yield node, f"{not value}"
            case ast.AugAssign(target=target, op=op, value=value):
                yield node, f"{ast.unparse(target)} = {ast.unparse(value)}"
                if type(op) in SWAPPED:
                    yield node, ast.unparse(ast.AugAssign(target, SWAPPED[type(op)](), value))
            case ast.Expr(value=ast.Call()):
                yield node, "pass"


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs and matters: no annotations, no texts of errors, no `__repr__`, no protocol, and
    no -1 in a `reshape`: any negative number is the length that is not known.
    """
    reshapes = isinstance(tree, ast.Call) and ast.unparse(tree.func).endswith("reshape")
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
                continue
            case ast.FunctionDef(name="__repr__" | "__str__" | "__init_subclass__"):
                continue
            case ast.arg() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.ClassDef(bases=[*_, ast.Name(id="Protocol")]):
                continue
            case ast.UnaryOp() if reshapes and ast.unparse(node) == "-1":
                continue
            case ast.keyword(arg="strict"):  # of a zip: guards against what no test should reach
                continue
            case ast.AnnAssign(value=value):
                if value is not None:
                    yield from _executed(ast.Expr(value))
                continue
        yield node
        yield from _executed(node)


def mirrors(path: Path) -> list[Path]:
    """The tests that reach this file of the package by fewest steps, the room's own first.

    Most tests take a file by the face of its folder, or by a file that stands on it.
    """
    goal = _module(path)
    steps = {test: _distances(_used_by(test)[0]).get(goal) for test in TESTS}
    near = min((count for count in steps.values() if count is not None), default=0)
    reaching = []
    for test, count in steps.items():
        own_room = path.parts[0] in test.parts
        if goal in _used_by(test)[1] or count == near or (count == near + 1 and own_room):
            far = count is None, count
            reaching.append((test.stem != f"test_{path.stem}", not own_room, far, test))
    # Registries import by name, which no look at the imports shows.
    beside = sorted((ROOT / "tests" / path.parent).glob("test_*.py"))
    tests = dict.fromkeys([test for *_, test in sorted(reaching)] + beside)
    return [test.relative_to(ROOT) for test in tests]


@cache
def _used_by(test: Path) -> tuple[frozenset[str], frozenset[str]]:
    """What a test imports of the packages, and the files of folders that it names in a text, as
    for `import_module`; by itself or by helpers that stand beside it."""
    module = house.Module(f"tests.{test.stem}", test)
    texts = {node.value for node in ast.walk(module.tree) if isinstance(node, ast.Constant)}
    folders = {f"{text}." for text in texts if str(text).startswith("ddl_teach.")}
    by_name = {name for name in house.modules() if name.startswith(tuple(folders))}
    named = {
        word
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for word in ([str(getattr(node, "module", ""))] + [alias.name for alias in node.names])
    }
    beside = [test.parent / f"{name}.py" for name in sorted(named) if name.isidentifier()]
    helpers = [_used_by(helper) for helper in beside if helper.exists() and helper != test]
    return (
        frozenset(house.imports(module)).union(*(imports for imports, _ in helpers)),
        frozenset(by_name).union(*(names for _, names in helpers)),
    )


@cache
def _graph() -> dict[str, set[str]]:
    return {name: house.imports(module) for name, module in house.modules().items()}


@cache
def _distances(first: frozenset[str]) -> dict[str, int]:
    """How many files away from these imports each file is that is reached from them."""
    counts: dict[str, int] = {}
    edge = set(first)
    while edge:
        counts |= dict.fromkeys(edge, max(counts.values(), default=-1) + 1)
        edge = set().union(*(_graph()[name] for name in edge)) - counts.keys()
    return counts


def tried_in_forks(planted: list[Mutant], workers: int) -> dict[Mutant, Trial]:
    """What quick tests say of each mutant, put into memory.

    A test that fails must pass where the same file is put into memory without a fault.
    """
    trials = {
        mutant: Trial(str(mutant), _module(mutant.path), mutant.source, mirrors(mutant.path))
        for mutant in planted
    }
    checks: dict[tuple[str, str], Trial] = {}

    def again() -> Iterator[Trial]:
        for mutant, trial in trials.items():
            key = trial.module, trial.killer
            if trial.killed and key not in checks:
                whole = (ROOT / "ddl_teach" / mutant.path).read_text()
                checks[key] = Trial("no fault", trial.module, whole, trial.tests, trial.killer)
                yield checks[key]

    tests = sorted({test for trial in trials.values() for test in trial.tests})
    collected(tests, QUICK, Forks([trials.values, again], workers))
    for trial in trials.values():
        check = checks.get((trial.module, trial.killer))
        if check and check.killer != NOTHING:
            trial.killer = f"{DECLINED}{check.killer} fails without a fault"
    return trials


def _module(path: Path) -> str:
    return "ddl_teach." + ".".join(path.with_suffix("").parts)


def survives(mutant: Mutant, copy: Path, stages: list[str]) -> bool:
    """Whether all tests that mirror its file pass in this copy of the project.

    The nearest are run alone first: most mutants are killed by these, within seconds.
    """
    changed = copy / "ddl_teach" / mutant.path
    whole, tests = changed.read_text(), mirrors(mutant.path)
    changed.write_text(mutant.source)
    try:
        return all(
            _pass(copy, part, marks)
            for marks in stages
            for part in (tests[:NEAREST], tests[NEAREST:])
            if part
        )
    finally:
        changed.write_text(whole)


def _pass(copy: Path, tests: list[Path], marks: str) -> bool:
    """Whether these tests pass, in a process of their own that begins with PRELOADED imported."""
    run = FORKS.Process(target=_run_tests, args=(copy, tests, marks))
    run.start()
    run.join(SECONDS)
    if run.is_alive():
        os.killpg(run.pid, signal.SIGKILL)
        run.join()
    return run.exitcode in PASSED


def _run_tests(copy: Path, tests: list[Path], marks: str) -> None:
    os.setsid()
    os.chdir(copy)
    os.environ["PYTHONPATH"] = sys.path[0] = str(copy)
    sys.dont_write_bytecode = True
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    words = ["-qx", "--timeout=200", *END, "-p", "no:cacheprovider", "-m", marks]
    os._exit(pytest.main([*words, *map(str, tests)]))


def chosen(room: str, only: str | None, count: int, seed: int) -> list[Mutant]:
    """So many mutants of a room, drawn by the seed from all files that tests mirror."""
    folder = ROOT / "ddl_teach" / room
    paths = [path.relative_to(ROOT / "ddl_teach") for path in sorted(folder.rglob("*.py"))]
    wanted = [path for path in paths if _runs_here(path) and (only is None or path.match(only))]
    every = [mutant for path in wanted if mirrors(path) for mutant in mutants(path)]
    return random.Random(seed).sample(every, min(count, len(every)))


def _runs_here(path: Path) -> bool:
    """Whether all libraries are installed that the file imports as a whole: triton may not be."""
    tree = ast.parse((ROOT / "ddl_teach" / path).read_text())
    names = [
        name
        for node in tree.body
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else []
        )
    ]  # fmt: skip
    return all(find_spec(str(name).split(".")[0]) for name in names)


def _copies(folder: Path, count: int) -> SimpleQueue[Path]:
    """Copies of the project, one for each worker."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(count):
        shutil.copytree(ROOT, copy := folder / str(number), ignore=left_out)
        copies.put(copy)
    return copies


def left_out(folder: str, names: list[str]) -> set[str]:
    """What a copy can do without: decks, book and site as built, but no folder of tests."""
    built = set() if "tests" in Path(folder).relative_to(ROOT).parts else {"built"}
    return {".venv", ".git", "__pycache__", *built}.intersection(names)


def main() -> int:
    """Plant and count; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("--mutants", type=int, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--only", metavar="FILE.py", help="this file of the room alone")
    parser.add_argument("--like", default="", metavar="TEXT", help="mutants whose line has this")
    parser.add_argument("--quick", action="store_true", help="no tests on real ranks, none slow")
    options = parser.parse_args()
    known = tomllib.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}
    planted = chosen(options.room, options.only, options.mutants, options.seed)
    planted = [mutant for mutant in planted if options.like in str(mutant)]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    trials = tried_in_forks(planted, options.workers)
    lives = {mutant: not trial.killed for mutant, trial in trials.items()}
    FORKS.set_forkserver_preload(PRELOADED)
    with tempfile.TemporaryDirectory() as folder:
        copies = _copies(Path(folder), options.workers)

        sound: dict[tuple[Path, ...], bool] = {}  # whether tests pass where no fault is planted

        def told(mutant: Mutant) -> None:
            nearest = tuple(mirrors(mutant.path)[:NEAREST])
            quick = [QUICK] if trials[mutant].killer != NOTHING else []
            copy = copies.get()
            try:
                if quick and nearest not in sound:
                    sound[nearest] = _pass(copy, [*nearest], QUICK)
                lives[mutant] = survives(mutant, copy, quick + [DEAR] * (not options.quick))
            finally:
                copies.put(copy)
            if not sound.get(nearest, True):
                raise RuntimeError(f"the tests that mirror {mutant.path} fail without a fault")
            state = "SURVIVES" if lives[mutant] else "killed"
            print(f"{state:<8} {mutant} (line {mutant.line})", flush=True)

        with ThreadPoolExecutor(options.workers) as workers:
            list(workers.map(told, [mutant for mutant in planted if lives[mutant]]))
    survivors = [mutant for mutant in planted if lives[mutant]]
    killed = 1 - len(survivors) / len(planted)
    unexplained = [mutant for mutant in survivors if str(mutant) not in known]
    print(f"{options.room}: {killed:.1%} of {len(planted)} mutants killed, seed {options.seed}")
    for mutant in unexplained:
        print(f"not explained in {EXPLAINED.name}: {mutant}")
    return int(killed < WANTED or bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
