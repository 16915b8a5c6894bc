"""Unit 16, fewer bytes: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import form_judges as judges
from ddl_teach.course.exercises import sparse_exercises
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "16",
    "Fewer bytes",
    exercises=(
        Exercise(
            "16.top_k",
            "The k largest entries",
            points=2,
            hints=(
                "np.argsort(np.abs(vector)) lists the places from the smallest magnitude to the "
                "largest. Which of them do you need, and in which order do they have to be?",
                "indices = np.sort(np.argsort(np.abs(vector))[len(vector) - k :]), and then "
                "return indices, vector[indices].",
            ),
            judge=judges.judge_top_k,
            right="The largest magnitudes, with their signs, in the order of their places.",
            parameters=("vector", "k"),
            ranks=(),
        ),
        Exercise(
            "16.feedback",
            "Keep what was not sent",
            points=2,
            hints=(
                "There are three lines: put together what is to be said, send what the form makes "
                "of it, and keep the difference. The old residual is in the first of them.",
                "total = vector + residual; sent = compress(total); return sent, total - sent.",
            ),
            judge=judges.judge_feedback,
            right="What was sent and what stays are together all that ever came in.",
            parameters=("vector", "residual"),
            ranks=(),
        ),
        Exercise(
            "16.one_bit",
            "One bit for each number",
            points=2,
            hints=(
                "upper = vector >= 0 is an array of truth values, each of which takes a byte; "
                "np.packbits puts eight of them into one. vector[upper] are the entries that are "
                "not negative. What is their mean if there are none?",
                "def mean(part): return part.mean() if len(part) else 0.0; then return "
                "np.packbits(upper), mean(vector[upper]), mean(vector[~upper]).",
            ),
            judge=judges.judge_one_bit,
            right="Eight numbers to a byte, and the sum of the vector stays as it was.",
            parameters=("vector",),
            ranks=(),
        ),
        Exercise(
            "16.quantise",
            "Round by drawing lots",
            points=2,
            hints=(
                "levels * np.abs(vector) / length lies between two whole numbers. Add a number "
                "drawn from [0, 1) and round down: how often will it be the upper one? And what "
                "if the vector is all zeros?",
                "length = np.linalg.norm(vector); scaled = levels * np.abs(vector) / (length or "
                "1); return length, np.sign(vector) * np.floor(scaled + draws).",
            ),
            judge=judges.judge_quantise,
            right="Each message is coarse, and the mean of many is the vector itself.",
            parameters=("vector", "levels", "draws"),
            ranks=(),
        ),
        *sparse_exercises.EXERCISES,
    ),
    predictions=(
        Prediction(
            "16.two",
            "Four workers send 2 of 2,410 entries a step each, the largest, and forget the rest. "
            "After 200 steps, how many percent of the digits held out are recognised? (Whoever "
            "sends all: 95.)",
            "percent",
            close=1.3,
        ),
        Prediction(
            "16.bandwidth",
            "On 64 ranks, 4 MB of gradients, packed to one bit in 10 ms and unpacked in 5 ms: "
            "below how many megabytes a second of a link does packing pay?",
            "MB/s",
        ),
        *sparse_exercises.PREDICTIONS,
    ),
)
