"""Unit 12, four dimensions and pruning: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import grid_judges, pruning_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "12",
    "Four dimensions and pruning",
    exercises=(
        Exercise(
            "12.grids",
            "All grids of so many ranks",
            points=1,
            hints=(
                "Choose the first three among the divisors; the fourth is what is left. When is "
                "something left? When the product of the three divides the ranks.",
                "Go through all divisors three times, for data, pipeline and tensor. Let three = "
                "data * pipeline * tensor. Where ranks % three == 0 there is a grid: (data, "
                "pipeline, tensor, ranks // three).",
            ),
            judge=grid_judges.judge_grids,
            right="Every grid is there, and each of them once.",
            parameters=("ranks",),
            ranks=(),
        ),
        Exercise(
            "12.bytes",
            "What a rank sends along each axis",
            points=3,
            hints=(
                "Begin with two numbers: how many positions a rank has of a micro-batch, and how "
                "many weights it holds. Then go through the four axes: what travels, how often, "
                "and which part of it a ring sends.",
                "here = batch / data / m * length / context; own = blocks / pipeline. Weights are "
                "own * 12 width**2 / tensor, averaged over R = data * context ranks. Along tensor "
                "m * own * 4 sums of here * width numbers. Along context, keys and values have "
                "2 * here * width / tensor numbers a block, and make 3 C - 2 hops, none if C = 1.",
            ),
            judge=grid_judges.judge_bytes,
            right="Pure or mixed: to the byte what the trainer's blocks send.",
            parameters=("grid", "blocks", "width", "length", "batch", "micro_batches"),
            ranks=(),
        ),
        Exercise(
            "12.seconds",
            "The time of a step",
            points=2,
            hints=(
                "What does a stage do for each micro-batch? It computes, sums along tensor, and "
                "lets keys and values go round. All of that the bubble stretches; the messages "
                "between stages and the averaging it does not.",
                "data, hops, tensor, context = [n * each for n, each in zip(sent, per_byte)]; the "
                "rest is (busy + tensor + context) * (1 + (pipeline - 1) / micro_batches) + hops "
                "+ data.",
            ),
            judge=grid_judges.judge_seconds,
            right="Five terms, and the bubble stretches three of them.",
            parameters=("grid", "micro_batches", "busy", "sent", "per_byte"),
            ranks=(),
        ),
        Exercise(
            "12.compress",
            "Leave the zeros out",
            points=1,
            hints=(
                "The places count in the flat array: row after row. reshape(-1) makes it flat.",
                "return dense.reshape(-1)[places]",
            ),
            judge=pruning_judges.judge_compress,
            right="A vector of the kept values, and nothing of the rest.",
            parameters=("dense", "places"),
            ranks=(),
        ),
        Exercise(
            "12.expand",
            "Put the zeros back",
            points=1,
            hints=(
                "Begin with zeros in a flat array, write the values to their places, and give it "
                "the shape at the end.",
                "dense = np.zeros(np.prod(shape), values.dtype); dense[places] = values; "
                "return dense.reshape(shape)",
            ),
            judge=pruning_judges.judge_expand,
            right="Compressed and expanded, an array is itself, with zeros where nothing is kept.",
            parameters=("values", "places", "shape"),
            ranks=(),
        ),
        Exercise(
            "12.pruned_step",
            "A step that only knows the kept weights",
            points=3,
            hints=(
                "In which order? Compress your own gradient, average what is left over all ranks, "
                "update the velocity, and write the kept weights. The pruned ones are never "
                "touched.",
                "kept = compress(gradient, places); add_up(comm, kept); kept /= comm.size; "
                "velocity[:] = 0.9 * velocity + kept; weights.reshape(-1)[places] -= rate * "
                "velocity.",
            ),
            judge=pruning_judges.judge_step,
            right="All ranks take the step of masked training, with a tenth of its messages.",
            parameters=("comm", "weights", "gradient", "velocity", "places", "rate"),
        ),
    ),
    predictions=(
        Prediction(
            "12.grids",
            "In how many ways can 1,024 ranks be arranged as data x pipeline x tensor x context?",
            "grids",
        ),
        Prediction(
            "12.pure",
            "A GPT of 1.4 billion weights on 512 ranks, 8 on a node: how many times as long as on "
            "the best grid does a step take where all ranks are data-parallel?",
            "times",
            close=1.3,
        ),
        Prediction(
            "12.sparse",
            "A product of two 1,024 x 1,024 matrices, 90% of the numbers of one of them zero and "
            "left out: how many times as fast as the dense product is it?",
            "times",
        ),
    ),
)
