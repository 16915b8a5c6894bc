"""Unit 03, micro-batches: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import division_judges, program_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "03",
    "Micro-batches",
    exercises=(
        Exercise(
            "03.pareto",
            "Which points can be the best one",
            points=2,
            hints=(
                "Go through the points from the smallest workspace to the largest. Which of them "
                "can be of any use to somebody who has seen all smaller ones?",
                "np.lexsort((seconds, workspace)) is the order: by workspace, of equals the "
                "fastest first. Keep a place if its seconds are less than the least so far.",
            ),
            judge=division_judges.judge_pareto,
            right="You keep what nothing else beats, and nothing else.",
            parameters=("workspace", "seconds"),
            ranks=(),
        ),
        Exercise(
            "03.divide",
            "The best division of a batch",
            points=3,
            hints=(
                "Suppose you knew the best time for 0, 1, ..., b - 1 examples. Then for b "
                "examples only the size of the last piece is open: try them all.",
                "least = [0.0]; last = [0]; for b in range(1, batch + 1): the pair (least[b - m] "
                "+ seconds[m], m) with the smallest time, over all m in seconds with m <= b. At "
                "the end: while batch: pieces.append(last[batch]); batch -= last[batch].",
            ),
            judge=division_judges.judge_divide,
            right="No division of any of these batches is faster, and you looked at few of them.",
            parameters=("batch", "seconds"),
            ranks=(),
        ),
        Exercise(
            "03.program",
            "The same as an integer program",
            points=2,
            hints=(
                "The unknowns are how often each offer is taken. Their seconds add up to the "
                "time, their sizes to the batch. Offers that do not fit are no unknowns at all.",
                "fits = workspace <= limit; then c is seconds[fits], the matrix is "
                "sizes[fits][None, :], and b is np.array([batch]).",
            ),
            judge=program_judges.judge_program,
            right="HiGHS finds in it what dynamic programming finds.",
            parameters=("batch", "sizes", "seconds", "workspace", "limit"),
            ranks=(),
        ),
        Exercise(
            "03.share",
            "One room for a whole network",
            points=3,
            hints=(
                "Lay all points of all layers in one long row of unknowns. A layer's row of the "
                "matrix has ones where its own points are; the last one has all workspaces.",
                "np.concatenate(seconds) is c. For each layer matrix[layer, first:first + count] "
                "is 1, and matrix[layers] is np.concatenate(workspace). low is ones and then a "
                "0, high is ones and then the room.",
            ),
            judge=program_judges.judge_share,
            right="One point for each layer, and all of them in one room.",
            parameters=("workspace", "seconds", "room"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "03.points",
            "A batch of 64, five methods, pieces of 1, 2, 4, ..., 64: there are 630 thousand "
            "million divisions. How many of them can be best under some limit?",
            "divisions",
            close=2.0,
        ),
        Prediction(
            "03.room",
            "What share of the room of the fastest whole batch is enough, on your machine, for "
            "pieces that are as fast? In percent.",
            "percent",
            close=2.0,
        ),
    ),
)
