"""Pruned states: trained as the dense twin with a mask, and held and sent as the formulas say."""

from functools import partial

import pytest
import torch
from deaf import Deaf
from lenet import lenet
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks.memory import measured
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.models import data
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pruning.kept import compress, expand, largest, largest_of
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.networks.shares import share
from ddl_teach.networks.twin import largest_difference, train
from ddl_teach.theory import memory as theory
from ddl_teach.theory.ring_bytes import allreduce
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.momentum import Momentum

STEPS, BATCH, FRACTION = 10, 16, 0.1
small_mlp = partial(mlp, (64, 21, 13, 10))
small_lenet = partial(lenet, maps=(3, 4), widths=(12, 9))


def masked(model):
    """The same model, dense: pruned weights are zero, and so are their gradients."""
    for name, places in largest_of(model, FRACTION).items():
        parameter = model.get_parameter(name)
        mask = torch.zeros(parameter.numel(), dtype=parameter.dtype)
        mask[places] = 1
        mask = mask.view_as(parameter)
        parameter.data *= mask
        parameter.register_hook(mask.mul)
    return model


@pytest.fixture(scope="module")
def cases():
    """Networks, their batches, updates, and where the masked twin ends."""
    (flat, labels), (images, _) = data.digits(flat=True), data.digits()
    adam, made = partial(torch.optim.Adam, lr=1e-2), []
    for build, inputs, update, options in (
        (small_mlp, flat, Momentum(0.1), {}),
        (small_lenet, images, Adam(1e-2), {"optimizer": adam}),
    ):
        batches = data.batches((inputs.double(), labels), BATCH, STEPS)
        twin = train(masked(build().double()), batches, **options).parameters
        made.append((build, update, batches, twin))
    return made


def go(comm, model, batches, update):
    pruned = Pruned(comm, model, largest_of(model, FRACTION), resident(update))
    sent = getattr(comm, "ledger", None) and comm.ledger.bytes_sent
    for x, y in batches:
        own = share(len(x), comm.size, comm.rank)
        scores = model(x[own.start : own.stop])
        (mean_loss(scores, y[own.start : own.stop]) * (len(own) / len(x))).backward()
        held = measured.ledger(pruned.tensors())
        pruned.step()
    sent = sent if sent is None else comm.ledger.bytes_sent - sent
    return pruned, held, sent


def differences(comm, cases):
    """What is wrong, as texts."""
    torch.set_num_threads(1)
    wrong = []
    for build, update, batches, twin in cases:
        if comm.size > 1:
            alone, _, _ = go(Deaf(comm), build().double(), batches[:2], update)
            if not largest_difference(alone.parameters(), twin) > 1e-3:
                wrong.append(f"{update}: without messages it is the twin's, too")
        mine, held, sent = go(comm, build().double(), batches, update)
        if not largest_difference(mine.parameters(), twin) < 1e-10:
            wrong.append(f"{update}: {largest_difference(mine.parameters(), twin)}")
        kept = len(mine.values)
        whole = sum(p.numel() for p in mine.model.parameters())
        if held != theory.pruned(whole, kept, weight=8, state=8 * update.states):
            wrong.append(f"{update}: holds {held}")
        if sent != STEPS * allreduce(kept, comm.size, comm.rank, 8):
            wrong.append(f"{update}: sends {sent}")
        single, _, _ = go(comm, build().float(), [(x.float(), y) for x, y in batches], update)
        if not largest_difference(single.parameters(), twin) < 1e-4:
            wrong.append(f"{update}, float32: {largest_difference(single.parameters(), twin)}")
    return wrong


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8])
@pytest.mark.sampled(2)
def test_ten_steps_are_the_masked_twins(real, ranks, cases):
    assert real(differences, ranks, cases=cases, timeout=250).results == [[]] * ranks


@pytest.mark.slow
def test_simulated_ranks_train_alike(cases):
    run = simulate(differences, 3, threads=True, trace=False, cases=cases)
    assert run.results == [[]] * 3


def stepped(comm, passes, inputs, labels):
    """All weights after a step whose gradient came in so many backward passes."""
    torch.set_num_threads(1)
    model = small_mlp().double()
    pruned = Pruned(comm, model, largest_of(model, FRACTION), resident(Momentum(0.1)))
    for rows in torch.arange(len(labels))[comm.rank :: comm.size].chunk(passes):
        (mean_loss(model(inputs[rows]), labels[rows]) * (len(rows) / len(labels))).backward()
    pruned.step()
    return pruned.parameters()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_step_goes_down_the_slope_of_the_kept_weights(ranks):
    inputs, labels = (part[:24] for part in data.digits(flat=True))
    model = masked(small_mlp().double())
    mean_loss(model(inputs.double()), labels).backward()
    right = {name: weight - 0.1 * weight.grad for name, weight in model.named_parameters()}
    given = {"passes": 1, "inputs": inputs.double(), "labels": labels}
    for mine in simulate(stepped, ranks, threads=True, trace=False, **given).results:
        assert largest_difference(mine, right) < 1e-12


@pytest.mark.parametrize("passes", [2, 3])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_gradients_of_several_backward_passes_add_up_until_the_step(ranks, passes):
    inputs, labels = (part[:24] for part in data.digits(flat=True))
    run = partial(simulate, stepped, ranks, threads=True, trace=False)
    given = {"inputs": inputs.double(), "labels": labels}
    [whole, *_] = run(passes=1, **given).results
    for in_passes in run(passes=passes, **given).results:
        assert largest_difference(in_passes, whole) < 1e-12


def test_half_precision_holds_what_the_paper_says():
    """2 N + 24 f N, of which 4 f N are there during a step only."""

    def halves(comm):
        model = nn.Sequential(nn.Linear(40, 50, bias=False)).bfloat16()
        kept = largest_of(model, 0.25)
        pruned = Pruned(comm, model, kept, resident(Adam()))
        model(torch.ones(1, 40).bfloat16()).sum().backward()
        return measured.ledger(pruned.tensors())

    [held] = simulate(halves, 1).results
    assert held == theory.pruned(2000, 500, weight=2, state=12)
    assert held.total + 4 * 500 == 2 * 2000 + 24 * 500


@pytest.mark.parametrize("fraction", [0.01, 0.3, 1.0])
def test_compress_and_expand_are_each_others_opposite(fraction):
    dense = torch.randn(7, 9, 2)
    places = largest(dense, fraction)
    values = compress(dense, places)
    out = torch.full_like(dense, torch.nan)
    expand(values, places, out)
    assert torch.equal(compress(out, places), values)
    assert torch.count_nonzero(out) == len(places) == max(1, round(fraction * 126))
    smallest = values.abs().min()
    assert (dense[out == 0].abs() <= smallest).all()


def test_what_cannot_be_pruned_is_refused():
    dense = torch.randn(7, 9, 2)
    places = largest(dense, 0.3)
    values = compress(dense, places)
    with pytest.raises(ValueError, match="above zero and at most 1"):
        largest(dense, 0)
    with pytest.raises(ValueError, match="give a value for each"):
        expand(values[1:], places, dense)
    with pytest.raises(ValueError, match="no parameters nothing"):
        Pruned(None, nn.Linear(1, 1), {"nothing": places}, None)
