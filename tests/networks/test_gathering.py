"""Attention over gathered keys equals full attention, and sends what the formula says."""

from functools import partial

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach import Phantom, simulate
from ddl_teach.collectives import ring
from ddl_teach.comm import Uniform
from ddl_teach.networks.context import ring_attention
from ddl_teach.networks.context.gathering import gathering_attention
from ddl_teach.networks.context.layouts import LAYOUTS
from ddl_teach.theory import context as theory
from ddl_teach.theory.machine import Link
from ddl_teach.theory.ring_bytes import allgather, reduce_scatter

BATCH, HEADS, WIDTH, LENGTH = 2, 4, 3, 21


def gathered(comm, layout, of_keys, causal):
    """How far outputs and gradients are from those of one device; the bytes sent, both ways; and
    how far a rank is that knows its own keys alone."""
    attend = partial(scaled_dot_product_attention, is_causal=causal, enable_gqa=True)
    torch.manual_seed(of_keys)
    *given, gradient = (torch.randn(BATCH, heads, LENGTH, WIDTH, dtype=torch.float64)
                        for heads in (HEADS, of_keys, of_keys, HEADS))  # fmt: skip
    positions = LAYOUTS[layout](LENGTH, comm.size)
    mine = positions[comm.rank]
    whole = [x.clone().requires_grad_() for x in given]
    expected = attend(*whole)
    expected.backward(gradient)
    own = [x[:, :, mine].clone().requires_grad_() for x in given]
    before = comm.ledger.bytes_sent
    output = gathering_attention(comm, *own, positions, causal)
    between = comm.ledger.bytes_sent
    output.backward(gradient[:, :, mine])
    sent = between - before, comm.ledger.bytes_sent - between
    pairs = zip(
        [output, *(x.grad for x in own)], [expected, *(x.grad for x in whole)], strict=True
    )
    far = max((part - full[:, :, mine]).abs().max().item() for part, full in pairs)
    return far, sent, (attend(*own) - expected[:, :, mine]).abs().max().item()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("of_keys", [1, 2, 4])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(6)
def test_it_is_full_attention_and_sends_what_the_formula_says(ranks, of_keys, layout, real):
    held = [len(own) for own in LAYOUTS[layout](LENGTH, ranks)]
    blocks = [2 * 8 * BATCH * of_keys * WIDTH * many for many in held]
    program = {"layout": layout, "of_keys": of_keys, "causal": layout != "striped"}
    simulated = simulate(gathered, ranks, threads=True, **program).results
    for results in (simulated, real(gathered, ranks, **program).results):
        for rank, (far, sent, _) in enumerate(results):
            assert far < 1e-12
            assert sent == (allgather(blocks, rank, 1), reduce_scatter(blocks, rank, 1))
        if ranks > 1:
            assert max(alone for *_, alone in results) > 0.1


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_at_once_change_no_result(monkeypatch, rows, ranks, layout):
    monkeypatch.setattr(ring_attention, "ROWS", rows)
    run = simulate(gathered, ranks, threads=True, layout=layout, of_keys=2, causal=True)
    assert max(far for far, _, _ in run.results) < 1e-12


def test_positions_that_do_not_fit_are_refused():
    def program(comm):
        x = torch.zeros(1, 4, 3, 2)
        gathering_attention(comm, x, x, x, LAYOUTS["contiguous"](9, comm.size))

    with pytest.raises(Exception, match=r"cut by layouts\.contiguous"):
        simulate(program, 2, threads=True)


def gathering_program(comm, text):
    """The messages and the work of `by_gathering`."""
    ring.allgather(comm, Phantom(int(2 * text.block(comm.size)) * comm.size))
    comm.work(seconds=text.work(comm.size))


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32, 256, 1024])
def test_its_time_is_that_of_a_simulation(ranks):
    text, network = theory.LongText(2**17, 32, 128, 4e14), Uniform(5e-6, 50e9)
    run = simulate(gathering_program, ranks, network=network, trace=False, text=text)
    assert run.time == pytest.approx(text.by_gathering(ranks, Link(5e-6, 1 / 50e9)), rel=0.01)
