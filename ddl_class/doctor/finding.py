"""The result of one check, and how checks ask other processes, in lines of JSON."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec

from ddl_runtime.launcher.mpiexec import mpi_environment

ROOT = Path(__file__).resolve().parents[2]
P = ParamSpec("P")
PATIENCE = 60  # seconds, unless told otherwise


@dataclass(frozen=True)
class CheckResult:
    """One thing looked at: whether it is well, what was found, and how to mend it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    mend: str = ""


# What a check returns that is not content; one that is returns what it has found.
warn = partial(CheckResult, "", "warn")
fail = partial(CheckResult, "", "fail")


def check(name: str) -> Callable[[Callable[P, str | CheckResult]], Callable[P, CheckResult]]:
    """Name the findings of a check; a text that it returns is a finding that is ok."""

    def named(look: Callable[P, str | CheckResult]) -> Callable[P, CheckResult]:
        @wraps(look)
        def checked(*about: P.args, **more: P.kwargs) -> CheckResult:
            seen = look(*about, **more)
            seen = CheckResult(name, "ok", seen) if isinstance(seen, str) else seen
            return replace(seen, name=name)

        return checked

    return named


def report(findings: Sequence[CheckResult], whole: str = "This machine") -> str:
    """The findings as lines of text, and a last line that sums up."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    margin = " " * (width + 8)
    for finding in findings:
        text = finding.found.replace("\n", f"\n{margin}")
        lines.append(f"{finding.status:<4}  {finding.name:<{width}}  {text}")
        if finding.mend:
            mend = finding.mend.replace("\n", f"\n{margin}  ")
            lines.append(f"{margin}> {mend}")
    failures = sum(finding.status == "fail" for finding in findings)
    warnings = sum(finding.status == "warn" for finding in findings)
    end = f"{whole} is fit for the course; warnings: {warnings}."
    if failures:
        end = f"The course will not run well here: {failures} to mend, {warnings} to know of."
    return "\n".join([*lines, "", end])


def ask(words: Sequence[str], input_text: str = "", patience: float = PATIENCE) -> list[Any] | str:
    """Run a command and read each line of JSON that it prints; on failure its last error."""
    try:
        done = subprocess.run(
            words,
            input=input_text,
            capture_output=True,
            text=True,
            timeout=patience,
            cwd=ROOT,
            env=mpi_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {patience:g} s"
    except OSError as error:
        return f"{words[0]}: {error.strerror}"
    answers = [value for line in done.stdout.splitlines() for value in _values(line)]
    if done.returncode or not answers:
        errors = [line.strip() for line in done.stderr.splitlines() if line.strip(" -=\t")]
        return errors[-1] if errors else f"exit status {done.returncode}, without a message"
    return answers


def _values(line: str) -> list[Any]:
    """The JSON values that a line consists of (mpiexec may join the lines of two ranks); none for
    a line of mpiexec's own, such as `[node:4711] ...` or `[1,0] ...`."""
    values, place = [], 0
    try:
        while line.startswith(("{", "["), place):
            value, end = json.JSONDecoder().raw_decode(line, place)
            values.append(value)
            place = end + len(line[end:]) - len(line[end:].lstrip())
    except ValueError:
        return []
    return values if place == len(line) else []
