"""What a learner hands in: a folder with `answers.toml` and `measured.json`.

A lab's program ends with `main(LAB)`. Started on several ranks, on a laptop, in a box or by a
batch script, it measures and writes `measured.json`, whole or not at all. The predictions are kept
in it as they stood at the first measurement: a second measurement cannot mend them.
"""

import argparse
import json
import math
import os
import socket
import stat
import textwrap
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import read_pairs
from ddl_class.commands.words import add_words
from ddl_class.labs.options import PATIENCE, PROGRAM_WORDS
from ddl_measure.machine import describe
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.records.whole_file import write_whole
from ddl_teach import Comm, join

ANSWERS, MEASURED = "answers.toml", "measured.json"
PREDICTIONS = "predictions"
LARGEST = 2**24  # bytes of a file; what is longer was written by no lab and no learner
RANK_0_SPEAKS = 0.5  # seconds in which rank 0 says what all ranks found, and ends them
FIRST_LINES = """# Fill in what stands between the quotation marks, or leave it empty.
# Numbers without units or commas (1048576, 0.25); the question says in which unit.
# Lines that begin with # are for you.
"""


@dataclass(frozen=True)
class Question:
    """What is asked on paper; `kind` is float where the answer is a number, else str."""

    name: str
    text: str
    kind: type = float


@dataclass(frozen=True)
class Lab:
    """A lab: what runs on the ranks, with which settings, and what is asked before and after.

    `program(comm, **settings)` returns what it measured, as plain data, on one rank; None on all
    others. A short run is a rehearsal, on `strict` ranks; a full one measures, on plain ones.
    """

    name: str
    program: Callable[..., Any]
    full: Mapping[str, Any]
    short: Mapping[str, Any]
    predictions: tuple[Question, ...] = ()
    answers: tuple[Question, ...] = ()
    strict: bool = True

    @property
    def parts(self) -> dict[str, tuple[Question, ...]]:
        """The questions by the part of the form in which they stand."""
        return {PREDICTIONS: self.predictions, "answers": self.answers}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message}\n{self.format_usage().rstrip()}")


def main(lab: Lab) -> None:
    """The command line of a lab's program."""
    mistake = options = None
    about = f"Lab {lab.name}: it runs on all ranks that are started together. Settings: "
    about += ", ".join(f"{name}={value!r}" for name, value in lab.full.items()) + "."
    parser = _Parser(prog="program.py", description=about)
    add_words(parser, PROGRAM_WORDS.split("\n"))
    try:
        options = parser.parse_args()
        options.out = options.out or Path("hand_in") / lab.name
        if options.begin:
            _begin(lab, options.out)
            print(f"{options.out / ANSWERS} asks you; what it calls predictions comes first.")
            return
    except Mistake as error:
        mistake = error  # all ranks have made it: one of them says so
    limit = options.timeout if options else PATIENCE
    strict = options is not None and options.short and lab.strict
    run = join(_on_rank, timeout=limit, strict=strict, lab=lab, options=options, mistake=mistake)
    if run is None:
        return
    # Of ranks that died nothing comes.
    alive = [result for result in run.results if result is not None]
    report = next((report for _, report in alive if report["results"] is not None), None)
    if report is None:
        print("Nothing was measured here: ranks behind a cable that is out stop.")
        return
    report["ground"] = {"nodes": [node for node, _ in alive], "ranks": run.ranks, **describe()}
    report["sent"] = [ledger.bytes_sent for ledger in run.ledger]
    try:
        text = json.dumps(report, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"what {lab.name} measured cannot be kept as JSON: {error}") from error
    again = (options.out / MEASURED).exists()
    write_whole(options.out / MEASURED, text + "\n")
    print(f"{options.out / MEASURED} holds what was measured.")
    if again:
        print("It took the place of an earlier measurement: the answers must fit this one.")


def _on_rank(
    comm: Comm, lab: Lab, options: argparse.Namespace | None, mistake: Mistake | None
) -> tuple[str, dict]:
    """One rank's part: on which node it was, and what was measured."""
    try:
        if mistake is not None:
            raise mistake
        settings = _settings(lab, options)
        if comm.rank == 0:
            prepare(lab, options)
        comm.barrier()  # nothing is measured that could not be kept
        asked = predicted(lab, options)
        results = lab.program(comm, **settings)
    except Mistake as error:
        if comm.rank > 0:
            time.sleep(RANK_0_SPEAKS)
        raise DiagnosedError(str(error)) from error
    report = {"lab": lab.name, "short": options.short, "settings": settings}
    return socket.gethostname(), {**report, PREDICTIONS: asked, "results": results}


def _settings(lab: Lab, options: argparse.Namespace) -> dict[str, Any]:
    settings = dict(lab.short if options.short else lab.full)
    others = read_pairs("--set", options.set)
    for name in others.keys() - settings.keys():
        raise Mistake(f"--set {name}=...: the settings of this lab are {', '.join(settings)}")
    for name, value in others.items():
        for kind, what in ((int | float, "a number"), (list | tuple, "a list")):
            if isinstance(settings[name], kind) and not isinstance(value, kind):
                raise Mistake(f"--set {name}={value}: {what} is needed, such as {settings[name]}")
    return settings | others


def _begin(lab: Lab, folder: Path) -> None:
    """Write the questions as a form, unless there is one: answers are never overwritten."""
    make(folder)
    if (folder / ANSWERS).exists():
        return
    lines = [FIRST_LINES]
    for part, questions in lab.parts.items():
        lines.append(f"[{part}]")
        for question in questions:
            text = [f"# {line}" for line in textwrap.wrap(question.text, 90)]
            lines += ["", *text, f'{question.name} = ""']
        lines.append("")
    write_whole(folder / ANSWERS, "\n".join(lines))


def make(folder: Path) -> None:
    """Make the folder, or refuse it if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{folder} cannot be made: {error.strerror}. Name another by --out"
        raise Mistake(what) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Mistake(f"nothing can be written into {folder}. Take another --out")


def prepare(lab: Lab, options: argparse.Namespace) -> None:
    """Before anything is measured: settings, the folder, and what the learner expects."""
    _settings(lab, options)
    make(options.out)
    if options.short:
        return
    _begin(lab, options.out)
    empty = [name for name, value in predicted(lab, options).items() if value is None]
    if empty:
        raise Mistake(
            f"Predict first: {options.out / ANSWERS} asks what you expect of {', '.join(empty)}. "
            "Fill that in, then measure. (--short tries whether the program runs.)"
        )


def predicted(lab: Lab, options: argparse.Namespace) -> dict[str, Any]:
    """The predictions: as they stood when it was first measured, or as they stand now."""
    if not (options.out / ANSWERS).exists():
        return {}
    now = read_answers(lab, options.out)[0]
    for name, value in now.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise Mistake(f"{options.out / ANSWERS}: {name} = {value} is no number")
    try:
        before = json.loads((options.out / MEASURED).read_text(encoding="utf-8"))
        earlier = {} if before["short"] else before[PREDICTIONS]
        return now | {name: value for name, value in earlier.items() if value is not None}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return now  # nothing was measured yet, or it cannot be read


def text_of(path: Path) -> str:
    """The text of a file that was handed in. A pipe or a device would never end: it is refused."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
        raise Mistake(f"{path} is no file, or longer than {LARGEST:,} bytes")
    return path.read_text(encoding="utf-8")


def read_answers(lab: Lab, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Predictions and answers, from the file in this folder. None for what was left empty, or if
    there is no file."""
    path = folder / ANSWERS
    try:
        typed = tomllib.loads(text_of(path)) if path.exists() else {}
    except OSError as error:
        raise Mistake(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Mistake(f"{path} is broken: {error}. Words need quotation marks") from None
    for part in typed.keys() - lab.parts.keys():
        raise Mistake(f"{path}: take [{part}] away; keep [{PREDICTIONS}] and [answers]")
    read: list[dict[str, Any]] = []
    for part, questions in lab.parts.items():
        answers = typed.get(part, {})
        if not isinstance(answers, dict):
            raise Mistake(f"{path}: keep the lines [{PREDICTIONS}] and [answers] as they were")
        names = [question.name for question in questions]
        for name in answers.keys() - set(names):
            raise Mistake(f"{path}: no question is called {name}; there are {', '.join(names)}")
        read.append({})
        for question in questions:
            value = answers.get(question.name, "")
            empty = isinstance(value, str) and not value.strip()
            try:  # a number that stands between quotation marks is one
                read[-1][question.name] = None if empty else question.kind(value)
            except (TypeError, ValueError, OverflowError):
                raise Mistake(
                    f"{path}: {question.name} = {value!r} is no number. Neither units nor commas "
                    "are written here: 1048576, 0.25"
                ) from None
    return read[0], read[1]
