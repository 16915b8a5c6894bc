"""The faults of a report by name: what a reader would believe, and the paper that warns of it.

The words stand in findings.toml beside this file, rule by rule.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

WORDS: Mapping[str, Any] = tomllib.loads(
    files(__package__).joinpath("findings.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Fault:
    """What makes a report misleading; `usually` is what to do where a finding says no other."""

    believed: str  # what a reader believes without proof
    source: str
    usually: str = "say it"


FAULTS: Mapping[str, Fault] = {name: Fault(**fault) for name, fault in WORDS["faults"].items()}


@dataclass(frozen=True)
class Finding:
    """One place of one report: which fault, what was found there, what to do next."""

    fault: str  # a name in FAULTS
    where: str
    found: str
    next: str

    def __str__(self) -> str:
        return f"{self.where}: {self.fault}: {self.found}. Next: {self.next}."


def finding(rule: str, where: str, **values: Any) -> Finding:
    """What findings.toml says under the name of this rule, with these values in their places."""
    words = WORDS["findings"][rule]
    advice = words.get("next", "").format(**values) or FAULTS[words["fault"]].usually
    return Finding(words["fault"], where, words["found"].format(**values), advice)
