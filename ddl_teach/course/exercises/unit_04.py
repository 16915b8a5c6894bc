"""Unit 04, recurrences and precision: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import precision_judges, recurrence_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "04",
    "Recurrences and precision",
    exercises=(
        Exercise(
            "04.fused",
            "All gates of an LSTM from one product",
            points=3,
            hints=(
                "both @ weight + bias has four times as many columns as c. np.split(..., 4, "
                "axis=1) cuts it into enter, forget, new and leave, in this order.",
                "enter, forget and leave go through sigmoid, new through np.tanh. Then "
                "c = forget * c + enter * new, and the new h is leave * np.tanh(c). Return h, c.",
            ),
            judge=recurrence_judges.judge_fused,
            right="One product, cut into four gates: the same numbers as four products.",
            parameters=("x", "h", "c", "weight", "bias"),
            ranks=(),
        ),
        Exercise(
            "04.wavefronts",
            "In which turn each cell is computed",
            points=3,
            hints=(
                "The cell (0, 0) is first. Then (0, 1) and (1, 0) can be computed together. What "
                "do layer and step of these two have in common?",
                "Turn number w holds all cells with layer + step == w, and w runs from 0 to "
                "layers + steps - 2. The step of a layer in turn w is w - layer; keep it if it "
                "is one of the steps.",
            ),
            judge=recurrence_judges.judge_wavefronts,
            right="Every cell once, none before what it needs, in as few turns as can be.",
            parameters=("layers", "steps"),
            ranks=(),
        ),
        Exercise(
            "04.ranks",
            "A layer on each rank",
            points=4,
            hints=(
                "Three things in each step: receive this step's x from rank - 1 (not on rank 0), "
                "compute, send the new h to rank + 1 (not on the last rank).",
                "For each now in x: if comm.rank > 0: comm.recv(now, comm.rank - 1); then the two "
                "lines of a cell; then if comm.rank + 1 < comm.size: comm.send(h, comm.rank + 1); "
                "at last outputs.append(h).",
            ),
            judge=recurrence_judges.judge_ranks,
            right="Every rank sends a step up as soon as it has it: the ranks make the wavefront.",
            parameters=("comm", "x", "w", "u", "seconds"),
        ),
        Exercise(
            "04.pairwise",
            "A sum by halves",
            points=2,
            hints=(
                "A sum of one number is that number. A sum of more is the sum of the first half "
                "plus the sum of the second half.",
                "if len(x) == 1: return x[0]; otherwise return pairwise_sum(x[:middle]) + "
                "pairwise_sum(x[middle:]), with middle = len(x) // 2.",
            ),
            judge=precision_judges.judge_pairwise,
            right="No number passes more than log2 n roundings.",
            parameters=("x",),
            ranks=(),
        ),
        Exercise(
            "04.scaling",
            "A step with a dynamic loss scale",
            points=4,
            hints=(
                "First make the gradient float32, then divide it by the scale. If anything in it "
                "is not finite, return the weights as they were, half the scale, and 0.",
                "Otherwise the weights become weights - rate * gradient, and good + 1 steps were "
                "good in a row. If these are `interval`, return twice the scale, and 0.",
            ),
            judge=precision_judges.judge_scaling,
            right="Small gradients survive, overflows do no harm, and the scale finds its way.",
            parameters=("weights", "gradient", "scale", "good", "interval", "rate"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "04.turns",
            "1,000 layers and 1,000 steps are a million cells. With as many processors as you "
            "want, in how many turns can they be computed?",
            "turns",
            close=1.1,
        ),
        Prediction(
            "04.ranks",
            "1,000 ranks have a layer each, and there are 1,000 steps. How many times as fast as "
            "one rank are they, with messages that cost nothing?",
            "times as fast",
            close=1.5,
        ),
        Prediction(
            "04.ones",
            "10,000 ones are added in half precision, one after the other. What is the sum?",
            "ones",
            close=1.1,
        ),
    ),
)
