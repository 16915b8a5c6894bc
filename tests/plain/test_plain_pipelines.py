"""Each plain pipeline leaves the weights of its product, in the same order of work."""

from functools import cache
from itertools import chain

import numpy as np
import pytest
import torch
from comparing import assert_close

from ddl_teach import simulate
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines import gpipe as gpipe_product
from ddl_teach.networks.pipelines import message_driven as message_driven_product
from ddl_teach.networks.pipelines import one_f_one_b as one_f_one_b_product
from ddl_teach.networks.pipelines.torch_stage import TorchStage, cut
from ddl_teach.networks.pipelines.train_pipeline import stages_of
from ddl_teach.networks.pipelines.worker import PipelineWorker
from ddl_teach.plain import gpipe, message_driven, one_f_one_b
from ddl_teach.training.tasks.paces import ByChance

WIDTH, STEPS = 6, 2
WAYS = {
    "gpipe": (gpipe.step, (), gpipe_product.gpipe),
    "one_f_one_b": (one_f_one_b.step, (), one_f_one_b_product.one_f_one_b),
    "message_driven, 2 in flight": (
        message_driven.step,
        (2,),
        lambda *sizes: message_driven_product.message_driven(*sizes, in_flight=2),
    ),
    "message_driven, 5 in flight": (
        message_driven.step,
        (5,),
        lambda *sizes: message_driven_product.message_driven(*sizes, in_flight=5),
    ),
}
each_way = pytest.mark.parametrize("name", WAYS)
each_size = pytest.mark.parametrize("micro_batches", [1, 7])


def batches():
    """Batches of 17 rows: micro-batches are not equally large."""
    random = np.random.default_rng(1)
    for _ in range(STEPS):
        yield random.standard_normal((17, WIDTH)), random.integers(0, 3, 17)


class Notes:
    """What a stage has done, in order; each pass takes a time of its own if `busy`."""

    def __init__(self, comm, busy):
        self.comm, self.busy, self.done = comm, busy, []

    def __call__(self, way, micro_batch):
        self.done.append((way, micro_batch))
        if self.busy:
            pace = ByChance(1.0 if way == "forward" else 2.0, seed=len(way))
            self.comm.work(seconds=pace(self.comm.rank, micro_batch))


class DenseStage:
    """Matrix products, each with a bias and all but the network's last with a ReLU, in NumPy."""

    def __init__(self, layers, last, notes):
        self.layers, self.last, self.notes = layers, last, notes
        self.moments = [np.zeros_like(array) for layer in layers for array in layer]

    def load(self, answers, micro_batches):
        self.rows, self.answers = len(answers), np.array_split(answers, micro_batches)
        self.seen = {}
        self.slopes = [[np.zeros_like(array) for array in layer] for layer in self.layers]

    def forward(self, m, x):
        self.notes("forward", m)
        seen = self.seen[m] = [x]
        for number, (weight, bias) in enumerate(self.layers):
            x = x @ weight.T + bias
            if not (self.last and number + 1 == len(self.layers)):
                x = np.maximum(x, 0)
            seen.append(x)
        return x

    def backward(self, m, dy):
        self.notes("backward", m)
        seen = self.seen.pop(m)
        if self.last:
            dy = np.exp(seen[-1])
            dy /= dy.sum(axis=1, keepdims=True)
            dy[np.arange(len(dy)), self.answers[m]] -= 1
            dy /= self.rows
        for number in reversed(range(len(self.layers))):
            if not (self.last and number + 1 == len(self.layers)):
                dy = np.where(seen[number + 1] > 0, dy, 0)
            of_weight, of_bias = self.slopes[number]
            of_weight += dy.T @ seen[number]
            of_bias += dy.sum(axis=0)
            dy = dy @ self.layers[number][0]
        return dy

    def update(self):
        slopes = chain(*self.slopes)
        for array, slope, moment in zip(chain(*self.layers), slopes, self.moments, strict=True):
            moment *= 0.9
            moment += slope
            array -= 0.1 * moment


def plainly(comm, name, micro_batches, parts, busy=False):
    """The parameters that this rank's stage ends with, and the order of its work."""
    step, settings, _ = WAYS[name]
    notes = Notes(comm, busy)
    layers = [[array.copy() for array in layer] for layer in parts[comm.rank]]
    stage = DenseStage(layers, comm.rank == comm.size - 1, notes)
    for inputs, answers in batches():
        stage.load(answers, micro_batches)
        micro = np.array_split(inputs, micro_batches)
        step(comm, micro, WIDTH, stage.forward, stage.backward, *settings)
        stage.update()
    return [*chain(*stage.layers)], notes.done


class Noted(TorchStage):
    """A stage of the product that notes what it does."""

    def forward(self, micro_batch, x):
        self.notes("forward", micro_batch)
        return super().forward(micro_batch, x)

    def backward(self, micro_batch, gradient):
        self.notes("backward", micro_batch)
        return super().backward(micro_batch, gradient)


def network():
    return mlp((*[WIDTH] * 8, 3)).double()


def by_the_product(comm, name, micro_batches, busy):
    schedule = WAYS[name][2](comm.size, micro_batches)
    example = torch.empty(17, WIDTH, dtype=torch.float64)
    stages = stages_of(comm, network(), schedule, example, kind=Noted)
    (stage,) = stages.values()
    stage.notes = Notes(comm, busy)
    steps = Descent(stage.layers.parameters())
    worker = PipelineWorker(comm, schedule, stages, update=steps.step)
    for batch in batches():
        steps.zero_grad()
        stage.load(tuple(map(torch.from_numpy, batch)), micro_batches)
        worker.step()
    return [p.detach().numpy() for p in stage.layers.parameters()], stage.notes.done


@cache
def parts_of(ranks):
    """The layers of each stage, as arrays: so real ranks need no torch."""
    whole = [[p.numpy() for p in part.state_dict().values()] for part in cut(network(), ranks)]
    return [[arrays[k : k + 2] for k in range(0, len(arrays), 2)] for arrays in whole]


@cache
def product(ranks, name, micro_batches, busy):
    how = {"name": name, "micro_batches": micro_batches, "busy": busy}
    return simulate(by_the_product, ranks, **how).results


@pytest.mark.slow
@each_way
@pytest.mark.sampled(4)
def test_it_trains_as_its_product(run, ranks, name):
    how = {"name": name, "micro_batches": 5, "busy": False}
    results = run(plainly, parts=parts_of(ranks), **how).results
    for (own, _), (expected, _) in zip(results, product(ranks, **how), strict=True):
        for mine, its in zip(own, expected, strict=True):
            assert_close(mine, its)


@pytest.mark.slow
@each_way
@each_size
@pytest.mark.sampled(6)
def test_it_works_in_the_order_of_its_product(ranks, name, micro_batches):
    how = {"name": name, "micro_batches": micro_batches, "busy": True}
    results = simulate(plainly, ranks, parts=parts_of(ranks), **how).results
    assert [order for _, order in results] == [order for _, order in product(ranks, **how)]


def most_kept(order):
    changes = [1 if way == "forward" else -1 for way, _ in order]
    return int(np.cumsum(changes).max())


KEPT = {
    "gpipe": lambda stage, stages, micro_batches: micro_batches,
    "one_f_one_b": lambda stage, stages, micro_batches: min(stages - stage, micro_batches),
}


@pytest.mark.parametrize("name", KEPT)
@each_size
def test_a_stage_keeps_as_many_activations_as_the_formula_says(ranks, name, micro_batches):
    how = {"name": name, "micro_batches": micro_batches, "busy": True}
    for stage, (_, order) in enumerate(
        simulate(plainly, ranks, parts=parts_of(ranks), **how).results
    ):
        assert most_kept(order) == KEPT[name](stage, ranks, micro_batches)


@pytest.mark.parametrize("in_flight", [2, 5])
def test_no_more_than_the_limit_are_in_flight(ranks, in_flight):
    how = {"name": f"message_driven, {in_flight} in flight", "micro_batches": 7, "busy": True}
    results = simulate(plainly, ranks, parts=parts_of(ranks), **how).results
    kept = [most_kept(order) for _, order in results]
    # A rank that is first and last runs each micro-batch backward at once.
    assert max(kept) == kept[0] == (1 if ranks == 1 else min(in_flight, 7))
