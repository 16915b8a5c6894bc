"""Every schedule trains to the twin's parameters, on real and on simulated ranks."""

import copy
from functools import partial

import pytest
import torch
from deaf import Deaf
from lenet import lenet
from pipeline_cases import every_schedule, gems_sent
from torch import nn

from benchmarks.dense_stage import DenseStage
from benchmarks.pipelines import halved
from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import simulate
from ddl_teach.networks.models.data import batches, characters, digits
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.torch_stage import TorchStage, cut
from ddl_teach.networks.pipelines.train_pipeline import stages_of, together, train
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.networks.twin import largest_difference
from ddl_teach.networks.twin import train as train_twin
from ddl_teach.theory import pipelines as theory

GROUNDS = [("real", 3)]
GROUNDS += [pytest.param("real", ranks, marks=pytest.mark.long) for ranks in (1, 2, 4, 6, 8)]
GROUNDS += [pytest.param("simulated", 3, marks=pytest.mark.long)]
MICRO_BATCHES = {1: 2, 2: 4, 3: 6, 4: 8, 6: 6, 8: 8}
ALSO_SHORT = ("1F1B", "zero bubble H1")  # these in float32 as well
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}
MOVED = 1e-3  # so far at least training moves a parameter that nobody may leave where it was
ROWS, STEPS = 19, 10  # no number of micro-batches divides the batch
WIDTH = 10
DIGITS = batches(digits(flat=True), ROWS, STEPS)


class NobodyAnswers(Deaf):
    """Messages reach nobody; whoever waits for several is told that the last has come."""

    def wait_any(self, requests):
        return len(requests) - 1


def deep(ranks, dtype=torch.float64):
    """Two layers for each rank, so that it can also hold two thin stages."""
    return mlp((64, *[WIDTH] * 2 * ranks)).to(dtype)


def cast(data, dtype):
    return [(inputs.to(dtype), targets) for inputs, targets in data]


def every_training(comm, deaf=False):
    """By name, dtype and limit: what this rank holds after ten steps, and the bytes it sent."""
    comm, found = NobodyAnswers(comm) if deaf else comm, {}
    for position, schedule in enumerate(every_schedule(comm.size, MICRO_BATCHES[comm.size])):
        for dtype in CLOSE if schedule.name in ALSO_SHORT else [torch.float64]:
            before = 0 if deaf else comm.ledger.bytes_sent
            share = train(comm, deep(comm.size, dtype), cast(DIGITS, dtype), schedule)
            sent = 0 if deaf else comm.ledger.bytes_sent - before
            found[position, dtype] = share, sent
    return found


def other_networks(comm):
    """A text and pictures: what passes a cut is no row of numbers there."""
    text = batches(characters(), 7, 3)
    pictures = batches(digits(), 7, 3)
    three, ranks = [], comm.size
    for model, data, schedule in (
        (gpt(width=8, heads=2, length=16), text, zero_bubble(ranks, 4)),
        (gpt(width=8, heads=2, length=16), text, one_f_one_b(ranks, 3)),
        (lenet(), cast(pictures, torch.float64), gpipe(ranks, 5)),
    ):
        three.append(train(comm, model.double(), data, schedule))
    return three


def twins_of(ranks):
    return {dtype: train_twin(deep(ranks, dtype), cast(DIGITS, dtype)) for dtype in CLOSE}


@pytest.mark.parametrize(("ground", "ranks"), GROUNDS)
def test_ten_steps_end_where_the_twin_ends(ground, ranks, real):
    where = partial(real, timeout=300) if ground == "real" else simulate
    run, twins = where(every_training, ranks), twins_of(ranks)
    schedules = every_schedule(ranks, MICRO_BATCHES[ranks])
    assert {position for position, _ in run.results[0]} == set(range(len(schedules)))
    for position, dtype in run.results[0]:
        schedule, twin = schedules[position], twins[dtype]
        shares, sent = zip(*(result[position, dtype] for result in run.results), strict=True)
        whole = together(shares)
        assert largest_difference(whole.parameters, twin.parameters) < CLOSE[dtype], schedule.name
        assert whole.losses == pytest.approx(twin.losses, rel=1e-5)
        itemsize = torch.empty((), dtype=dtype).element_size()
        assert list(sent) == wanted_bytes(schedule, itemsize), schedule.name


def wanted_bytes(schedule, itemsize):
    ranks, row = schedule.ranks, WIDTH * itemsize
    if schedule.replicas == 1:
        cuts = [STEPS * ROWS * row] * (schedule.stages - 1)
        return [theory.sent_from(rank, *schedule.placement, cuts) for rank in range(ranks)]
    parts = torch.arange(ROWS).tensor_split(schedule.micro_batches)
    even, odd = ([STEPS * sum(map(len, parts[first::2])) * row] * (ranks - 1) for first in (0, 1))
    gradients = [
        STEPS * itemsize * sum(weight.numel() for weight in part.parameters())
        for part in cut(deep(ranks), ranks)
    ]
    return [gems_sent(rank, ranks, even, odd, gradients) for rank in range(ranks)]


def test_without_messages_it_would_not():
    """Nothing here could pass by accident: ranks that hear nobody end somewhere else."""
    results, twins = simulate(every_training, 2, deaf=True).results, twins_of(2)
    for position, dtype in results[0]:
        own = [
            share for result in results for share in result[position, dtype][0].replicas.values()
        ]
        parameters = {name: tensor for share in own for name, tensor in share.parameters.items()}
        assert largest_difference(parameters, twins[dtype].parameters) > MOVED


@pytest.mark.parametrize("ranks", [2, 3])
def test_networks_of_other_kinds(ranks, real):
    text, pictures = batches(characters(), 7, 3), cast(batches(digits(), 7, 3), torch.float64)
    small = gpt(width=8, heads=2, length=16).double()
    twins = [train_twin(copy.deepcopy(small), text), train_twin(small, text)]
    twins.append(train_twin(lenet().double(), pictures))
    results = real(other_networks, ranks, timeout=300).results
    for twin, shares in zip(twins, zip(*results, strict=True), strict=True):
        assert largest_difference(together(shares).parameters, twin.parameters) < 1e-10


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="3 layers with weights: it can be cut into 1 to 3"):
        cut(mlp(), 4)
    with pytest.raises(ValueError, match="share a parameter"):
        cut(gpt(tied=True), 2)

    def program(comm):
        train(comm, deep(2), cast(DIGITS, torch.float64), gpipe(2, ROWS + 1))

    with pytest.raises(Exception, match=f"a batch of {ROWS} cannot be cut into {ROWS + 1}"):
        simulate(program, 2)
    with pytest.raises(Exception, match="for 2 ranks, but there are 3"):
        simulate(program, 3)


def by_hand(comm, products):
    own, data = [], cast(DIGITS, torch.float64)
    for schedule in (
        one_f_one_b(comm.size, 4),
        zero_bubble(comm.size, 3),
        halved(gpipe(comm.size, 5)),
    ):
        kind = partial(DenseStage, together=products)
        own.append(train(comm, deep(comm.size), data, schedule, kind=kind))
    return own


@pytest.mark.parametrize("products", [1, 2, 5])
@pytest.mark.parametrize("ranks", [1, 3])
def test_derivatives_by_hand_are_torchs(ranks, products, real):
    twin = train_twin(deep(ranks), cast(DIGITS, torch.float64))
    shown = real(by_hand, ranks, products=products, timeout=300).results
    for shares in zip(*shown, strict=True):
        whole = together(shares)
        assert largest_difference(whole.parameters, twin.parameters) < 1e-10
        assert whole.losses == pytest.approx(twin.losses)


def test_what_is_not_known_by_hand_is_refused():
    shapes = [torch.Size([4, 8])] * 2
    with pytest.raises(TypeError, match="take TorchStage"):
        DenseStage(nn.Sequential(nn.Linear(8, 8), nn.Tanh()), shapes, first=True, last=False)
    with pytest.raises(TypeError, match="only the derivative of mean_loss"):
        DenseStage(
            nn.Sequential(nn.Linear(8, 8)), shapes, first=True, last=True, loss=nn.MSELoss()
        )
    whole = TorchStage(nn.Sequential(nn.Linear(8, 8)), shapes, first=True, last=True)
    with pytest.raises(RuntimeError, match="make the stage with split=True"):
        whole.backward_input(0, None)


def test_a_training_without_batches_is_refused():
    with pytest.raises(RankFailed, match="train: there is no batch"):
        simulate(train, 2, model=mlp((64, 8, 10)), batches=[], schedule=gpipe(2, 1))


def where_stages_are(comm):
    """The devices of the layers that this rank computes, where its own is one without memory."""
    comm.device = "meta"

    def devices(layers, shapes, **others):
        return {parameter.device.type for parameter in layers.parameters()}

    return stages_of(comm, mlp((5, 4, 4, 3)), gpipe(comm.size, 2), torch.ones(4, 5), kind=devices)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_stage_is_on_its_ranks_device(ranks):
    for rank, stages in enumerate(simulate(where_stages_are, ranks).results):
        assert stages == {(0, rank): {"meta"}}
