"""Unit 08, data parallelism: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import data_parallel_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "08",
    "Data parallelism",
    exercises=(
        Exercise(
            "08.average",
            "Average the gradients of all ranks",
            points=2,
            hints=(
                "The average is the sum over all ranks, divided by how many they are. add_up "
                "makes the sum, on all ranks at once. What is left to do is one line more, for "
                "each of the arrays.",
                "for gradient in gradients: add_up(comm, gradient); gradient /= comm.size.",
            ),
            judge=judges.judge_average,
            right="All ranks hold the same average, so that they take the same step.",
            parameters=("comm", "gradients"),
        ),
        Exercise(
            "08.weighted",
            "Average over samples, not over ranks",
            points=2,
            hints=(
                "A rank's gradient is the mean over its own samples. Multiplied by their number "
                "it is a sum over samples, and such sums may be added up. By what must the grand "
                "total be divided, and how does a rank come to know that number?",
                "everybodys = np.array([float(samples)]); add_up(comm, everybodys); then for each "
                "gradient: gradient *= samples / everybodys[0]; add_up(comm, gradient). There is "
                "nothing to divide any more.",
            ),
            judge=judges.judge_weighted,
            right="Every sample counts the same, whichever rank it is on.",
            parameters=("comm", "gradients", "samples"),
        ),
        Exercise(
            "08.fill",
            "Which gradients share a bucket?",
            points=2,
            hints=(
                "Go through the numbers from the last to the first, and keep two things: the list "
                "of buckets, and how many bytes the newest of them holds. When does a gradient "
                "need a new bucket? Two answers: it does not fit, or there is no bucket yet.",
                "for index in reversed(range(len(sizes))): if not groups or used + sizes[index] > "
                "limit: groups.append([]); used = 0. Then groups[-1].append(index); used += "
                "sizes[index].",
            ),
            judge=judges.judge_fill,
            right="Late layers come first, and no bucket holds more than it may.",
            parameters=("sizes", "limit"),
            ranks=(),
        ),
        Exercise(
            "08.overlap",
            "Buckets that leave while the backward pass goes on",
            points=3,
            hints=(
                "The hook is called with the number of a gradient that is ready. Find the bucket "
                "it belongs to and strike it off there. Is nothing missing in that bucket any "
                "more? Then it may leave, now. What must you keep for the end?",
                "In the hook: for number, group in enumerate(missing): if index in group: "
                "group.remove(index); if not group: under_way.append((number, begin(comm, "
                "pack(gradients, groups[number]), number))). After backward: for number, one in "
                "under_way: unpack(finish(one) / comm.size, gradients, groups[number]).",
            ),
            judge=judges.judge_overlap,
            right="Each bucket leaves with its last gradient, under the rest of the pass.",
            parameters=("comm", "gradients", "groups"),
        ),
    ),
    predictions=(
        Prediction(
            "08.best",
            "On 1,024 ranks, with the network of section 6: of how many bytes is the best bucket?",
            "bytes",
            close=4.0,
        ),
        Prediction(
            "08.alone",
            "There: how many times as long as with the best buckets does a step take if every "
            "gradient travels alone?",
            "times",
        ),
    ),
)
