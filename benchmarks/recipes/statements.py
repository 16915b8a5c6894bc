"""The statements of Python's own library, embedded by all ranks: gradients are nearly all zeros.

    ddl-teach recipe run benchmarks/recipes/code_on_two_ranks.toml

Each rank sends the rows that its pairs have touched, as sparse streams that are summed by
recursive doubling; the sums are the same on every rank, to the bit. The data are the files of the
Python that runs: with another version they are others, and the side-by-side says so.
What to look at: the accuracy wanders by some points from look to look, for only some two hundred
functions are held out; so the target asks for several looks in a row.
"""

import numpy as np

from ddl_measure.levels.training_level import measure_training
from ddl_measure.reports.report import Data
from ddl_measure.to_accuracy import Evaluation
from ddl_teach import Comm
from ddl_teach.collectives.sparse import recursive_doubling
from ddl_teach.collectives.sparse.stream import Stream
from ddl_teach.training.tasks.statements.corpus import read
from ddl_teach.training.tasks.statements.downstream import LEAST
from ddl_teach.training.tasks.statements.embedding import Statements

FOLD = 0  # of the thirds of all files the one held out; settings were chosen by another one
LOOKS = 2  # at the functions held out in an epoch


def data(packages: str, **_: object) -> Data:
    """Pairs to learn from, and functions to be told apart."""
    corpus = read(tuple(packages.split()), fold=FOLD)
    asked = corpus.held_out & (np.diff(corpus.begins) >= LEAST)
    return Data("statements of Python's library", len(corpus.pairs), int(asked.sum()), (2,))


def train(
    comm: Comm, seed: int, packages: str, epochs: int, width: int, batch: int, rate: float,
    negatives: int,
) -> tuple[Evaluation, ...]:  # fmt: skip
    """One rank's part of a training; the pairs of a step are shared by all ranks."""
    if batch < comm.size or batch % comm.size:
        raise ValueError(f"batch={batch} cannot be shared equally by {comm.size} ranks")
    corpus = read(tuple(packages.split()), fold=FOLD)
    task = Statements(corpus, width, batch // comm.size, negatives, seed)
    weights, learnt = task.initial(), len(corpus.pairs)

    def step(number: int) -> float:
        loss, indices, values = task.touched(weights, comm.rank, comm.size, number)
        own = Stream.listed(len(weights), indices, values)
        weights[:] -= rate / comm.size * recursive_doubling.allreduce(comm, own).dense()
        return loss

    return measure_training(
        int, step, lambda: task.accuracy(weights), steps=max(1, epochs * learnt // batch),
        samples=batch, epoch=learnt, every=max(1, learnt // batch // LOOKS),
    ).checkpoints  # fmt: skip
