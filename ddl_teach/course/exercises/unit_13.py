"""Unit 13, large batches: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import large_batch_judges as judges
from ddl_teach.course.exercises import lars_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "13",
    "Large batches",
    exercises=(
        Exercise(
            "13.rate",
            "A rate that grows with the batch, and warms up",
            points=2,
            hints=(
                "Two cases. Later than `warm_up` steps: the peak, base * batch / reference. Until "
                "then: on the straight line from base to the peak. How many equal pieces of that "
                "line lie behind you in step 1, and how many in step warm_up + 1?",
                "peak = base * batch / reference; if step > warm_up: return peak; "
                "return base + (peak - base) * (step - 1) / warm_up.",
            ),
            judge=judges.judge_rate,
            right="It begins where the small batch is at home, and ends where linear scaling is.",
            parameters=("step", "batch", "base", "reference", "warm_up"),
            ranks=(),
        ),
        Exercise(
            "13.noise",
            "How noisy are the gradients?",
            points=3,
            hints=(
                "You need two squared lengths: that of a rank's own gradient, averaged over the "
                "ranks, and that of the averaged gradient. Each is |G|^2 plus noise / samples in "
                "it. The first is of `samples` samples, the second of P * samples. Two equations, "
                "two unknowns.",
                "mean = gradient.copy(); add_up(comm, mean); mean /= P; large = mean @ mean. "
                "own = np.array([gradient @ gradient]); add_up(comm, own); small = own[0] / P. "
                "noise = samples * (small - large) * P / (P - 1); "
                "signal = (P * large - small) / (P - 1).",
            ),
            judge=judges.judge_noise,
            right="Ranks know how noisy their gradients are, and one more number is all it costs.",
            parameters=("comm", "gradient", "samples"),
            ranks=(2, 3, 4, 5, 8),
        ),
        Exercise(
            "13.lars",
            "LARS: each layer at a rate of its own",
            points=3,
            hints=(
                "Go through the layers; zip gives you each one's weights, gradient and moment. "
                "First make the gradient the average over the ranks. Only then ask for its "
                "length: np.linalg.norm. What changes in place, what may be a new array?",
                "for w, g, m in zip(weights, gradients, moments): add_up(comm, g); g /= "
                "comm.size; trust = np.linalg.norm(w) / np.linalg.norm(g); m *= 0.9; "
                "m += rate * trust * g; w -= m.",
            ),
            judge=lars_judges.judge_lars,
            right="Every layer moves by the same share of its length, alike on all ranks.",
            parameters=("comm", "weights", "gradients", "moments", "rate"),
        ),
    ),
    predictions=(
        Prediction(
            "13.noise",
            "The digits of this unit: in a batch of how many samples are the gradient's noise "
            "and the true gradient equally long?",
            "samples",
            close=3.0,
        ),
        Prediction(
            "13.sooner",
            "64 ranks with 8 samples each, on a fast network: how many times as soon as one rank "
            "are they there?",
            "times as soon",
        ),
    ),
)
