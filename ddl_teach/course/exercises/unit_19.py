"""Unit 19, validate: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import validate_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "19",
    "Validate",
    exercises=(
        Exercise(
            "19.gradient",
            "Is this gradient right?",
            points=3,
            hints=(
                "Move one number of x at a time, and leave the others as they are. What you "
                "differentiate is one number: the sum of towards * forward(x). How much does it "
                "change from x - h to x + h?",
                "found = np.empty(x.size); for place in range(x.size): way = np.zeros(x.size); "
                "way[place] = step; way = way.reshape(x.shape); found[place] = np.sum(towards * "
                "(forward(x + way) - forward(x - way))) / (2 * step). Then the length of "
                "backward(x, towards).ravel() - found over that of found.",
            ),
            judge=judges.judge_gradient,
            right="Whatever claims to be a gradient can be asked, and needs no second author.",
            parameters=("forward", "backward", "x", "towards", "step"),
            ranks=(),
        ),
        Exercise(
            "19.apart",
            "Two rules along the same way",
            points=3,
            hints=(
                "Two vectors of weights begin alike. In each step ask for one gradient only, at "
                "the weights of the reference, and give it to both rules. What is the distance "
                "worth if nobody has moved much? Divide by the way the reference has gone.",
                "own, right = weights.copy(), weights.copy(); in each step: slope = "
                "gradient(right, step); own = rule(own, slope); right = reference(right, slope); "
                "append norm(own - right) / norm(right - weights).",
            ),
            judge=judges.judge_apart,
            right="A rule that is another one shows it within a few steps.",
            parameters=("rule", "reference", "gradient", "weights", "steps"),
            ranks=(),
        ),
        Exercise(
            "19.worked",
            "Has the recipe worked?",
            points=2,
            hints=(
                "Two questions, one inside the other: has *one* training been at the target for "
                "so many looks in a row, and have *all* of them? What does the first say of a "
                "training that has no looks?",
                "For one training count: run = run + 1 if look >= target else 0, and it was "
                "there once run == in_a_row. Return True only if every training was there.",
            ),
            judge=judges.judge_worked,
            right="Neither luck nor a crash that nobody mentions makes a recipe.",
            parameters=("trainings", "target", "in_a_row"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "19.still",
            "Adam with a bug: its second moment decays as fast as its first one. Right Adam "
            "recognises some 96 of 100 digits. And the wrong one?",
            "of 100 digits",
            close=1.05,
        ),
        Prediction(
            "19.step",
            "You have a right gradient in double precision (16 digits), and central differences. "
            "At which step h is their error the least?",
            "units of x",
            close=100.0,
        ),
    ),
)
