"""Unit 01, work and depth: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import schedule_judges, work_depth_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "01",
    "Work and depth",
    exercises=(
        Exercise(
            "01.tree_sum",
            "How many steps a sum takes",
            points=1,
            hints=(
                "In each step the numbers are added two by two, so about half of them are left. "
                "How often can you do that until one is left?",
                "Count the steps in a loop: while numbers > 1, let numbers = (numbers + 1) // 2; "
                "an odd one out waits for the next step.",
            ),
            judge=work_depth_judges.judge_tree_sum,
            right="Twice as many numbers take one step more, and one number takes none.",
            parameters=("numbers",),
            ranks=(),
        ),
        Exercise(
            "01.layer",
            "Work and depth of a layer and its gradients",
            points=2,
            hints=(
                "Each pass is as many dot products as its result has numbers. Ask for each: how "
                "many numbers has the result, and over what does it sum?",
                "A dot product of n numbers has the work 2 n - 1 and the depth 1 + tree_sum(n). "
                "There are batch * outputs of inputs numbers each, batch * inputs of outputs "
                "numbers, and inputs * outputs of batch numbers.",
            ),
            judge=work_depth_judges.judge_layer,
            right="Three times nearly the same work, and each pass as deep as its own sum.",
            parameters=("batch", "inputs", "outputs"),
            ranks=(),
        ),
        Exercise(
            "01.count",
            "Count the work and the depth of a graph",
            points=3,
            hints=(
                "Give each operation a level: 1 if it waits for nobody, else one more than the "
                "highest level among those it waits for. What is the depth then?",
                "Go through the operations in order and keep a list: "
                "levels.append(1 + max([levels[other] for other in before], default=0)). The "
                "depth is the largest of all levels.",
            ),
            judge=work_depth_judges.judge_count,
            right="It counts any graph, so from here on no formula need be believed.",
            parameters=("predecessors",),
            ranks=(),
        ),
        Exercise(
            "01.greedy",
            "A greedy scheduler",
            points=3,
            hints=(
                "Keep a queue of the operations that are ready. In each step take up to "
                "`processors` of them; only when all are taken, look who has become ready.",
                "chosen, ready = ready[:processors], ready[processors:]. For each that is chosen "
                "note the step, take one from waiting of each that follows it, and where that "
                "comes to zero append it to ready. Then the next step.",
            ),
            judge=schedule_judges.judge_greedy,
            right="Nobody begins too early, and no processor idles while something is ready.",
            parameters=("predecessors", "processors"),
            ranks=(),
        ),
        Exercise(
            "01.bounds",
            "Between which times a greedy schedule ends",
            points=1,
            hints=(
                "Two things hold at the same time: all the work must be done, and the longest "
                "chain must be gone through. Which of two truths says more?",
                "The first is max(work / processors, depth). For the second, depth operations "
                "are done one after another and the others, work - depth, by all processors.",
            ),
            judge=work_depth_judges.judge_bounds,
            right="No schedule beats the first, and no greedy one is slower than the second.",
            parameters=("work", "depth", "processors"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "01.steps",
            "A fully connected layer has 4,096 inputs, 4,096 outputs and a batch of 64. With as "
            "many processors as you like, how many steps does its forward pass take?",
            "steps",
        ),
        Prediction(
            "01.many",
            "A layer of 64 inputs and 64 outputs, batch 16: 130,048 operations. How many times as "
            "fast as one processor are 65,536?",
            "times",
            close=1.5,
        ),
        Prediction(
            "01.threads",
            "A layer of 64 inputs and one output whose numbers are blocks: matrices of 512 x 64 "
            "and of 64 x 512. How many times as fast as one of your cores are all of them, with "
            "a thread on each?",
            "times",
            close=1.25,
        ),
    ),
)
