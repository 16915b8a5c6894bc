"""The puzzle of unit 02: steps that compute four outputs of a row, carried out and timed."""

import math
import re
from collections.abc import Mapping, Sequence

PRODUCT, CHEAP = 16e-9, 1e-9  # seconds; cheap are sums, and products with a power of two
STEP = re.compile(r"([A-Za-z]\w*)\s*=\s*(\S+)\s*([-+*])\s*(\S+)")


class BadStep(Exception):
    """A step that cannot be carried out: its text, and the name of what is wrong with it."""

    def __init__(self, step: str, reason: str, name: str = "") -> None:
        super().__init__(f"{step!r} cannot be carried out. The check says why")
        self.step, self.reason, self.name = step, reason, name


def carried_out(
    steps: Sequence[str], sums: Mapping[str, Sequence[float]], pixels: Sequence[float],
    weights: Sequence[float],
) -> tuple[dict[str, float], float]:  # fmt: skip
    """All values that depend on pixels, by name, and how many seconds the steps take."""
    values = {f"d{place}": float(pixel) for place, pixel in enumerate(pixels)}
    known = {
        name: sum(factor * weight for factor, weight in zip(each, weights, strict=True))
        for name, each in sums.items()
    }
    seconds = 0.0
    for step in steps:
        written = STEP.fullmatch(step.strip())
        if not written:
            raise BadStep(step, "unreadable")
        name, left, sign, right = written.groups()
        pair = [_operand(step, each, values, known) for each in (left, right)]
        (first, of_pixels), (second, also) = pair
        if sign == "*":
            if of_pixels == also:
                raise BadStep(step, "two_pixels" if also else "no_pixel")
            factor, text = (second, right) if of_pixels else (first, left)
            power = text not in known and factor and math.frexp(abs(factor))[0] == 0.5
            values[name], seconds = first * second, seconds + (CHEAP if power else PRODUCT)
        else:
            if not (of_pixels and also):
                raise BadStep(step, "no_pixel")
            values[name] = first + second if sign == "+" else first - second
            seconds += CHEAP
    return values, seconds


def _operand(
    step: str, text: str, values: Mapping[str, float], known: Mapping[str, float]
) -> tuple[float, bool]:
    """The value of an operand, and whether it depends on pixels."""
    if text in values:
        return values[text], True
    if text in known:
        return known[text], False
    try:
        return float(text), False
    except ValueError:
        raise BadStep(step, "unknown", text) from None
