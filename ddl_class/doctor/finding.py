"""What the doctor says about one thing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Literal


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


def check(name: str) -> Callable[[Callable[[], str | CheckResult]], Callable[[], CheckResult]]:
    """Make a finding of this name of what a function returns."""

    def named(look: Callable[[], str | CheckResult]) -> Callable[[], CheckResult]:
        @wraps(look)
        def checked() -> CheckResult:
            seen = look()
            return (
                CheckResult(name, "ok", seen)
                if isinstance(seen, str)
                else replace(seen, name=name)
            )

        return checked

    return named
