"""A recipe: everything that another person needs to repeat a training, and to be judged alike.

What is *fixed* makes results comparable: data, network, ranks, how long one may train. What is
*free* is where people may be clever. The target is an accuracy on data held out; it stands before
anybody runs. A recipe has worked if **every** seed has reached it: what works for lucky seeds only
is no recipe. (Fixed, free and a target are MLPerf's rules as well: Mattson et al. 2020.)
What to look at: epochs to the target must be the same for whoever repeats it; seconds need not.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddl_teach.measure.reports.report import Data

Value = bool | int | float | str
Settings = Mapping[str, Value]
WORDS = {"title", "program", "ranks", "seeds", "fixed", "free", "target", "data"}


@dataclass(frozen=True)
class Recipe:
    """`program` names a rank program as FILE.py:FUNCTION, beside the recipe's own `file`.

    It is called as `program(comm, seed=..., **settings)` and returns, on every rank, all its looks
    at the data held out, as `Checkpoint`s. One setting is `batch`, the samples of a step on all
    ranks together. `free` has the values that are taken unless others are given.
    """

    file: Path
    title: str
    program: str
    ranks: int
    seeds: tuple[int, ...]
    fixed: Settings
    free: Settings
    target: float
    in_a_row: int
    data: Data

    def __post_init__(self) -> None:
        both = sorted(set(self.fixed) & set(self.free))
        if both:
            raise ValueError(f"{self.file}: {', '.join(both)} cannot be fixed and free at once")
        if "batch" not in {**self.fixed, **self.free}:
            raise ValueError(f"{self.file}: no setting is called batch, the samples of a step")
        if not 0 < self.target <= 1 or self.in_a_row < 1 or self.ranks < 1:
            raise ValueError(
                f"{self.file}: target.accuracy={self.target} is a share, such as 0.95; "
                f"target.in_a_row={self.in_a_row} and ranks={self.ranks} are at least 1"
            )
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"{self.file}: seeds={self.seeds} must be different, at least one")

    def settings(self, changed: Settings) -> dict[str, Value]:
        """All settings, some of the free ones changed; what is fixed stays, or is refused."""
        for name, value in changed.items():
            if name in self.fixed:
                raise ValueError(
                    f"{name}={self.fixed[name]} is fixed: with another one it would be another "
                    f"recipe. Free are {', '.join(self.free)}"
                )
            if name not in self.free:
                raise ValueError(f"no setting is called {name}. Free are {', '.join(self.free)}")
            wanted = type(self.free[name])
            if type(value) is not wanted and (wanted, type(value)) != (float, int):
                raise ValueError(
                    f"{name}={value!r} must be such as {self.free[name]!r}, of type "
                    f"{wanted.__name__}"
                )
        return {**self.fixed, **self.free, **changed}

    @property
    def code(self) -> str:
        """The program's name and what its file holds, as a hash."""
        text = (self.file.parent / self.program.partition(":")[0]).read_bytes()
        return f"{self.program}, sha256 {hashlib.sha256(text).hexdigest()[:16]}"


def read_recipe(file: Path | str) -> Recipe:
    """The recipe that a TOML file tells."""
    file = Path(file)
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}") from None
    if set(told) != WORDS:
        missing, unknown = sorted(WORDS - set(told)), sorted(set(told) - WORDS)
        raise ValueError(
            f"{file} is no recipe: missing {', '.join(missing) or 'nothing'}; unknown "
            f"{', '.join(unknown) or 'nothing'}"
        )
    return _made(file, told)


def _made(file: Path, told: dict[str, Any]) -> Recipe:
    try:
        target, data = told["target"], told["data"]
        return Recipe(
            file, told["title"], told["program"], told["ranks"], tuple(told["seeds"]),
            told["fixed"], told["free"], target["accuracy"], target.get("in_a_row", 1),
            Data(data["name"], data["training"], data["held_out"], tuple(data["shape"])),
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file}: {error} is missing or of another kind") from None
