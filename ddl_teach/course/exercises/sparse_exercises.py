"""Unit 16, second part: sums of sparse vectors."""

from __future__ import annotations

from ddl_teach.course.exercises import sparse_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction

EXERCISES = (
    Exercise(
        "16.sparse_sum",
        "A sparse all-reduce",
        points=3,
        hints=(
            "It is recursive doubling, as in unit 06: swap the sum so far with comm.rank ^ 1, "
            "then ^ 2, then ^ 4. But nobody knows how many entries the other has. How can it be "
            "told, before the arrays that take them are made?",
            "In each step: count = np.empty(1, int); comm.sendrecv(np.array([len(indices)]), "
            "partner, count, partner). Then others, more = np.empty(count[0], int), "
            "np.empty(count[0]), two more sendrecv for indices and values, and indices, values = "
            "merge(indices, values, others, more).",
        ),
        judge=judges.judge_sparse_sum,
        right="Every rank has the sum, in log2 P steps, and only entries have travelled.",
        parameters=("comm", "indices", "values"),
        ranks=(1, 2, 4, 8),
        powers_of_two=True,
    ),
)

PREDICTIONS = (
    Prediction(
        "16.fill",
        "Each of 64 ranks has entries at 1% of all places, drawn at random. At how many percent "
        "of the places does the sum have one?",
        "percent",
        close=1.3,
    ),
)
