"""Unit 09, splitting layers: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import halo_judges, split_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "09",
    "Splitting layers",
    exercises=(
        Exercise(
            "09.pair",
            "A column layer and a row layer",
            points=3,
            hints=(
                "Two products with a ReLU between them, all of it with what the rank has. Then "
                "one sum over the ranks, and then the bias.",
                "part = np.maximum(x @ a, 0) @ b is this rank's part of y. Return "
                "all_reduce(comm, part) + bias.",
            ),
            judge=split_judges.judge_pair,
            right="One sum for two layers, and the bias in it once.",
            parameters=("comm", "x", "a", "b", "bias"),
        ),
        Exercise(
            "09.pair_gradients",
            "The same pair backwards",
            points=3,
            hints=(
                "of_y is whole, and the same on every rank. Each product y = h b has two "
                "gradients, of_y b^T and h^T of_y. Which of the four results is a sum over ranks?",
                "of_h = of_y @ b.T * (x @ a > 0). Return all_reduce(comm, of_h @ a.T), x.T @ of_h "
                "and relu(x @ a).T @ of_y.",
            ),
            judge=split_judges.judge_gradients,
            right="Forwards the sum is at the end of the pair, backwards at its beginning.",
            parameters=("comm", "x", "a", "b", "of_y"),
        ),
        Exercise(
            "09.with_halo",
            "The edges of the neighbours",
            points=3,
            hints=(
                "Make a wider array of zeros and put the strip into its middle. Then begin four "
                "messages: the first row goes up, the last row goes down, and from both sides one "
                "comes. Where there is no neighbour there is no message. Then wait for all.",
                "wide = np.zeros((len(strip) + 2, strip.shape[1])); wide[1:-1] = strip. If there "
                "is a rank above, comm.irecv(wide[0], rank - 1) and comm.isend(strip[0], rank - "
                "1); the same below with row -1. Keep what they return, and wait() for each.",
            ),
            judge=halo_judges.judge_with_halo,
            right="Every strip knows its neighbours' edges, and at the border there are zeros.",
            parameters=("comm", "strip"),
        ),
        Exercise(
            "09.give_back",
            "The gradients of foreign rows go home",
            points=3,
            hints=(
                "The first and the last row of the gradient belong to the neighbours. Send them "
                "there; what they send is for your own first and last row, and is added.",
                "own = gradient[1:-1].copy(); above, below = np.zeros((2, own.shape[1])). Receive "
                "into these two as you did in with_halo, and send gradient[0] and gradient[-1]. "
                "When all is done: own[0] += above; own[-1] += below.",
            ),
            judge=halo_judges.judge_give_back,
            right="What was copied forwards is added backwards.",
            parameters=("comm", "gradient"),
        ),
        Exercise(
            "09.hybrid",
            "A hybrid for AlexNet",
            points=4,
            hints=(
                "Forwards: own features, then all_gather, then scores of all images for the own "
                "classes. Backwards: what the own classes say of all features is a part of a sum; "
                "reduce_scatter it. Then on to c, whose gradient every rank has a part of.",
                "every = all_gather(comm, features); of_features = reduce_scatter(comm, of_scores "
                "@ w.T); of_c = images.T @ (of_features * (features > 0)). Return every @ w, "
                "all_reduce(comm, of_c), every.T @ of_scores.",
            ),
            judge=split_judges.judge_hybrid,
            right="Data-parallel before the gather, model-parallel behind it.",
            parameters=("comm", "images", "c", "w", "of_scores"),
        ),
    ),
    predictions=(
        Prediction(
            "09.work",
            "AlexNet's convolutions hold 4% of its parameters. How many percent of the operations "
            "do they do?",
            "percent",
            close=1.1,
        ),
        Prediction(
            "09.tiles",
            "1,024 ranks share an image of 1,024 x 1,024 points, for a 3 x 3 convolution. How "
            "many times as many numbers does a rank send if it has a strip of one row, not a tile "
            "of 32 x 32?",
            "times as many",
            close=1.5,
        ),
        Prediction(
            "09.crossover",
            "AlexNet's first fully connected layer has 9,216 inputs and 4,096 outputs. From how "
            "many images in a batch on is it better split by data than by model?",
            "images",
        ),
    ),
)
