"""Predict before you run: with a number written down, you learn from being wrong.

`predict` keeps the number over the whole course, `reveal` lays it beside the one that was found.
"""

import math
import numbers
from collections.abc import Callable

from IPython.display import display

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import record
from ddl_class.exercises.exercise import Kind, Prediction
from ddl_class.exercises.registry import find_prediction
from ddl_class.plots.course import amount, finding, plot_prediction
from ddl_runtime.diagnosis.page import paragraphs

show: Callable[[object], object] = display  # which IPython gives no types


def predict(name: str, value: object = ...) -> None:
    """Commit to a number. It may be changed until it is revealed."""
    prediction = find_prediction(name)
    if value is ... or value is None:
        print(paragraphs(prediction.question))
        print("Write a number in place of the dots, and run this again.\n")
        return
    number = _number(prediction, value)
    if not 0 <= number <= prediction.most:
        bounds = "0 or more" if math.isinf(prediction.most) else f"0 to {amount(prediction.most)}"
        raise Mistake(f"{name} is {bounds} ({prediction.quantity}); you wrote {value}")
    with record.changing() as kept:
        kept["predictions"][name] = {"value": number}
    print(f"You say {amount(number)} {prediction.quantity}. We will see.")


def reveal(name: str, result: float, kind: Kind | None = None) -> None:
    """Show the prediction beside what was found, in words and in a picture.

    `kind` is given where this run found it in another way than the notebook usually does.
    """
    prediction = find_prediction(name)
    kind, truth = kind or prediction.kind, _number(prediction, result)
    with record.changing() as kept:
        known = record.of(kept, "predictions", name)
        known["found"] = truth
    if "value" not in known:
        print(f"You made no prediction; {kind} {amount(truth)} {prediction.quantity}.")
        return
    predicted, quantity, close = known["value"], prediction.quantity, prediction.close
    print(f"{finding(predicted, kind, truth, quantity, close)}.")
    show(plot_prediction(predicted, {kind: truth}, quantity, close=close))


def _number(prediction: Prediction, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise Mistake(f"{prediction.name} needs a number ({prediction.quantity}), not {value!r}")
    return float(value)
