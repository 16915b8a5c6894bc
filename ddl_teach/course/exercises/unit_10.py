"""Unit 10, pipelines: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import pipeline_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

ORDER = ("rank", "ranks", "micro_batches")

UNIT = Unit(
    "10",
    "Pipelines",
    exercises=(
        Exercise(
            "10.idle",
            "Which share of the time do ranks idle?",
            points=1,
            hints=(
                "Look at the picture of the naive pipeline, and count in turns: a turn is one "
                "forward and one backward pass. How many turns does a rank work? How many turns "
                "later than the first is the last rank's first one?",
                "m turns of work, and P - 1 turns in which the pipeline fills and drains: the "
                "share is (P - 1) / (m + P - 1).",
            ),
            judge=judges.judge_idle,
            right="Four ranks with eight micro-batches idle for 3 turns of 11.",
            parameters=("ranks", "micro_batches"),
            ranks=(),
        ),
        Exercise(
            "10.gpipe",
            "GPipe: all forward, then all backward",
            points=1,
            hints=(
                "Every rank does the same here. Write down the list for three micro-batches.",
                "F0, F1, ... and then B0, B1, ...: two lists, one after the other, with "
                'f"F{one}" for one in range(micro_batches).',
            ),
            judge=judges.judge_gpipe,
            right="All ranks are done after (m + P - 1) turns, and each keeps all micro-batches.",
            parameters=ORDER,
            ranks=(),
        ),
        Exercise(
            "10.one_f_one_b",
            "1F1B: one forward, one backward",
            points=3,
            hints=(
                "The last rank can go backward right after each forward pass: F0 B0 F1 B1. The "
                "rank before it must run one ahead: F0 F1 B0 F2 B1. How far ahead runs rank r? "
                "And what if there are fewer micro-batches than that?",
                "ahead = min(ranks - 1 - rank, micro_batches) forward passes first. Then for each "
                "micro-batch: forward with micro-batch + ahead, if there is such a one, and "
                "backward with micro-batch.",
            ),
            judge=judges.judge_one_f_one_b,
            right="GPipe's time, and rank r keeps at most P - r micro-batches, however many pass.",
            parameters=ORDER,
            ranks=(),
        ),
        Exercise(
            "10.message_driven",
            "A message-driven worker",
            points=4,
            hints=(
                "There are three things that can happen to a rank: rank 0 lets in a micro-batch "
                "because it may; an activation arrives from the rank below; a gradient arrives "
                "from the rank above. comm.recv(arriving, ANY) says from whom it came. The last "
                "rank goes backward right after it went forward.",
                "Forward: kept.append(x), entered += 1, begin to send weight * x to rank + 1. "
                "Backward, with g what arrived or on the last rank weight * x: gradient += g @ "
                "kept.popleft(), returned += 1, begin to send weight * g to rank - 1. Keep "
                "x = arriving.copy(), and wait for all sends at the end.",
            ),
            judge=judges.judge_message_driven,
            right="Every rank runs what has arrived, and no more are in flight than may be.",
            parameters=("comm", "weight", "inputs", "in_flight"),
        ),
    ),
    predictions=(
        Prediction(
            "10.kept",
            "32 ranks, 128 micro-batches: GPipe keeps the activations of 128 on each rank. How "
            "many does 1F1B keep, on the average of all ranks?",
            "micro-batches",
            close=1.5,
        ),
        Prediction(
            "10.limit",
            "Four ranks, 3 ms a turn, and messages that take 6 ms: from how many micro-batches in "
            "flight on does nobody wait any more?",
            "micro-batches",
            close=1.5,
        ),
    ),
)
