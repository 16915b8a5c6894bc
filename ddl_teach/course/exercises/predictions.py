"""Predict before you run: whoever has committed to a number learns from being wrong.

`predict` keeps the number over the whole course, `reveal` lays it beside the measured one.
"""

from __future__ import annotations

import math
import numbers

from matplotlib.figure import Figure

from ddl_teach.comm.page import paragraphs
from ddl_teach.course.exercises import record
from ddl_teach.course.exercises.exercise import Prediction
from ddl_teach.course.exercises.registry import find_prediction
from ddl_teach.course.mistake import Mistake
from ddl_teach.plots.prediction import amount, finding, plot_prediction


def predict(name: str, value: object = ...) -> None:
    """Commit to a number. It may be changed until it is revealed."""
    prediction = find_prediction(name)
    if value is ... or value is None:
        print(paragraphs(prediction.question))
        print("Write a number in place of the dots, and run this again.\n")
        return
    number = _number(prediction, value)
    with record.changing() as kept:
        kept["predictions"][name] = {"value": number}
    print(f"You say {amount(number)} {prediction.quantity}. We will see.")


def reveal(name: str, measured: float) -> Figure | None:
    """Lay the prediction beside what came out, in words and in a picture."""
    prediction = find_prediction(name)
    truth = _number(prediction, measured)
    with record.changing() as kept:
        known = record.of(kept, "predictions", name)
        known["measured"] = truth
    if "value" not in known:
        print(f"You made no prediction; it came out as {amount(truth)} {prediction.quantity}.")
        return None
    said, quantity, close = known["value"], prediction.quantity, prediction.close
    print(f"{finding(said, 'measured', truth, quantity, close)}.")
    return plot_prediction(said, {"measured": truth}, quantity, close=close)


def _number(prediction: Prediction, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise Mistake(
            f"{prediction.name}: a number of {prediction.quantity} is needed, not {value!r}"
        )
    return float(value)
