"""Attention by exchanged heads equals full attention, alone and in a ring of groups."""

from functools import partial

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach import Phantom, simulate
from ddl_teach.comm import Uniform
from ddl_teach.networks.context.layouts import LAYOUTS, zigzag
from ddl_teach.networks.context.ulysses import hybrid, ulysses
from ddl_teach.theory import context as theory
from ddl_teach.theory.machine import Cluster, Link

HEADS = {1: 3, 2: 4, 3: 3, 4: 4, 5: 5, 8: 8}  # by the number of ranks, which divides it
BATCH, WIDTH, LENGTH = 2, 3, 21


def texts(heads, of_keys):
    """Queries, keys, values and a gradient of all positions."""
    torch.manual_seed(heads)
    return [torch.randn(BATCH, count, LENGTH, WIDTH, dtype=torch.float64)
            for count in (heads, of_keys, of_keys, heads)]  # fmt: skip


def on_one_device(heads, of_keys):
    *given, gradient = texts(heads, of_keys)
    given = [x.requires_grad_() for x in given]
    output = scaled_dot_product_attention(*given, is_causal=True, enable_gqa=True)
    output.backward(gradient)
    return [output.detach(), *(x.grad for x in given)]


def own_part(attend, heads, mine, of_keys):
    """Output and gradients on this rank's positions."""
    *given, gradient = (x[:, :, mine].clone() for x in texts(heads, of_keys))
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

    parts = own_part(attend, heads, positions[comm.rank], heads)
    away = furthest(parts, on_one_device(heads, heads), positions[comm.rank])
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


def grouped(comm, of_keys=4):
    """8 heads of queries look at fewer of keys; how far outputs and gradients are from those of
    one device, and the bytes that this rank has sent, forward and backward."""
    attend = partial(scaled_dot_product_attention, is_causal=True, enable_gqa=True)
    torch.manual_seed(1)
    *given, gradient = (torch.randn(1, heads, LENGTH, WIDTH, dtype=torch.float64)
                        for heads in (8, of_keys, of_keys, 8))  # fmt: skip
    positions = zigzag(LENGTH, comm.size)
    mine = positions[comm.rank]
    whole = [x.clone().requires_grad_() for x in given]
    expected = attend(*whole)
    expected.backward(gradient)
    own = [x[:, :, mine].clone().requires_grad_() for x in given]
    before = comm.ledger.bytes_sent
    output = ulysses(comm, *own, positions)
    between = comm.ledger.bytes_sent
    output.backward(gradient[:, :, mine])
    parts = [output.detach(), *(x.grad for x in own)]
    far = furthest(parts, [expected.detach(), *(x.grad for x in whole)], mine)
    return far, (between - before, comm.ledger.bytes_sent - between)


@pytest.mark.parametrize(
    ("ranks", "of_keys"), [(1, 4), (2, 4), (4, 4), (2, 1), (4, 2), (4, 1), (8, 4), (8, 2), (8, 1)]
)
@pytest.mark.sampled(3)
def test_keys_may_have_fewer_heads_than_queries_and_than_ranks(ranks, of_keys, real):
    """Fewer than ranks: each head is copied to several, and the ledger counts the copies."""
    queries, keys = (
        [8 * heads * WIDTH * len(own) for own in zigzag(LENGTH, ranks)]
        for heads in (8, max(of_keys, ranks))
    )
    program = {"of_keys": of_keys}
    simulated = simulate(grouped, ranks, threads=True, **program).results
    for results in (simulated, real(grouped, ranks, **program).results):
        for rank, (far, sent) in enumerate(results):
            assert far < 1e-12
            assert sent == theory.sent_to_heads(queries, rank, keys)


def test_heads_of_keys_that_no_copies_make_even_are_refused():
    with pytest.raises(Exception, match="4 heads of queries cannot be divided among 3 ranks"):
        simulate(grouped_of_three, 3, threads=True)


def grouped_of_three(comm):
    x = torch.zeros(1, 4, 2, 2)
    ulysses(comm, x, x[:, :2], x[:, :2], LAYOUTS["contiguous"](6, comm.size))


def in_both_ways(comm, groups, of_keys=4):
    """Groups of ranks share out heads, and the groups are a ring."""
    size = comm.size // groups
    mine = comm.rank // size
    heads, ring = comm.split(mine), comm.split(comm.rank % size)
    pieces = zigzag(LENGTH, comm.size)
    positions = [pieces[group * size : (group + 1) * size] for group in range(groups)]
    before, sent = comm.ledger.bytes_sent, []

    def attend(*given):
        output = hybrid(heads, ring, *given, positions)
        sent.append(comm.ledger.bytes_sent)
        return output

    parts = own_part(attend, 4, pieces[comm.rank], of_keys)
    away = furthest(parts, on_one_device(4, of_keys), pieces[comm.rank])
    return away, (sent[0] - before, comm.ledger.bytes_sent - sent[0])


@pytest.mark.parametrize(("ranks", "groups"), [(4, 1), (4, 2), (4, 4), (8, 2), (8, 4), (6, 3)])
def test_both_together_are_full_attention(ranks, groups, real):
    pieces = [8 * BATCH * 4 * WIDTH * len(own) for own in zigzag(LENGTH, ranks)]
    size = ranks // groups
    queries = [pieces[group * size : (group + 1) * size] for group in range(groups)]
    simulated = simulate(in_both_ways, ranks, groups=groups, threads=True).results
    for results in (simulated, real(in_both_ways, ranks, groups=groups).results):
        for rank, (away, sent) in enumerate(results):
            assert away < 1e-12
            assert sent == theory.sent_in_both(queries, *divmod(rank, size))


@pytest.mark.parametrize(
    ("ranks", "groups", "of_keys"), [(4, 2, 2), (4, 2, 1), (8, 2, 2), (4, 4, 1)]
)
def test_both_together_take_keys_of_fewer_heads(ranks, groups, of_keys):
    """Either each rank of a group has a head of keys of its own, or several share a copy."""
    run = simulate(in_both_ways, ranks, groups=groups, of_keys=of_keys, threads=True)
    assert max(away for away, _ in run.results) < 1e-12


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
FEW_KEYS = theory.LongText(2**17, 32, 128, 4e14, of_keys=4)
LINK = Link(5e-6, 1 / 50e9)
NETWORK = Uniform(latency=5e-6, bandwidth=50e9)


def ring_program(comm, text=TEXT):
    """The messages and the work of `by_ring`."""
    block = Phantom(int(2 * text.block(comm.size) * (text.of_keys or text.heads) / text.heads))
    for step in range(comm.size):
        moving = []
        if step + 1 < comm.size:
            moving = [comm.irecv(block, (comm.rank - 1) % comm.size)]
            moving.append(comm.isend(block, (comm.rank + 1) % comm.size))
        comm.work(seconds=text.work(comm.size) / comm.size)
        for request in moving:
            request.wait()


def heads_program(comm, text=TEXT):
    """The messages and the work of `by_heads`: each rank gets at least one head of keys."""
    part = text.block(comm.size) / comm.size
    of_keys = part * max(text.of_keys or text.heads, comm.size) / text.heads
    for exchange, nbytes in enumerate((part, of_keys, of_keys, part)):
        if exchange == 3:
            comm.work(seconds=text.work(comm.size))
        for step in range(1, comm.size):
            to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
            comm.sendrecv(Phantom(int(nbytes)), to, Phantom(int(nbytes)), source)


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("text", [TEXT, FEW_KEYS], ids=["as many keys", "few keys"])
@pytest.mark.parametrize(
    ("program", "seconds"),
    [(ring_program, theory.LongText.by_ring), (heads_program, theory.LongText.by_heads)],
)
def test_the_times_are_those_of_a_simulation(program, seconds, text, ranks):
    simulated = simulate(program, ranks, network=NETWORK, text=text).time
    assert simulated == pytest.approx(seconds(text, ranks, LINK), rel=0.01)


@pytest.mark.parametrize("ranks", [4, 16, 32])
def test_few_heads_of_keys_make_a_ring_and_a_gathering_faster_than_the_heads(ranks):
    """In a short text, where messages take the time: queries and outputs keep all their heads."""
    many, few = (theory.LongText(2**14, 32, 128, 4e14, of_keys=keys) for keys in (32, 4))
    by_ring, by_heads, gathered = (
        way(many, ranks, LINK) / way(few, ranks, LINK)
        for way in (
            theory.LongText.by_ring,
            theory.LongText.by_heads,
            theory.LongText.by_gathering,
        )
    )
    assert 1 <= by_heads < min(by_ring, gathered)


MACHINE = Cluster(nodes=8, ranks_per_node=8, cards=8, between=LINK)


def grid_program(comm, text, ring_inside):
    """The messages and the work of `by_both`: one of the two inside the nodes, one between."""
    node, place = divmod(comm.rank, 8)
    inside, between = [8 * node + other for other in range(8)], list(range(place, 64, 8))
    ring, heads = (inside, between) if ring_inside else (between, inside)
    block = text.block(comm.size)
    part, keys = Phantom(int(block / 8)), Phantom(int(2 * block))
    mine = heads.index(comm.rank)
    above, below = (ring[(ring.index(comm.rank) + hop) % 8] for hop in (1, -1))
    for exchange in range(4):
        for step in range(1, 8):
            comm.sendrecv(part, heads[(mine + step) % 8], part, heads[mine - step])
        if exchange != 2:
            continue
        for step in range(8):
            moving = [comm.irecv(keys, below), comm.isend(keys, above)] if step < 7 else []
            comm.work(seconds=text.work(comm.size) / 8)
            for request in moving:
                request.wait()


@pytest.mark.parametrize("ring_inside", [True, False])
@pytest.mark.parametrize("length", [2**14, 2**17, 2**20])
def test_the_time_of_a_grid_is_that_of_a_simulation(length, ring_inside):
    text = theory.LongText(length, 32, 128, 4e14)
    links = MACHINE.by_card(8), MACHINE.inside
    ring, heads = reversed(links) if ring_inside else links
    run = simulate(grid_program, 64, network=MACHINE.network, trace=False,
                   text=text, ring_inside=ring_inside)  # fmt: skip
    assert run.time == pytest.approx(text.by_both(8, 8, ring, heads), rel=0.02)


def test_the_time_of_one_ring_over_all_nodes_is_that_of_a_simulation():
    """A message that leaves a node takes all its cards; so the hops inside are the slower ones."""
    seconds = simulate(ring_program, 64, network=MACHINE.network, trace=False).time
    assert seconds == pytest.approx(TEXT.by_ring(64, MACHINE.inside), rel=0.02)


def test_a_ring_wins_where_its_work_hides_the_messages():
    short, long = (theory.LongText(length, 32, 128, 4e14) for length in (2**12, 2**20))
    assert short.by_heads(32, LINK) < short.by_ring(32, LINK)
    assert long.by_ring(32, LINK) < long.by_heads(32, LINK) < long.by_gathering(32, LINK)
    with pytest.raises(ValueError, match="32 heads cannot be divided among 3 ranks"):
        long.by_heads(3, LINK)
