"""The plain sharded optimizer, ring attention and experts give what their products give.

The products need torch. They run on simulated ranks once, and real ranks need NumPy only.
"""

from functools import cache

import numpy as np
import pytest
import torch
from comparing import assert_close, vector
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks.context.ring_attention import ring_attention as attention_product
from ddl_teach.networks.context.ulysses import ulysses as ulysses_product
from ddl_teach.networks.experts import exchange as exchange_product
from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import SpreadExperts
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.plain import experts, ring_attention, sharded_optimizer, ulysses
from ddl_teach.training.optimizers.momentum import Momentum


@cache
def product(program, ranks, *args):
    """What each rank of a product returns; a thread for each rank, as torch's gradients need."""
    return simulate(lambda comm: program(comm, *args), ranks, threads=True).results


# -- sharded optimizer ----------------------------------------------------------------------

STEPS, ROWS, INPUTS, CLASSES, RATE, MOMENTUM = 3, 16, 5, 3, 0.1, 0.9


def batch(step):
    random = np.random.default_rng(step)
    return random.standard_normal((ROWS, INPUTS)), random.integers(0, CLASSES, ROWS)


def sharded_plainly(comm):
    """Softmax regression: the weights in the end, and the bytes sent."""

    def gradient(weights, worker, workers, step):
        x, answers = (np.array_split(part, workers)[worker] for part in batch(step))
        table, bias = weights[:-CLASSES].reshape(CLASSES, INPUTS), weights[-CLASSES:]
        p = np.exp(x @ table.T + bias)
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(x)), answers] -= 1
        slopes = np.concatenate([(p.T @ x).ravel(), p.sum(axis=0)])
        return slopes * workers / ROWS  # the mean over workers is that over rows

    weights = vector(0, CLASSES * (INPUTS + 1))
    sharded_optimizer.train(comm, weights, gradient, STEPS, RATE, MOMENTUM)
    return weights, comm.ledger.bytes_sent


def sharded_by_the_product(comm):
    model = nn.Sequential(nn.Linear(INPUTS, CLASSES)).double()
    nn.utils.vector_to_parameters(
        torch.from_numpy(vector(0, CLASSES * (INPUTS + 1))), model.parameters()
    )
    batches = [tuple(map(torch.from_numpy, batch(step))) for step in range(STEPS)]
    trained = train_sharded(comm, 1, model, batches, resident(Momentum(RATE, MOMENTUM)))
    return np.concatenate([whole.numpy().ravel() for whole in trained.parameters.values()])


@pytest.mark.sampled(3)
def test_a_sharded_optimizer_trains_as_its_product(run, ranks):
    results = run(sharded_plainly).results
    for (weights, _), expected in zip(
        results, product(sharded_by_the_product, ranks), strict=True
    ):
        assert_close(weights, expected)
    # An all-reduce in each step, and no more.
    assert sum(sent for _, sent in results) == STEPS * 2 * (ranks - 1) * weights.nbytes


# -- ring attention -------------------------------------------------------------------------

WIDTH = 4


def text(comm, length):
    """This rank's queries, keys, values and gradients of the output, and all ranks' places."""
    places = np.array_split(np.arange(length), comm.size)
    whole = (vector(number, length * WIDTH).reshape(length, WIDTH) for number in range(4))
    return [x[places[comm.rank]] for x in whole], places


def attention_plainly(comm, length):
    (q, k, v, gradient), _ = text(comm, length)
    kv = np.stack([k, v])
    output, log_total = ring_attention.forward(comm, q, kv, length)
    dq, dkv = ring_attention.backward(comm, q, kv, length, output, log_total, gradient)
    return [output, dq, *dkv], comm.ledger.bytes_sent


def attention_by_the_product(comm, length):
    (*own, gradient), places = text(comm, length)
    tensors = [torch.from_numpy(x)[None, None].requires_grad_() for x in own]
    output = attention_product(comm, *tensors, [torch.from_numpy(one) for one in places])
    output.backward(torch.from_numpy(gradient)[None, None])
    found = [output.detach(), *(x.grad for x in tensors)]
    return [x[0, 0].numpy() for x in found], comm.ledger.bytes_sent


@pytest.mark.parametrize("length", [16, 13, 3])
@pytest.mark.sampled(4)
def test_ring_attention_and_its_gradients_are_those_of_its_product(run, ranks, length):
    results = run(attention_plainly, length=length).results
    for (plain, sent), (expected, expected_sent) in zip(
        results, product(attention_by_the_product, ranks, length), strict=True
    ):
        for mine, its in zip(plain, expected, strict=True):
            assert_close(mine, its)
        if ranks > 1:  # alone, the plain one sends the gradient to itself
            assert sent == expected_sent


# -- ulysses --------------------------------------------------------------------------------


def heads_of(comm, length):
    """Queries, keys and values of 2 heads for each rank, of this rank's positions."""
    whole = np.random.default_rng(length).standard_normal((3, 2 * comm.size, length, WIDTH))
    return [x[:, np.array_split(np.arange(length), comm.size)[comm.rank]] for x in whole]


def exchanged_heads_plainly(comm, length):
    return ulysses.attend(comm, *heads_of(comm, length), length), comm.ledger.bytes_sent


def exchanged_heads_by_the_product(comm, length):
    own = [torch.from_numpy(x)[None] for x in heads_of(comm, length)]
    positions = np.array_split(np.arange(length), comm.size)
    output = ulysses_product(comm, *own, [torch.from_numpy(held) for held in positions])
    return output[0].numpy(), comm.ledger.bytes_sent


@pytest.mark.parametrize("length", [16, 11])
@pytest.mark.sampled(4)
def test_ulysses_is_its_product(run, ranks, length):
    results = run(exchanged_heads_plainly, length=length).results
    for (plain, sent), (expected, expected_sent) in zip(
        results, product(exchanged_heads_by_the_product, ranks, length), strict=True
    ):
        assert_close(plain, expected)
        assert sent == expected_sent


# -- experts --------------------------------------------------------------------------------

HIDDEN, TOKENS = 5, 9


def tokens_of(comm):
    return vector(comm.rank, TOKENS * WIDTH).reshape(TOKENS, WIDTH)


def layer(ranks):
    whole = MixtureOfExperts(WIDTH, HIDDEN, ranks, chosen=1, factor=ranks).double()
    seed_weights(whole)
    return whole


def answered_plainly(comm, gate, weights):
    wide, wide_bias, narrow, narrow_bias = weights[comm.rank]

    def expert(rows):
        return np.maximum(rows @ wide.T + wide_bias, 0) @ narrow.T + narrow_bias

    return experts.mixture(comm, tokens_of(comm), gate, expert)


def answered_by_the_product(comm):
    spread = SpreadExperts(comm, layer(comm.size))
    with torch.no_grad():
        return spread(torch.from_numpy(tokens_of(comm))).numpy(), spread.routing.rows.numpy()


@pytest.mark.sampled(3)
def test_experts_answer_as_those_of_their_product(run, ranks):
    whole = layer(ranks)
    weights = [[p.detach().numpy() for p in one.parameters()] for one in whole.experts.values()]
    gate = whole.gate.weight.detach().numpy().T
    results = run(answered_plainly, gate=gate, weights=weights).results
    for plain, (expected, rows) in zip(
        results, product(answered_by_the_product, ranks), strict=True
    ):
        assert_close(plain, expected)
        assert rows.sum() == TOKENS * ranks  # every token has found room


def rows_of(comm):
    """Of each rank a different number of rows to each other, also none."""
    leaving = np.array([(comm.rank + 2 * to) % 3 for to in range(comm.size)])
    coming = np.array([(source + 2 * comm.rank) % 3 for source in range(comm.size)])
    return vector(comm.rank, leaving.sum() * WIDTH).reshape(-1, WIDTH), leaving, coming


def exchanged_plainly(comm):
    x, leaving, coming = rows_of(comm)
    there = experts.exchange(comm, x, leaving, coming)
    return [there, experts.exchange(comm, 2 * there, coming, leaving)]


def exchanged_by_the_product(comm):
    x, leaving, coming = rows_of(comm)
    tensor = torch.from_numpy(x).requires_grad_()
    there = exchange_product.exchange(comm, tensor, leaving.tolist(), coming.tolist())
    there.backward(2 * there.detach())
    return [there.detach().numpy(), tensor.grad.numpy()]


def test_the_exchange_with_swapped_numbers_brings_gradients_home(run, ranks):
    results = run(exchanged_plainly).results
    for plain, expected in zip(results, product(exchanged_by_the_product, ranks), strict=True):
        for mine, its in zip(plain, expected, strict=True):
            assert_close(mine, its)
