"""Unit 15, second part: the exercises on gossip."""

from __future__ import annotations

from ddl_teach.course.exercises import gossip_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction

EXERCISES = (
    Exercise(
        "15.weights",
        "Weights with which nobody counts for more",
        points=2,
        hints=(
            "Two neighbours must give each other the same weight, so it has to be one that both "
            "can afford: the one with more neighbours decides. What a rank has left when all its "
            "neighbours have got theirs, it keeps.",
            "For each i, for each j in neighbours[i]: matrix[i, j] = 1 / (1 + "
            "max(len(neighbours[i]), len(neighbours[j]))). Then matrix[i, i] = 1 - "
            "matrix[i].sum().",
        ),
        judge=judges.judge_weights,
        right="Rows and columns sum to 1: ranks that average so agree, and on the mean of all.",
        parameters=("neighbours",),
        ranks=(),
    ),
    Exercise(
        "15.mix",
        "A step of gossip",
        points=3,
        hints=(
            "Row comm.rank says from whom to hear, and with which weight; column comm.rank says "
            "who wants to hear from this rank. Begin to send a copy of x, so that x may change; "
            "then hear the others one by one; wait for what was begun.",
            "mine, heard = x.copy(), np.empty_like(x); sent = [comm.isend(mine, other) for other "
            "in others if matrix[other, me]]; x *= matrix[me, me]; for each other with matrix[me, "
            "other]: comm.recv(heard, other); x += matrix[me, other] * heard. At the end wait "
            "for every request in sent.",
        ),
        judge=judges.judge_mix,
        right="A step costs a message for each neighbour, whatever the number of ranks.",
        parameters=("comm", "x", "matrix"),
    ),
)

PREDICTIONS = (
    Prediction(
        "15.steps",
        "64 ranks on a ring, each averaging with its two neighbours: after how many steps is even "
        "the most stubborn disagreement down to a hundredth?",
        "steps",
        close=3.0,
    ),
)
