"""Ring attention equals full attention, forward and backward, and sends what the formula says."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach.networks.context.layouts import LAYOUTS
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.theory import context as theory

CLOSE = {torch.float64: 1e-10, torch.float32: 2e-5}
BATCH, HEADS, WIDTH = 2, 3, 4


def differences(comm, dtype, length, causal, layout):
    """How far this rank's output and gradients are from full attention's; and its bytes."""
    torch.manual_seed(length)
    whole = [torch.randn(BATCH, HEADS, length, WIDTH, dtype=dtype) for _ in range(4)]
    full = [x.clone().requires_grad_() for x in whole[:3]]
    output = scaled_dot_product_attention(*full, is_causal=causal)
    output.backward(whole[3])
    positions = LAYOUTS[layout](length, comm.size)
    mine = positions[comm.rank]
    own = [x[:, :, mine].clone().requires_grad_() for x in whole[:3]]
    before = comm.ledger.bytes_sent
    found = ring_attention(comm, *own, positions, causal)
    between = comm.ledger.bytes_sent
    found.backward(whole[3][:, :, mine])
    sent = between - before, comm.ledger.bytes_sent - between
    pairs = zip([found, *(x.grad for x in own)], [output, *(x.grad for x in full)], strict=True)
    far = [(one - other[:, :, mine]).abs().max().item() for one, other in pairs if len(mine)]
    # Whoever does not talk sees the own block only.
    alone = scaled_dot_product_attention(*own, is_causal=causal)
    deaf = (alone - output[:, :, mine]).abs().max().item() if len(mine) else 0.0
    return max(far, default=0.0), sent, deaf


def every_case(comm):
    return {
        (dtype, length, causal, layout): differences(comm, dtype, length, causal, layout)
        for dtype in CLOSE
        for length in (24, 13, 5)
        for causal in (True, False)
        for layout in LAYOUTS
    }


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8])
def test_it_is_full_attention_and_sends_what_the_formula_says(ranks, real):
    results = real(every_case, ranks).results
    for case, of_first in results[0].items():
        dtype, length, _, layout = case
        blocks = [2 * BATCH * HEADS * WIDTH * len(one) * dtype.itemsize
                  for one in LAYOUTS[layout](length, ranks)]  # fmt: skip
        if ranks > 1:
            assert max(own[case][2] for own in results) > 0.1
        assert of_first[1] == theory.sent(blocks, 0)
        for rank, own in enumerate(results):
            far, sent, _ = own[case]
            assert far < CLOSE[dtype], case
            assert sent == theory.sent(blocks, rank)


def test_stripes_halve_the_critical_path_of_a_causal_mask():
    length, ranks = 48, 8
    full = length**2 // ranks
    slowest = {name: theory.slowest(LAYOUTS[name](length, ranks)) for name in LAYOUTS}
    contiguous, striped = slowest["contiguous"], slowest["striped"]
    assert full * 0.9 < contiguous <= full
    assert contiguous * 0.5 < striped < contiguous * 0.65
    assert slowest["zigzag"] < contiguous * 0.65


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_layout_has_every_position_and_every_pair_once(layout):
    length, ranks = 48, 8
    positions = layout(length, ranks)
    assert sorted(int(one) for own in positions for one in own) == list(range(length))
    every = [theory.pairs(positions, r, step) for r in range(ranks) for step in range(ranks)]
    assert sum(every) == length * (length + 1) // 2


def test_positions_that_do_not_fit_are_refused(real):
    def program(comm):
        x = torch.zeros(1, 1, 4, 2)
        with pytest.raises(ValueError, match=r"layouts\.contiguous"):
            ring_attention(comm, x, x, x, LAYOUTS["striped"](12, comm.size))

    real(program, 2)
