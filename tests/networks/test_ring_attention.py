"""Ring attention equals full attention, forward and backward, and sends what the formula says."""

from functools import partial

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach import simulate
from ddl_teach.networks.context import ring_attention as module
from ddl_teach.networks.context.layouts import LAYOUTS
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.theory import context as theory

CLOSE = {torch.float64: 1e-12, torch.float32: 2e-5}
BATCH, HEADS, WIDTH = 2, 4, 4


def differences(comm, dtype, length, causal, layout, of_keys=HEADS):
    """How far this rank's output and gradients are from full attention's; and its bytes."""
    attend = partial(scaled_dot_product_attention, is_causal=causal, enable_gqa=True)
    torch.manual_seed(length)
    whole = [torch.randn(BATCH, heads, length, WIDTH, dtype=dtype)
             for heads in (HEADS, of_keys, of_keys, HEADS)]  # fmt: skip
    full = [x.clone().requires_grad_() for x in whole[:3]]
    output = attend(*full)
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
    # A rank that does not talk sees its own block only.
    alone = attend(*own)
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


def every_layout(comm, of_keys):
    case = {"dtype": torch.float64, "length": 13, "of_keys": of_keys}
    return {
        layout: differences(comm, causal=layout != "striped", layout=layout, **case)
        for layout in LAYOUTS
    }


@pytest.mark.parametrize("of_keys", [1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(4)
def test_fewer_heads_of_keys_are_shared_and_send_fewer_bytes(ranks, of_keys, real):
    simulated = simulate(every_layout, ranks, threads=True, of_keys=of_keys).results
    for results in (simulated, real(every_layout, ranks, of_keys=of_keys).results):
        for layout, cut in LAYOUTS.items():
            blocks = [2 * 8 * BATCH * of_keys * WIDTH * len(held) for held in cut(13, ranks)]
            for rank, own in enumerate(results):
                far, sent, _ = own[layout]
                assert far < 1e-12
                assert sent == theory.sent(blocks, rank)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("of_keys", [2, HEADS])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.sampled(4)
def test_rows_at_once_change_no_result(monkeypatch, rows, ranks, layout, of_keys, causal):
    monkeypatch.setattr(module, "ROWS", rows)
    case = {"length": 13, "causal": causal, "layout": layout, "of_keys": of_keys}
    run = simulate(differences, ranks, threads=True, dtype=torch.float64, **case)
    assert max(far for far, _, _ in run.results) < 1e-12


@pytest.mark.parametrize(
    ("mine", "others", "count", "seen"),
    [
        ([4, 5], [0, 1, 2], 3, None),
        ([0, 1], [2, 3], 0, None),
        ([1, 2], [0, 1, 2, 3], 3, [[True, True, False], [True, True, True]]),
        ([2], [3, 1, 4], 2, [[False, True]]),
        ([], [0, 1], 0, None),
    ],
    ids=["past", "future", "both", "out of order", "no queries"],
)
def test_only_keys_that_some_query_sees_are_computed_with(mine, others, count, seen):
    places = torch.tensor(mine, dtype=torch.int64), torch.tensor(others)
    its_count, its_seen = module.visible(*places, causal=True)
    assert its_count == count
    assert (its_seen if its_seen is None else its_seen.tolist()) == seen


def test_heads_that_cannot_share_are_refused():
    def program(comm):
        x = torch.zeros(1, 4, 3, 2)
        ring_attention(comm, x, x[:, :3], x[:, :3], LAYOUTS["contiguous"](6, comm.size))

    with pytest.raises(Exception, match="4 heads of queries cannot share 3 heads of keys"):
        simulate(program, 2, threads=True)


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
