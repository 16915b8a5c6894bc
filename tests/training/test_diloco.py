"""DiLoCo against torch's own rules, its laws, and what it costs on simulated links."""

import numpy as np
import pytest
import torch

from ddl_runtime.core.arrays import split_evenly
from ddl_teach import simulate
from ddl_teach.theory.machine import Link
from ddl_teach.theory.slow_links import Round, starts
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.block_momentum import BlockMomentum
from ddl_teach.training.consistency.diloco import DiLoCo
from ddl_teach.training.consistency.local import LocalSGD
from ddl_teach.training.consistency.streaming_diloco import StreamingDiLoCo
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.optimizers.adamw import AdamW
from ddl_teach.training.optimizers.nesterov import Nesterov
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.refusals import refusal
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

TASK = Digits(batch=3, hidden=5, dtype="float64")
RANKS = (1, 2, 3, 4, 5, 8)
STEPS, RATE, OUTER, MOMENTUM = 21, 0.01, 0.7, 0.9


def program(comm, consistency, **settings):
    settings = {"task": TASK, "update": AdamW(RATE), "steps": STEPS} | settings
    return train(comm, consistency=consistency, **settings)


def weights(ranks, consistency, **settings):
    results = simulate(program, ranks, consistency=consistency, **settings).results
    return [result.weights for result in results if result.worker is not None]


def by_torch(workers, period, fragments=1, delay=0, mixing=0.0):
    """The same training as a plain loop over torch's tensors and its own two rules."""
    first = torch.from_numpy(TASK.initial())
    agreed = [torch.nn.Parameter(part.clone()) for part in split_evenly(first, fragments)]
    outer = torch.optim.SGD(agreed, OUTER, MOMENTUM, nesterov=True)
    own = [[torch.nn.Parameter(part.clone()) for part in agreed] for _ in range(workers)]
    rules = [torch.optim.AdamW(parts, RATE, weight_decay=0.01) for parts in own]
    begun = {}

    def begin(number):
        changes = [agreed[number].data - parts[number].data for parts in own]
        begun[number] = torch.stack(changes).mean(0)

    def end(number):
        outer.zero_grad()  # the rule leaves alone what has no gradient
        agreed[number].grad = begun.pop(number)
        outer.step()
        for parts in own:
            parts[number].data.mul_(mixing).add_((1 - mixing) * agreed[number].data)

    last = [0] * fragments
    for step in range(1, STEPS + 1):
        for worker, (parts, rule) in enumerate(zip(own, rules, strict=True)):
            flat = torch.cat([part.data for part in parts]).numpy()
            slope = TASK.gradient(flat, worker, workers, step - 1)[1]
            for part, piece in zip(parts, split_evenly(slope, fragments), strict=True):
                part.grad = torch.from_numpy(piece.copy())
            rule.step()
        for number in [number for number in begun if last[number] + delay == step]:
            end(number)
        for number in range(fragments):
            if step % period == (number + 1) * period // fragments % period:
                begin(number)
                last[number] = step
                if delay == 0:
                    end(number)
    for number in [*begun]:
        end(number)
    for number in range(fragments):
        if last[number] < STEPS:
            begin(number)
            end(number)
    return torch.cat([part.data for part in agreed]).numpy()


CASES = {
    "diloco": (DiLoCo(6), (6,)),
    "one fragment": (StreamingDiLoCo(6, 1), (6,)),
    "fragments": (StreamingDiLoCo(6, 3), (6, 3)),
    "overlapped": (StreamingDiLoCo(7, 3, 2), (7, 3, 2)),
    "mixed": (StreamingDiLoCo(8, 2, 4, 0.5), (8, 2, 4, 0.5)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_it_is_torchs_two_rules(ranks, name):
    consistency, settings = CASES[name]
    expected = by_torch(ranks, *settings)
    for ours in weights(ranks, consistency):
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-13)
    assert np.abs(expected - TASK.initial()).max() > 0.01


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("compressor", [Dense(), Blocks(7)], ids=str)
@pytest.mark.sampled(3)
def test_real_ranks_end_with_the_bits_of_simulated_ones(real, ranks, compressor):
    settings = {"consistency": StreamingDiLoCo(7, 3, 2, 0.5), "compressor": compressor}
    ours = [result.weights for result in real(program, ranks, **settings).results]
    np.testing.assert_array_equal(ours, weights(ranks, **settings))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_what_it_is_a_case_of(ranks):
    own = {"update": SGD(0.3)}
    mean = weights(ranks, LocalSGD(4), **own)
    np.testing.assert_allclose(weights(ranks, DiLoCo(4, SGD(1.0)), **own), mean, atol=1e-13)
    block = weights(ranks, BlockMomentum(4, 0.6, nesterov=True), **own)
    outer = Nesterov(1.0, 0.6)
    np.testing.assert_allclose(weights(ranks, DiLoCo(4, outer), **own), block, atol=1e-13)
    assert np.abs(block[0] - mean[0]).max() > 1e-3
    if ranks > 1:
        served = weights(ranks + 1, DiLoCo(4, outer), distribution=Server(), **own)
        np.testing.assert_allclose(served, block, atol=1e-12)


LINK = Link(0.05, 1 / 12.5e6)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("fragments", [1, 3])
@pytest.mark.parametrize("delay", [0, 2, 4])
@pytest.mark.sampled(3)
def test_bytes_and_seconds_are_the_formula(ranks, fragments, delay):
    task, compressor, period, pace = Digits(batch=1, hidden=8), Blocks(7), 12, 0.2
    longest = split_evenly(np.empty(-(-len(task.initial()) // fragments)), ranks)
    message = sum(compressor.nbytes(len(part)) for part in longest)  # each owner's has its scales
    formula = Round(ranks, fragments * message, period, pace, fragments, delay)
    few, many = (
        simulate(
            train, ranks, network=LINK.network, task=task, trace=False, compressor=compressor,
            consistency=StreamingDiLoCo(period, fragments, delay), update=SGD(0.1),
            steps=rounds * period, pace=lambda worker, step: pace,
        )
        for rounds in (2, 5)
    )  # fmt: skip
    assert many.time - few.time == pytest.approx(3 * formula.seconds(LINK), rel=1e-3)
    sent = sum(ledger.bytes_sent for ledger in many.ledger)
    sent -= sum(ledger.bytes_sent for ledger in few.ledger)
    assert sent == pytest.approx(3 * period * ranks * formula.bytes_per_step, rel=1e-12)


def test_the_formula_of_a_round():
    blocking = Round(4, 1e9, 100, 1.0)
    assert blocking.bytes_per_step == 1.5e7
    assert blocking.under_way(LINK) == pytest.approx(6 * (0.05 + 20))
    assert blocking.seconds(LINK) == pytest.approx(100 + 120.3)
    hidden = Round(4, 1e9, 200, 1.0, 4, 31)
    assert hidden.under_way(LINK) == pytest.approx(30.3)
    assert hidden.seconds(LINK) == 200
    assert starts(100, 4) == [25, 50, 75, 100]
    assert starts(10, 3) == [3, 6, 10]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: StreamingDiLoCo(10, 0), "fragments must be at least 1"),
        (lambda: StreamingDiLoCo(10, 4, -1), "delay must be at least 0"),
        (lambda: StreamingDiLoCo(10, 4, 3), "one at a time"),
        (lambda: StreamingDiLoCo(3, 4), "one at a time"),
        (lambda: StreamingDiLoCo(10, 4, 0, 1.0), "mixing must be"),
        (lambda: DiLoCo(0), "period must be at least 1"),
        (lambda: Round(4, 1.0, 10, 1.0, 4, 3), "one is sent at a time"),
    ],
)
def test_what_cannot_be_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def test_a_memory_is_refused_where_fragments_take_turns():
    streaming, memory = StreamingDiLoCo(4, 2), Feedback(TopK(0.1))
    assert "another part of the weights" in refusal(streaming, AllReduce(), memory)
    assert refusal(DiLoCo(4), AllReduce(), memory) is None
    assert "steps go on meanwhile" in refusal(streaming, Server(), Dense())


def test_four_fragments_travel_where_no_number_is_given():
    length = len(TASK.initial())
    longest = StreamingDiLoCo().travels(TASK, np.zeros(length))
    assert len(longest) == -(-length // 4)


def test_four_bits_lose_little_and_all_ranks_agree():
    ends = weights(4, DiLoCo(5), compressor=Blocks(7))
    assert all(np.array_equal(end, ends[0]) for end in ends)
    lossless = weights(4, DiLoCo(5))[0]
    apart = np.linalg.norm(ends[0] - lossless) / np.linalg.norm(lossless - TASK.initial())
    assert 0 < apart < 0.5
