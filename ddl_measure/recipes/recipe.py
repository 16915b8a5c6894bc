"""A recipe: everything that another person needs to repeat a run, and to be judged alike.

What is *fixed* makes results comparable: data, network, ranks, how long one may train. What is
*free* is where people may be clever. The target is an accuracy on data held out; it is set before
the first run. A recipe has worked if **every** seed has reached it: what works for lucky seeds
only is no recipe. (Fixed, free and a target are MLPerf's rules as well: Mattson et al. 2020.) A
run is one training, or one search; of a search the target is what its winner reaches on data that
no trial has seen, and every trial is kept.
What to look at: epochs to the target must be the same in every repetition; seconds need not.
"""

import difflib
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddl_measure.reports.report import Data

Value = bool | int | float | str
Settings = Mapping[str, Value]
ABOUT = {"training": "a training", "search": "a search"}  # and what one seed makes then
KINDS: Mapping[str, tuple[type, ...]] = {
    "title": (str,), "program": (str,), "about": (str,), "ranks": (int,), "seeds": (list,),
    "fixed": (dict,), "free": (dict,), "target": (dict,), "data": (dict, str),
    "target.accuracy": (float, int), "target.in_a_row": (int,), "data.name": (str,),
    "data.training": (int,), "data.held_out": (int,), "data.shape": (list,),
}  # fmt: skip
OPTIONAL = {"about", "target.in_a_row"}


@dataclass(frozen=True)
class Recipe:
    """`program` names a rank program as FILE.py:FUNCTION, beside the recipe's own `file`.

    It is called as `program(comm, seed=..., **settings)`. A training returns, on every rank, all
    its looks at the data held out, as `Checkpoint`s; one of its settings is `batch`, the samples
    of a step on all ranks together. A search returns `Searched` on one rank. `free` has the values
    that are taken unless others are given. `data` may name a function that finds them out from
    the fixed settings, for data that are not the same everywhere.
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
    data: Data | str
    about: str = "training"

    def __post_init__(self) -> None:
        both = sorted(set(self.fixed) & set(self.free))
        if both:
            raise ValueError(f"{self.file}: {', '.join(both)} cannot be fixed and free at once")
        if self.about not in ABOUT:
            raise ValueError(f"{self.file}: about={self.about!r} is not one of {', '.join(ABOUT)}")
        if self.about == "training" and "batch" not in {**self.fixed, **self.free}:
            raise ValueError(f"{self.file}: add the setting `batch`, the samples of a step")
        if not 0 < self.target <= 1 or self.in_a_row < 1 or self.ranks < 1:
            raise ValueError(
                f"{self.file}: target.accuracy={self.target} must be a share, such as 0.95; "
                f"target.in_a_row={self.in_a_row} and ranks={self.ranks} must be at least 1"
            )
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"{self.file}: seeds={self.seeds} must be one or more, all different")

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
                    f"{name}={value!r} must be of type {wanted.__name__}, such as "
                    f"{self.free[name]!r}"
                )
        return {**self.fixed, **self.free, **changed}

    @property
    def unit(self) -> str:
        return ABOUT[self.about]

    @property
    def code(self) -> str:
        """The program's name, and a hash of its file."""
        text = (self.file.parent / self.program.partition(":")[0]).read_bytes()
        return f"{self.program}, sha256 {hashlib.sha256(text).hexdigest()[:16]}"


def read_recipe(file: Path | str) -> Recipe:
    """The recipe in a TOML file."""
    file = Path(file)
    try:
        contents = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}") from None
    _check(file, contents)
    target, data = contents["target"], contents["data"]
    if isinstance(data, dict):
        data = Data(**{**data, "shape": tuple(data["shape"])})
    return Recipe(
        file, contents["title"], contents["program"], contents["ranks"],
        tuple(contents["seeds"]), contents["fixed"], contents["free"], target["accuracy"],
        target.get("in_a_row", 1), data, contents.get("about", "training"),
    )  # fmt: skip


def _check(file: Path, contents: Mapping[str, Any]) -> None:
    """Refuse a setting that is missing, one that is unknown, and a value of another kind."""
    inner = {
        name: contents[name] for name in ("target", "data") if isinstance(contents.get(name), dict)
    }
    values = {
        **contents,
        **{f"{name}.{key}": value for name in inner for key, value in inner[name].items()},
    }
    wanted = {key for key in KINDS if "." not in key or key.partition(".")[0] in inner} - OPTIONAL
    missing, unknown = sorted(wanted - set(values)), sorted(set(values) - set(KINDS))
    if missing or unknown:
        near = [key for word in unknown for key in difflib.get_close_matches(word, KINDS, 1)]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise ValueError(
            f"{file} is no recipe: missing {', '.join(missing) or 'nothing'}; unknown "
            f"{', '.join(unknown) or 'nothing'}{hint}"
        )
    wrong = [key for key, value in values.items() if type(value) not in KINDS[key]]
    wrong += ["seeds"] if any(type(seed) is not int for seed in contents["seeds"]) else []
    if wrong:
        kinds = " or ".join(kind.__name__ for kind in KINDS[wrong[0]])
        raise ValueError(
            f"{file}: {wrong[0]} = {values[wrong[0]]!r} has the wrong type: it must be {kinds}"
            + (", of whole numbers" if wrong[0] == "seeds" else "")
        )
