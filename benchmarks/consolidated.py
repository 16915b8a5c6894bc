"""Everything that can be made of so many networks, side by side, as one rank program.

    members       each alone (the mean of their accuracies)
    best member   the one with the lowest validation loss
    ensemble      the mean of their probabilities               members x the work of a picture
    votes         the answer of most of them                    members x the work of a picture
    average       the mean of their weights                     one network's work, as all below
    matched       the same after matching their hidden units
    snapshots     the mean of one training's last weights
    student       a network that learnt from the ensemble
    pupil         the same network, start and minibatches, taught by the labels alone

Members are shared out over the ranks; the ranks train student and pupil together. Learnt is on
part of the digits; judged on the validation part or, with `test`, on the part that nothing was
chosen by. What to look at: the answers do not depend on how many ranks hold the members.
"""

import math
from typing import NamedTuple

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.networks.shares import share
from ddl_teach.search.consolidation import ensemble
from ddl_teach.search.consolidation.distillation import Distilled
from ddl_teach.search.consolidation.ensemble import mean_of_members, rows_of
from ddl_teach.search.consolidation.matching import matched_mean
from ddl_teach.search.training import DigitsTraining
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import CLASSES, PIXELS, Digits, pictures, surprise
from ddl_teach.training.tasks.perceptron import Perceptron, softmax
from ddl_teach.training.trainer import train

BATCH = 16  # of student and pupil, all ranks together


class Judged(NamedTuple):
    """On pictures held out: the share that is recognised, and the mean loss."""

    accuracy: float
    loss: float


def consolidate(
    comm: Comm,
    members: int = 5,
    *,
    hidden: int = 32,
    student: int | None = None,
    rate: float = 0.02,
    steps: int = 720,
    snapshots: int = 8,
    every: int = 36,
    temperature: float = 3.0,
    soft: float = 0.9,
    seed: int = 0,
    test: bool = False,
) -> dict[str, Judged]:
    """Train so many members for so many steps each, consolidate them in every way, and judge.

    Student and pupil have as many `hidden` units as a member, or `student` of them.
    """
    if members < 1 or snapshots < 1:
        raise ValueError(
            f"members={members} and snapshots={snapshots}: of nothing nothing can be made, take "
            "at least 1 of each"
        )
    training, settings = DigitsTraining(hidden=hidden), {"rate": rate}
    numbers = list(share(members, comm.size, comm.rank))
    states = [training(settings, None, steps, seed + number) for number in numbers]
    own = [state["weights"] for state, _ in states]
    network = Perceptron(PIXELS, hidden, CLASSES)
    shown, data = pictures(validation=True), pictures(validation=not test)

    def judged(likely: np.ndarray) -> Judged:
        right = likely.argmax(axis=1) == data.held_out_answers
        return Judged(float(right.mean()), surprise(likely, data.held_out_answers))

    def alone(weights: np.ndarray) -> Judged:
        return judged(softmax(network.forward(weights, data.held_out)[1]))

    each = np.zeros((members, 3))
    for number, weights, (_, loss) in zip(numbers, own, states, strict=True):
        each[number] = loss, *alone(weights)
    ring.allreduce(comm, each)
    found = {
        "members": Judged(*each[:, 1:].mean(axis=0).tolist()),
        "best member": Judged(*each[each[:, 0].argmin(), 1:].tolist()),
        "ensemble": judged(ensemble.probabilities(comm, network, own, data.held_out)),
        "votes": judged(ensemble.votes(comm, network, own, data.held_out))._replace(loss=math.nan),
        "average": alone(mean_of_members(comm, rows_of(own, network.layers[-1]))),
        "matched": alone(matched_mean(comm, network, own).mean),
    }
    late = []
    if 0 in numbers:  # the first member goes on, and what it is from time to time is kept
        state = states[0][0]
        for _ in range(snapshots):
            state, _ = training(settings, state, every, seed)
            late.append(state["weights"])
    found["snapshots"] = alone(mean_of_members(comm, rows_of(late, network.layers[-1])))

    teacher = ensemble.probabilities(comm, network, own, shown.learnt, temperature)
    digits = Digits(
        max(1, BATCH // comm.size), student or hidden, seed + members, validation=True
    )  # fmt: skip
    network = digits.network
    for name, task in (
        ("student", Distilled(digits, teacher, temperature, soft)),
        ("pupil", digits),
    ):
        result = train(comm, task, Synchronous(), update=Momentum(rate), steps=steps)
        found[name] = alone(result.weights)
    return found
