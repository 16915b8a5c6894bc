"""Predict before you run: with a number written down, you learn from being wrong.

`predict` keeps the number over the whole course, and `reveal` lays it beside the one that was
found. `predictions` shows all of a unit at its end.
"""

import math
import numbers
from collections.abc import Callable

from IPython.display import display

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import record
from ddl_class.exercises.exercise import Kind, Prediction
from ddl_class.exercises.kit.texts import Texts, read
from ddl_class.exercises.registry import find_prediction, find_unit
from ddl_class.plots.course import Outcome, amount, finding, plot_prediction, plot_predictions
from ddl_runtime.diagnosis.page import paragraphs

SAY = Texts(read(__package__, "says.toml"))
show: Callable[[object], object] = display  # which IPython gives no types


def predict(name: str, value: object = ...) -> None:
    """Commit to a number. It may be changed until the answer has been shown."""
    prediction = find_prediction(name)
    if value is ... or value is None:
        print(paragraphs(prediction.question))
        print(f"{SAY['no_number']}\n")
        return
    number = _number(prediction, value)
    if not 0 <= number <= prediction.most:
        bounds = "0 or more" if math.isinf(prediction.most) else f"0 to {amount(prediction.most)}"
        raise Mistake(f"{name}: {value} {prediction.quantity} is impossible. Write {bounds}")
    with record.changing() as kept:
        known = record.of(kept, "predictions", name)
        known["last"] = str(record.today())
        if "found" not in known:
            known["value"] = number
    before = known.get("value")
    if "found" not in known:
        text = "you_say"
    elif before is None:
        text = "too_late"
    else:
        text = "said_same" if before == number else "said_before"
    counted = amount(number if before is None else before)
    print(SAY(text, value=counted, quantity=prediction.quantity))


def reveal(name: str, result: float, kind: Kind | None = None) -> None:
    """Show the prediction beside what was found, in words and in a picture. Where there is none
    it is asked for, once.

    `kind` is given where this run found it in another way than the notebook usually does.
    """
    prediction = find_prediction(name)
    kind, truth = kind or prediction.kind, _number(prediction, result)
    with record.changing() as kept:
        known = record.of(kept, "predictions", name)
        ask = "value" not in known and "asked" not in known
        known |= {"asked": True} if ask else {"found": truth, "kind": kind}
    if ask:
        print(paragraphs(prediction.question))
        print(paragraphs(SAY("asked", name=name)))
        return
    predicted, quantity, close = known.get("value"), prediction.quantity, prediction.close
    if predicted is None:
        print(SAY("no_prediction", kind=kind, value=amount(truth), quantity=quantity))
    else:
        print(f"{finding(predicted, kind, truth, quantity, close)}.")
    show(plot_prediction(predicted, {kind: truth}, quantity, close=close))


def predictions(unit: str) -> None:
    """Show what was predicted in a unit, as "05", beside what was found, in one picture."""
    kept = record.read()["predictions"]
    outcomes = []
    for prediction in find_unit(unit).predictions:
        known = kept.get(prediction.name, {})
        if "value" in known and "found" in known:
            kind = known.get("kind", prediction.kind)
            outcomes.append(Outcome(
                prediction.name, known["value"], kind, known["found"], prediction.quantity,
                prediction.close,
            ))  # fmt: skip
    if outcomes:
        show(plot_predictions(outcomes))
    else:
        print(SAY["none_here"])


def _number(prediction: Prediction, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise Mistake(f"{prediction.name} needs a number ({prediction.quantity}), not {value!r}")
    return float(value)
