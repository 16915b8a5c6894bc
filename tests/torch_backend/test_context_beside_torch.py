"""Torch's own context parallelism beside ring, Ulysses and gathered keys, on the same ranks."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import _attention as cutting
from torch.distributed.tensor.parallel import parallelize_module
from torch.nn.functional import scaled_dot_product_attention
from training_programs import begin

from benchmarks.gpt_beside_torch import FlashAttention, attention_for_processors
from ddl_teach import simulate
from ddl_teach.networks.context.gathering import gathering_attention
from ddl_teach.networks.context.layouts import zigzag
from ddl_teach.networks.context.ring_attention import ring_attention
from ddl_teach.networks.context.ulysses import ulysses
from ddl_teach.theory import context as theory
from ddl_teach.theory.ring_bytes import allgather, reduce_scatter

LENGTH, HEADS, WIDTH = 32, 4, 8


def beside_each_other(comm, rotate):
    """How far outputs and gradients of each way are from one device's, on this rank's zigzag
    parts; and the bytes that each way has sent."""
    begin()
    held = None if comm.virtual_time else attention_for_processors()
    mesh = init_device_mesh("cpu", (comm.size,))
    cutting._enable_context_parallel_dispatcher()
    cutting.set_rotate_method(rotate)
    layer = nn.Sequential(FlashAttention())
    kind = cutting._ContextParallel.AttentionType.SDPA
    parallelize_module(layer[0], mesh, cutting._ContextParallel(2, kind))
    torch.manual_seed(0)
    *given, gradient = (
        torch.randn(2, HEADS, LENGTH, WIDTH, dtype=torch.float64) for _ in range(4)
    )
    whole = [x.clone().requires_grad_() for x in given]
    expected = scaled_dot_product_attention(*whole, is_causal=True)
    expected.backward(gradient)
    positions = zigzag(LENGTH, comm.size)
    mine = positions[comm.rank]
    ways = {"torch": layer[0]}
    for way in (ring_attention, ulysses, gathering_attention):
        ways[way.__name__] = partial(way, comm, positions=positions)
    far, sent = {}, {}
    for name, way in ways.items():
        own = [x[:, :, mine].clone().requires_grad_() for x in given]
        before = comm.ledger.bytes_sent
        output = way(*own)
        output.backward(gradient[:, :, mine])
        sent[name] = comm.ledger.bytes_sent - before
        pairs = zip([output, *own], [expected, *whole], strict=True)
        parts = [(a if a is output else a.grad, b if b is expected else b.grad) for a, b in pairs]
        far[name] = max((a - b[:, :, mine]).abs().max().item() for a, b in parts)
    comm.barrier()  # behind it no rank needs the dispatcher any more
    cutting._disable_context_parallel_dispatcher()
    del held
    return far, sent


@pytest.mark.parametrize("rotate", ["allgather", "alltoall"])
@pytest.mark.parametrize(
    ("ranks", "ground"), [(2, "simulated"), (4, "simulated"), (2, "real"), (4, "real")]
)
@pytest.mark.sampled(4)
def test_four_ways_are_one_attention_and_each_sends_what_it_should(ranks, ground, rotate, real):
    run = partial(real, timeout=200) if ground == "real" else partial(simulate, threads=True)
    queries = [8 * 2 * HEADS * WIDTH * len(held) for held in zigzag(LENGTH, ranks)]
    blocks = [2 * many for many in queries]
    for rank, (far, sent) in enumerate(run(beside_each_other, ranks, rotate=rotate).results):
        assert far.pop("torch") < 1e-5  # it merges its parts in 32 bits
        assert max(far.values()) < 1e-12
        once, back = theory.sent(blocks, rank)
        assert sent == {
            "ring_attention": once + back,
            "ulysses": sum(theory.sent_to_heads(queries, rank)),
            "gathering_attention": allgather(blocks, rank, 1) + reduce_scatter(blocks, rank, 1),
            "torch": 2 * once + sum(blocks) // 2,  # its gradients travel in 32 bits, too
        }
