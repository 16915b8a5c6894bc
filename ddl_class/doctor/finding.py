"""What the doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class CheckResult:
    """One thing looked at: whether it is well, what was found, and how to mend it."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    mend: str = ""
