"""What torch itself counts: operations computed anew, and memory that grows with the length."""

from functools import partial
from itertools import accumulate

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from ddl_teach.networks.models import data, gpt
from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.tiled import TileSizes, tiled_attention
from ddl_teach.theory import attention as theory

WIDTH = 16
WAYS = {"definition": attention, "tiles": partial(tiled_attention, tiles=TileSizes(32, 32))}


def drawn(length):
    torch.manual_seed(length)
    return [torch.randn(1, 1, length, WIDTH, requires_grad=True) for _ in range(3)]


def forward_and_backward(way, length, causal):
    way(*drawn(length), causal).sum().backward()


@pytest.mark.parametrize("length", [32, 64, 96])
@pytest.mark.parametrize("way", WAYS)
def test_operations_are_what_torch_counts(way, length):
    with FlopCounterMode(display=False) as counted:
        forward_and_backward(WAYS[way], length, False)
    known = theory.operations(length, WIDTH, anew=way == "tiles")
    assert counted.get_total_flops() == known


def test_causal_tiles_leave_out_what_is_never_seen():
    tiles, length = (32, 32), 128
    with FlopCounterMode(display=False) as counted:
        forward_and_backward(WAYS["tiles"], length, True)
    pairs = tiles[0] * sum(theory.keys_read(length, tiles, True))
    assert counted.get_total_flops() == 7 * 2 * WIDTH * pairs


def test_unless_told_otherwise_each_query_sees_all_keys():
    """Four tiles of queries, each of which reads all 8 keys and values of width 4."""
    own, each = 2 * 8 * 4 + 8, 2 * 8 * 4
    assert theory.tiled_traffic(8, 4, (2, 2)) == own + 4 * each
    assert theory.tiled_traffic(8, 4, (2, 2), causal=True) == own + (1 + 2 + 3 + 4) * each // 4


def most_allocated(way, length):
    """The most bytes that torch has allocated at a time, forward and backward."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        forward_and_backward(way, length, True)
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]
    return max(accumulate(changes))


@pytest.mark.slow
def test_memory_grows_with_the_length_in_tiles_and_with_its_square_by_definition():
    growth = {
        name: most_allocated(way, 2048) / most_allocated(way, 1024) for name, way in WAYS.items()
    }
    assert growth["tiles"] < 2.05
    assert growth["definition"] > 3.7


def test_in_tiles_memory_is_less_than_the_matrix_that_is_never_made():
    length = 1024
    assert most_allocated(WAYS["tiles"], length) < 4 * length**2 / 4


def losses(attend, steps=6):
    network = gpt.gpt(length=24).double()
    for block in list(network)[1:-2]:
        block.attention.attend = attend
    step, came = torch.optim.AdamW(network.parameters(), 1e-2), []
    for tokens, targets in data.batches(data.characters(24), 4, steps):
        loss = cross_entropy(network(tokens).flatten(0, 1), targets.flatten())
        step.zero_grad()
        loss.backward()
        step.step()
        came.append(loss.item())
    return came


@pytest.mark.parametrize("tiles", [TileSizes(8, 8), TileSizes(5, 7)], ids=str)
def test_a_gpt_in_tiles_has_the_loss_curve_of_torchs_attention(tiles):
    torchs = losses(gpt.Attention(32, 4).attend)
    assert torchs[-1] < torchs[0]
    assert losses(partial(tiled_attention, tiles=tiles)) == pytest.approx(torchs, rel=1e-10)
