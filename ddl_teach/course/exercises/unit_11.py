"""Unit 11, memory: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import memory_judges, plan_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "11",
    "Memory",
    exercises=(
        Exercise(
            "11.states",
            "Stage 1: each rank keeps its part of the states",
            points=3,
            hints=(
                "An all-reduce is a reduce-scatter and an all-gather. Between the two each rank "
                "holds a finished part of the sum: that is the moment to update.",
                "mean = reduce_scatter(comm, gradient) / comm.size; moment *= 0.9; "
                "moment += mean; own -= rate * moment; and then allgather(comm, weights).",
            ),
            judge=memory_judges.judge_states,
            right="Every rank has the new weights, nobody all moments, and no byte more was sent.",
            parameters=("comm", "weights", "gradient", "moment", "rate"),
        ),
        Exercise(
            "11.gradients",
            "Stage 2: each rank keeps its part of the gradients",
            points=2,
            hints=(
                "Work through the list from its first place on, as the backward pass does. What "
                "stands in the place afterwards is short: one part of P.",
                "for i, gradient in enumerate(gradients): gradients[i] = "
                "reduce_scatter(comm, gradient) / comm.size.",
            ),
            judge=memory_judges.judge_gradients,
            right="Each list holds this rank's parts only; the memory of the rest is free again.",
            parameters=("comm", "gradients"),
        ),
        Exercise(
            "11.parameters",
            "Stage 3: a layer is whole only while it is computed",
            points=4,
            hints=(
                "Forward: for each part, gather the layer, compute, and keep only its output. "
                "Backward, from the last layer on: gather it once more, compute the error below "
                "and the gradient, and reduce-scatter that.",
                "outputs = [x]; for part in parts: outputs.append(np.tanh("
                "outputs[-1] @ gathered(comm, part, width))). Then error = outputs[-1] - target "
                "and, for part in reversed(parts): y = outputs.pop(); error, gradient = "
                "layer_backward(outputs[-1], y, gathered(comm, part, width), error); own.append("
                "reduce_scatter(comm, gradient.ravel()) / comm.size). Return own[::-1].",
            ),
            judge=memory_judges.judge_parameters,
            right="The gradients are those of whole weights, and 3 (P-1)/P of them were sent.",
            parameters=("comm", "parts", "x", "target"),
        ),
        Exercise(
            "11.offload",
            "States on the host, bucket by bucket",
            points=3,
            hints=(
                "First make it right: rank 1 sends a bucket and receives it back, rank 0 "
                "receives, updates, sends. Then make it fast: which of these can happen at the "
                "same time, for two neighbouring buckets?",
                "Rank 1: for k, part in enumerate(parts): comm.send(part, 0), and if k > 0 "
                "comm.recv(parts[k - 1], 0); at the end comm.recv(parts[-1], 0). Rank 0 has two "
                "places: coming.wait(), then at once coming = comm.irecv(the other place, 1) for "
                "the next bucket, then update this one and comm.send it back.",
            ),
            judge=memory_judges.judge_offload,
            right="The device held two buckets of states, and the link was busy both ways.",
            parameters=("comm", "weights", "gradient", "moment", "bucket", "rate"),
            ranks=(2, 3, 4),
        ),
        Exercise(
            "11.stretches",
            "Forget, and compute again",
            points=2,
            hints=(
                "With k stretches of L / k layers, k - 1 inputs are held, and the layers of one "
                "stretch: k + L / k is smallest where both are the same.",
                "k = round(sqrt(L)); stretch i has the layers from L * i // k to "
                "L * (i + 1) // k; all but the last become lists: [*lists, *last].",
            ),
            judge=plan_judges.judge_stretches,
            right="About 2 sqrt(L) activations instead of L, for one more forward pass.",
            parameters=("layers",),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "11.weights",
            "A network is trained with Adam, its numbers in half precision. Of all bytes for "
            "weights, gradients and optimizer states: how many percent are weights?",
            "percent",
            close=1.3,
        ),
        Prediction(
            "11.hundred",
            "A chain of 100 layers, each of which may be computed forward twice but not more "
            "often: how few activations can be held at most?",
            "activations",
            close=1.2,
        ),
    ),
)
