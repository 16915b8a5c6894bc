"""Predict before you run: whoever has committed to a number learns from being wrong.

`predict` keeps the number over the whole course, `reveal` lays it beside the measured one.
"""

from __future__ import annotations

import math
import numbers

from ddl_teach.course.exercises import record
from ddl_teach.course.exercises.exercise import Prediction
from ddl_teach.course.exercises.registry import find_prediction
from ddl_teach.course.mistake import Mistake


def predict(name: str, value: object = ...) -> None:
    """Commit to a number. It may be changed until it is revealed."""
    prediction = find_prediction(name)
    if value is ... or value is None:
        print(f"{prediction.question}\nWrite a number in place of the dots, and run this again.")
        return
    number = _number(prediction, value)
    with record.changing() as kept:
        kept["predictions"][name] = {"value": number}
    print(f"You say {_amount(number)} {prediction.quantity}. We will see.")


def reveal(name: str, measured: float) -> None:
    """Lay the prediction beside what came out."""
    prediction = find_prediction(name)
    truth = _number(prediction, measured)
    with record.changing() as kept:
        known = record.of(kept, "predictions", name)
        known["measured"] = truth
    came_out = f"it came out as {_amount(truth)} {prediction.quantity}"
    if "value" not in known:
        print(f"You made no prediction; {came_out}.")
        return
    said = known["value"]
    print(f"You said {_amount(said)}, {came_out}: {_distance(said, truth, prediction.close)}")


def _number(prediction: Prediction, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise Mistake(
            f"{prediction.name}: a number of {prediction.quantity} is needed, not {value!r}"
        )
    return float(value)


def _distance(said: float, truth: float, close: float) -> str:
    if said == truth:
        return "exactly right."
    if said * truth <= 0:
        return f"{_amount(abs(said - truth))} too {'high' if said > truth else 'low'}."
    factor = max(said / truth, truth / said)
    if factor <= close:
        return f"well predicted, within a factor of {factor:.2g}."
    high = abs(said) > abs(truth)
    return f"{_amount(factor)} times too {'high' if high else 'low'}. What did you not think of?"


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() or abs(number) >= 1000 else f"{number:.3g}"
