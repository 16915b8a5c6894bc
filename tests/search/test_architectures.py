"""Cells and their networks, what they cost, and how they are scored."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from places import TENSORS
from scipy.stats import kendalltau

from ddl_measure.analysis import analyse
from ddl_measure.experiments.architectures import PlannedJob, costs, step_seconds
from ddl_runtime.topologies.point_to_point import Machine
from ddl_teach import simulate
from ddl_teach.collectives import ring
from ddl_teach.comm import Phantom
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches.front import pareto
from ddl_teach.search.architectures.agreement import kendall, kendall_interval
from ddl_teach.search.architectures.cells import CELLS, EDGES, living, text
from ddl_teach.search.architectures.front import undominated
from ddl_teach.search.architectures.network import IMAGE, PARTS, shared, standing_alone
from ddl_teach.search.architectures.shared import SharedTask, SharedTraining
from ddl_teach.search.architectures.train_cells import CellTraining, Priced, to_learn
from ddl_teach.theory.machine import Link
from ddl_teach.theory.work_depth import activation, direct
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.trainer import train

pytestmark = pytest.mark.slow

RANKS = (1, 2, 3, 4, 5, 8)

GENOTYPES = st.builds(CELLS.sample, st.integers(0, 9), st.integers(0, 999))
NOTHING = {**dict.fromkeys(EDGES, "none"), "head": "mean"}
CHAIN = {**NOTHING, "0-1": "same", "1-2": "same", "2-3": "same"}
WEIGHTS = {"conv1": 8 * 8 + 8, "conv3": 9 * 8 * 8 + 8}


def ways(genotype, place=0):
    """All ways from a place to place 3, as lists of edges."""
    if place == 3:
        return [[]]
    steps = [(e, int(e[2])) for e in EDGES if int(e[0]) == place and genotype[e] != "none"]
    return [[edge, *rest] for edge, to in steps for rest in ways(genotype, to)]


@pytest.fixture(scope="module")
def holding_all():
    return shared(seed=4)


@settings(max_examples=40, deadline=None)
@given(GENOTYPES)
def test_every_genotype_is_a_network_and_a_part_of_the_shared_one(holding_all, genotype):
    edges = living(genotype)
    assert set(edges) == set(itertools.chain.from_iterable(ways(genotype)))
    network = standing_alone(genotype, seed=4)
    weights = sum(parameter.numel() for parameter in network.parameters())
    cell = 2 * 8 + sum(WEIGHTS.get(genotype[edge], 0) for edge in edges)
    head = 10 * (8 * PARTS[genotype["head"]] ** 2 + 1)
    assert weights == 9 * 8 + 8 + 2 * cell + head

    pictures = torch.rand(3, *IMAGE)
    holding_all.chosen = genotype
    with torch.no_grad():
        scores = network(pictures)
        assert torch.equal(scores, holding_all(pictures))
    assert scores.shape == (3, 10)
    assert torch.isfinite(scores).all()
    whole = dict(holding_all.named_parameters())
    for name, parameter in network.named_parameters():
        assert torch.equal(parameter, whole[name])


def test_genotypes_that_are_no_genotypes_are_refused():
    with pytest.raises(ValueError, match="0-2='conv5' is none of none, same"):
        living({**CHAIN, "0-2": "conv5"})
    with pytest.raises(ValueError, match="head=None"):
        standing_alone(dict.fromkeys(EDGES, "same"))
    with pytest.raises(ValueError, match="chosen"):
        shared()(torch.rand(1, *IMAGE))
    assert text({**CHAIN, "0-2": "conv3", "2-3": "none"}) == "nothing; mean"


# -- costs -----------------------------------------------------------------------------------


def test_costs_are_those_of_the_network_and_add_up_along_a_chain():
    """A convolution in place of nothing adds its work, depth and weights in each of two cells."""
    scaling = PlannedJob(samples=4)
    plain = costs(CHAIN, scaling)
    cells = {**CHAIN, "1-2": "conv3"}
    convolved = costs(cells, scaling)
    work = depth = 0
    for side in (8, 4):
        shape = Convolution(4, 8, side, side, 8, kernel=(3, 3), padding=(1, 1))
        numbers = 4 * 8 * side**2
        on_the_way = (
            direct.forward(shape, bias=True), activation.forward(numbers),
            direct.input_gradient(shape), activation.input_gradient(numbers),
        )  # fmt: skip
        depth += sum(part.depth for part in on_the_way)
        work += sum(part.work for part in on_the_way)
        work += direct.parameter_gradient(shape, bias=True).work
    assert convolved.work - plain.work == work
    assert convolved.depth - plain.depth == depth
    network = standing_alone(cells)
    assert convolved.nbytes == 4 * sum(weights.numel() for weights in network.parameters())
    whole = {**dict.fromkeys(EDGES, "conv1"), "0-1": "mean3", "head": "quarters"}
    assert analyse(standing_alone(whole), torch.empty(2, *IMAGE)).uncounted == ()


@pytest.mark.parametrize("ranks", [1, 5, 16])
def test_predicted_seconds_are_those_of_a_simulated_step(ranks):
    link = Link(2e-5, 1 / 1e8)
    scaling = PlannedJob(ranks=ranks, samples=2, flops=1e9, link=link)
    cell = costs({**CHAIN, "head": "sixteenths"}, scaling)

    def step(comm):
        comm.work(flops=cell.work)
        ring.allreduce(comm, Phantom(cell.nbytes))

    run = simulate(step, ranks, network=link.network, machine=Machine(flops=1e9))
    assert run.time == pytest.approx(cell.seconds, rel=1e-3)
    assert cell.efficiency == pytest.approx(cell.work / 1e9 / run.time, rel=1e-3)


@given(
    st.integers(1, 3).flatmap(
        lambda prices: st.lists(st.tuples(*[st.integers(0, 4)] * prices), min_size=1)
    )
)
def test_the_front_is_what_nobody_dominates(rows):
    points = np.array(rows)
    front = undominated(points)
    expected = [
        place
        for place, row in enumerate(rows)
        if row not in rows[:place]
        and not any(
            all(a <= b for a, b in zip(one, row, strict=True)) and one != row for one in rows
        )
    ]
    assert front.tolist() == expected
    if points.shape[1] == 2:
        assert sorted(front) == sorted(pareto(*points.T))
    with pytest.raises(ValueError, match="nan"):
        undominated([[1.0, float("nan")]])


# -- scores ----------------------------------------------------------------------------------


def test_a_training_goes_on_where_it_was_and_learns():
    training = CellTraining()
    cell = {**CHAIN, "1-2": "conv3", "head": "quarters"}
    whole, error = training(cell, None, 60, 1)
    half, before = training(cell, None, 15, 1)
    parts, again = training(cell, half, 45, 1)
    assert again == error
    assert whole["step"] == parts["step"] == 60
    assert np.array_equal(whole["weights"], parts["weights"])
    assert np.array_equal(whole["moment"], parts["moment"])
    assert error < before
    assert error < 0.3
    assert 0.7 < training.test(cell, whole) <= 1

    scaling = PlannedJob(ranks=8)
    predicted = partial(step_seconds, scaling=scaling)
    _, priced = Priced(training, predicted, target=1e-3, power=0.5)(cell, None, 60, 1)
    assert priced == error * (costs(cell, scaling).seconds / 1e-3) ** 0.5


def test_the_test_part_is_not_among_what_a_search_sees():
    pictures, answers = to_learn()
    assert len(pictures) == len(answers) == 1797 - 360


def test_a_path_trains_only_what_it_uses():
    task = SharedTask(seed=3)
    weights = task.initial()
    for step in range(3):
        genotype = task.path(0, 1, step)
        _, gradient = task.gradient(weights, 0, 1, step)
        names = [name for name, _ in shared().named_parameters()]
        used = {name for name, _ in standing_alone(genotype).named_parameters()}
        moved = {
            name
            for name, begin, end in zip(names, task.layers, task.layers[1:], strict=False)
            if gradient[begin:end].any()
        }
        assert moved <= used
        assert any(name.startswith("heads") for name in moved)


def shared_training(comm, where="cpu"):
    """Three steps from the same weights; a worker a rank, each with a path of its own."""
    comm.device = where
    result = train(comm, SharedTask(batch=4), Synchronous(), AllReduce(), update=SGD(0.5), steps=3)
    return result.weights


@pytest.mark.parametrize("count", RANKS)
@pytest.mark.sampled(2)
def test_shared_weights_are_trained_by_any_number_of_ranks(count):
    task = SharedTask(batch=4)
    weights = task.initial()
    for step in range(3):
        gradients = [task.gradient(weights, part, count, step)[1] for part in range(count)]
        weights -= 0.5 * np.mean(gradients, axis=0)
    for found in simulate(shared_training, count).results:
        assert found == pytest.approx(weights, abs=1e-5)


@pytest.mark.parametrize("where", TENSORS)
def test_on_a_device_the_same_weights_come_out(where):
    pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
    torch.backends.cudnn.allow_tf32 = False
    here, there = (
        simulate(shared_training, 2, threads=True, where=place).results[0]
        for place in ("cpu", where)
    )
    assert there == pytest.approx(here, abs=1e-5)
    assert here != pytest.approx(SharedTask(batch=4).initial(), abs=1e-5)
    task = SharedTask(batch=4)
    moved = task.on(where)
    for each, place in ((moved, where), (moved.on("cpu"), "cpu"), (task, "cpu")):
        assert {p.device.type for p in each.inner.model.parameters()} == {place}

    cell = {**CHAIN, "1-2": "conv3", "head": "quarters"}
    training = CellTraining(channels=2)
    (state, error), (same, again) = (
        each(cell, None, 3, 1) for each in (training, training.on(where))
    )
    assert same["weights"] == pytest.approx(state["weights"], abs=1e-5)
    assert again == pytest.approx(error, abs=0.01)
    assert training.on(where).test(cell, same) == pytest.approx(
        training.test(cell, state), abs=0.01
    )
    scoring = SharedTraining(there)
    scores = [each(cell, None, 1, 0)[1] for each in (scoring, scoring.on(where))]
    assert scores[1] == pytest.approx(scores[0], abs=0.01)
    assert next(scoring.on(where)._task.inner.model.parameters()).device.type == where


def test_shared_weights_score_as_the_shared_network_does(holding_all):
    task = SharedTask(seed=4)
    genotype = {**CHAIN, "head": "sixteenths"}
    pictures, answers = to_learn()
    network = standing_alone(genotype, seed=4)
    with torch.no_grad():
        wrong = network(pictures[::5]).argmax(1) != answers[::5]
    error = wrong.double().mean().item()
    assert task.error(task.initial(), genotype) == pytest.approx(error)
    assert SharedTraining(task.initial())(genotype, None, 1, 0) == ({}, pytest.approx(error))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12))
def test_agreement_is_kendalls_tau_with_ties(pairs):
    first, second = zip(*pairs, strict=True)
    assert kendall(first, second) == pytest.approx(kendalltau(first, second)[0], nan_ok=True)


def test_an_interval_of_agreement_holds_what_it_should():
    random = np.random.default_rng(0)
    truth = random.random(40)
    tau, low, high = kendall_interval(truth, truth + random.normal(0, 0.2, 40))
    assert low < tau < high
    assert kendall_interval(truth, truth) == (1, 1, 1)
    with pytest.raises(ValueError, match="two scores"):
        kendall([1], [2])
