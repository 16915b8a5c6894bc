"""A small network as a chooser: a perceptron of two layers, our own in NumPy.

It learns the logarithms of a question's numbers, shifted and scaled to mean 0 and variance 1. Its
targets are not winners but shares,

    q[choice]  proportional to  (time / best time)^(-sharpness),

so that choices 7% apart have shares of 2 : 1 (for sharpness 10) and a near tie is even. The loss
is the cross entropy, the steps are Adam's, all points in each. What to look at: unlike a tree it
goes on beyond its points, along straight lines: sometimes right, sometimes wildly wrong.
"""

import numpy as np

from ddl_teach.search.choosing.points import Chooser, Points, log_slowdowns, logarithms
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.tasks.perceptron import Perceptron, softmax

SHARPNESS = 10.0


def small_network(
    points: Points, hidden: int = 16, steps: int = 600, rate: float = 0.02, seed: int = 0
) -> Chooser:
    """Train it on the points."""
    given = logarithms(points)
    shift, scale = given.mean(axis=0), given.std(axis=0)
    scale[scale == 0] = 1.0  # a number that is always the same says nothing
    x = (given - shift) / scale
    wanted = softmax(-SHARPNESS * log_slowdowns(points))
    network, update = Perceptron(x.shape[1], hidden, len(points.choices)), Adam(rate)
    weights = network.initial(seed)
    states = [np.zeros_like(weights) for _ in range(update.states)]
    for step in range(1, steps + 1):
        inside, scores = network.forward(weights, x)
        towards = (softmax(scores) - wanted) / len(x)
        update(weights, network.backward(weights, x, inside, towards), states, step)
    return lambda asked: -network.forward(weights, (logarithms(asked) - shift) / scale)[1]
