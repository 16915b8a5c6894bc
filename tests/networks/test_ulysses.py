"""Attention by exchanged heads equals full attention, alone and in a ring of groups."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach import Phantom, simulate
from ddl_teach.comm import Uniform
from ddl_teach.networks.context.layouts import LAYOUTS, zigzag
from ddl_teach.networks.context.ulysses import hybrid, ulysses
from ddl_teach.theory import context as theory
from ddl_teach.theory.machine import Link

HEADS = {1: 3, 2: 4, 3: 3, 4: 4, 5: 5, 8: 8}  # by the number of ranks, which divides it
BATCH, WIDTH, LENGTH = 2, 3, 21


def texts(heads, length=LENGTH):
    """Queries, keys, values and a gradient of all positions."""
    torch.manual_seed(heads)
    return [torch.randn(BATCH, heads, length, WIDTH, dtype=torch.float64) for _ in range(4)]


def on_one_device(heads):
    *given, gradient = texts(heads)
    given = [x.requires_grad_() for x in given]
    output = scaled_dot_product_attention(*given, is_causal=True)
    output.backward(gradient)
    return [output.detach(), *(x.grad for x in given)]


def own_part(attend, heads, mine):
    """Output and gradients on this rank's positions."""
    *given, gradient = (x[:, :, mine].clone() for x in texts(heads))
    given = [x.requires_grad_() for x in given]
    output = attend(*given)
    output.backward(gradient)
    return [output.detach(), *(x.grad for x in given)]


def furthest(parts, whole, mine):
    return max(
        (part - x[:, :, mine]).abs().max().item() for part, x in zip(parts, whole, strict=True)
    )


def by_heads(comm, layout):
    heads = HEADS[comm.size]
    positions = LAYOUTS[layout](LENGTH, comm.size)
    sent = []

    def attend(*given):
        output = ulysses(comm, *given, positions)
        sent.append(comm.ledger.bytes_sent)
        return output

    parts = own_part(attend, heads, positions[comm.rank])
    away = furthest(parts, on_one_device(heads), positions[comm.rank])
    return away, (sent[0], comm.ledger.bytes_sent - sent[0])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ranks", HEADS)
def test_it_is_full_attention_and_sends_what_the_formula_says(ranks, layout, real):
    blocks = [
        8 * BATCH * HEADS[ranks] * WIDTH * len(own) for own in LAYOUTS[layout](LENGTH, ranks)
    ]
    simulated = simulate(by_heads, ranks, layout=layout, threads=True).results
    for results in (simulated, real(by_heads, ranks, layout=layout).results):
        for rank, (away, sent) in enumerate(results):
            assert away < 1e-12
            assert sent == theory.sent_to_heads(blocks, rank)


def in_both_ways(comm, groups):
    """Groups of ranks share out heads, and the groups are a ring."""
    size = comm.size // groups
    mine = comm.rank // size
    heads, ring = comm.split(mine), comm.split(comm.rank % size)
    pieces = zigzag(LENGTH, comm.size)
    positions = [pieces[group * size : (group + 1) * size] for group in range(groups)]
    parts = own_part(lambda *given: hybrid(heads, ring, *given, positions), 4, pieces[comm.rank])
    return furthest(parts, on_one_device(4), pieces[comm.rank])


@pytest.mark.parametrize(("ranks", "groups"), [(4, 1), (4, 2), (4, 4), (8, 2), (8, 4), (6, 3)])
def test_both_together_are_full_attention(ranks, groups, real):
    assert max(simulate(in_both_ways, ranks, groups=groups, threads=True).results) < 1e-12
    assert max(real(in_both_ways, ranks, groups=groups).results) < 1e-12


def test_heads_that_cannot_be_divided_are_refused():
    def program(comm):
        x = torch.zeros(1, 4, 2, 2)
        ulysses(comm, x, x, x, LAYOUTS["contiguous"](6, comm.size))

    with pytest.raises(Exception, match="4 heads of queries cannot be divided among 3 ranks"):
        simulate(program, 3, threads=True)


def test_positions_that_do_not_fit_are_refused():
    def program(comm):
        x = torch.zeros(1, 4, 3, 2)
        ulysses(comm, x, x, x, LAYOUTS["contiguous"](9, comm.size))

    with pytest.raises(Exception, match=r"cut by layouts\.contiguous"):
        simulate(program, 2, threads=True)


# -- times ----------------------------------------------------------------------------------

TEXT = theory.LongText(2**17, 32, 128, 4e14)
LINK = Link(5e-6, 1 / 50e9)
NETWORK = Uniform(latency=5e-6, bandwidth=50e9)


def ring_program(comm):
    """The messages and the work of `by_ring`."""
    block = Phantom(int(2 * TEXT.block(comm.size)))
    for step in range(comm.size):
        moving = []
        if step + 1 < comm.size:
            moving = [comm.irecv(block, (comm.rank - 1) % comm.size)]
            moving.append(comm.isend(block, (comm.rank + 1) % comm.size))
        comm.work(seconds=TEXT.work(comm.size) / comm.size)
        for request in moving:
            request.wait()


def heads_program(comm):
    """The messages and the work of `by_heads`."""
    part = Phantom(int(TEXT.block(comm.size) / comm.size))
    for exchange in range(4):
        if exchange == 3:
            comm.work(seconds=TEXT.work(comm.size))
        for step in range(1, comm.size):
            to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
            comm.sendrecv(part, to, part, source)


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
def test_the_times_are_those_of_a_simulation(ranks):
    for program, seconds in ((ring_program, TEXT.by_ring), (heads_program, TEXT.by_heads)):
        simulated = simulate(program, ranks, network=NETWORK).time
        assert simulated == pytest.approx(seconds(ranks, LINK), rel=0.01)


def test_a_ring_wins_where_its_work_hides_the_messages():
    short, long = (theory.LongText(length, 32, 128, 4e14) for length in (2**12, 2**20))
    assert short.by_heads(32, LINK) < short.by_ring(32, LINK)
    assert long.by_ring(32, LINK) < long.by_heads(32, LINK) < long.by_gathering(32, LINK)
    with pytest.raises(ValueError, match="32 heads cannot be divided among 3 ranks"):
        long.by_heads(3, LINK)
