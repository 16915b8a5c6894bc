"""What the numbers of a rule may be: checked once, where the rule is made.

A negative rate climbs, a momentum of 1 never forgets, and NaN spreads to every weight: nothing of
this would raise an error while it trains.
"""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

from ddl_runtime.core.arrays import Array
from ddl_teach.training.optimizers.layers import check_layers

States = Sequence[Array]
Rate = float | Callable[[int], float]
"""A number, or a function of the step; steps are counted from 1."""
SHARES = ("momentum", "memory", "betas")  # of what was there before, how much is kept: below 1


def at(rate: Rate, step: int) -> float:
    """What a rate is in this step."""
    if not callable(rate):
        return rate
    now = rate(step)
    if not 0 <= now < math.inf:
        raise ValueError(
            f"the rate in step {step} is {now!r}, and must be zero or more and finite: steps are "
            "counted from 1, so look at what the schedule returns there"
        )
    return now


class Checked:
    """A rule, a frozen dataclass: one with a setting that cannot be is refused."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _check_setting(f"{type(self).__name__}: {name}", name, value)


def _check_setting(what: str, name: str, value: Any) -> None:
    if name == "layers":
        check_layers(value)
    elif name == "betas":
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise TypeError(f"{what} are two numbers, as (0.9, 0.999), not {value!r}")
        for beta in value:
            check_amount(what, beta, below=1)
    elif name != "rate" or not callable(value):
        example = ", or a function of the step" if name == "rate" else ""
        check_amount(what, value, below=1 if name in SHARES else math.inf, example=example)


def check_amount(
    what: str, value: object, *, below: float = math.inf, zero: bool = True, example: str = ""
) -> None:
    """Refuse what is no number from 0 on; above 0 where `zero` makes no sense."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} must be a number{example}, not {value!r}")
    if not 0 <= float(value) < below or not (zero or value):
        begin = "zero or more" if zero else "above zero"
        end = "finite" if below == math.inf else f"less than {below}"
        raise ValueError(f"{what} must be {begin} and {end}, not {value!r}")
