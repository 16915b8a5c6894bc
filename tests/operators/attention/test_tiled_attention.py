"""Attention in tiles equals the definition and torch's own, and moves what the formula says."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.tiled import TileSizes, tiled_attention
from ddl_teach.operators.attention.traffic import MemoryTraffic
from ddl_teach.theory import attention as theory

TILES = [TileSizes(1, 1), TileSizes(4, 3), TileSizes(5, 8), TileSizes(64, 64)]
WIDTH = 6


def drawn(length, dtype=torch.float64, batch=(2, 3)):
    torch.manual_seed(length)
    shape = (*batch, length, WIDTH)
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for _ in range(3)]


def with_gradients(function, tensors):
    """The output, and the gradients of all three for a weighted sum of it."""
    output = function(*tensors)
    weights = torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape).sin()
    return output, *torch.autograd.grad((output * weights).sum(), tensors)


def assert_alike(ours, theirs, most):
    for one, other in zip(ours, theirs, strict=True):
        assert (one - other).abs().max() <= most * other.abs().max() + 1e-15


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 2, 7, 13, 24])
@pytest.mark.parametrize("tiles", TILES, ids=str)
def test_tiles_give_the_definition_and_its_gradients(tiles, length, causal):
    tensors = drawn(length)
    ours = with_gradients(lambda *x: tiled_attention(*x, causal, tiles), tensors)
    assert_alike(ours, with_gradients(lambda *x: attention(*x, causal), tensors), 1e-12)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("dtype", "most"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=["double", "single"]
)
@pytest.mark.parametrize("ours", [attention, tiled_attention])
def test_both_give_what_torch_gives(ours, dtype, most, causal):
    tensors = drawn(70, dtype)
    theirs = with_gradients(lambda *x: scaled_dot_product_attention(*x, is_causal=causal), tensors)
    assert_alike(with_gradients(lambda *x: ours(*x, causal), tensors), theirs, most)


def test_sums_of_many_tiles_keep_the_digits_of_16_bits():
    """Gradients of keys and values are sums over 64 tiles; in 16 bits these are off by 4%."""
    torch.manual_seed(1024)
    exact = [torch.randn(2, 1024, WIDTH).bfloat16().double().requires_grad_() for _ in range(3)]
    short = [x.detach().bfloat16().requires_grad_() for x in exact]
    answer = torch.randn(2, 1024, WIDTH).bfloat16()

    def of_keys_and_values(function, tensors):
        return torch.autograd.grad(function(*tensors), tensors[1:], answer.to(tensors[0].dtype))

    ours = of_keys_and_values(lambda *x: tiled_attention(*x, True, TileSizes(16, 256)), short)
    assert {x.dtype for x in ours} == {torch.bfloat16}
    assert_alike(ours, of_keys_and_values(attention, exact), 1.5e-2)


def test_a_tile_may_be_one_query_and_one_key():
    tensors = drawn(3)
    ours = with_gradients(lambda *x: tiled_attention(*x, True, TileSizes(1, 1)), tensors)
    assert_alike(ours, with_gradients(attention, tensors), 1e-12)


def test_large_scores_do_not_overflow():
    q, k, v = drawn(12)
    assert_alike([tiled_attention(300 * q, 300 * k, v, True, TileSizes(4, 3))],
                 [attention(300 * q, 300 * k, v)], 1e-12)  # fmt: skip


def test_gradients_are_those_of_differences():
    tensors = drawn(5, batch=())
    assert torch.autograd.gradcheck(lambda *x: tiled_attention(*x, True, TileSizes(2, 3)), tensors)


def test_queries_and_keys_may_differ_in_number_without_a_mask():
    q, (_, k, v) = drawn(4)[0], drawn(9)
    assert_alike(
        [tiled_attention(q, k, v, False, TileSizes(3, 2))], [attention(q, k, v, False)], 1e-12
    )


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 13, 24, 60])
@pytest.mark.parametrize("tiles", TILES, ids=str)
def test_what_moves_and_is_held_is_the_formula_to_the_byte(tiles, length, causal):
    tensors, traffic = drawn(length, batch=()), MemoryTraffic()
    output = tiled_attention(*tensors, causal, tiles, traffic)
    assert traffic.moved == 8 * theory.tiled_traffic(length, WIDTH, tiles, causal)
    assert traffic.held <= 8 * theory.held(WIDTH, tiles)
    if length % tiles.queries == length % tiles.keys == 0:
        assert traffic.held == 8 * theory.held(WIDTH, tiles)
    forward = traffic.moved
    output.sum().backward()
    # Backward: Q, O, the gradient of O and the logs in, that of Q out; keys and values and their
    # gradients in, and these gradients out again.
    own, read = 4 * length * WIDTH + length, sum(theory.keys_read(length, tiles, causal))
    assert traffic.moved - forward == 8 * (own + 6 * WIDTH * read)


def test_tiles_have_64_queries_and_64_keys_where_no_size_is_given():
    tensors, traffic = drawn(128, batch=()), MemoryTraffic()
    tiled_attention(*tensors, traffic=traffic)
    assert traffic.moved == 8 * theory.tiled_traffic(128, WIDTH, (64, 64), causal=True)
    assert traffic.held == 8 * theory.held(WIDTH, (64, 64))


@pytest.mark.parametrize("tiled", [True, False])
def test_what_waits_for_the_way_back_is_the_formula(tiled):
    length, kept = 32, {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.numel()
        return tensor

    tensors = drawn(length, batch=())
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = (tiled_attention if tiled else attention)(*tensors, causal=False)
    kept[output.untyped_storage().data_ptr()] = output.numel()
    assert sum(kept.values()) == theory.stored(length, WIDTH, tiled)


@pytest.mark.parametrize("memory", [2**14, 2**15, 2**16])
def test_the_traffic_falls_with_the_fast_memory_as_the_paper_says(memory):
    small, large = (theory.largest_tiles(64, numbers) for numbers in (memory, 2 * memory))
    assert theory.held(64, small) <= memory < theory.held(64, [side + 1 for side in small])
    more, less = (theory.tiled_traffic(4096, 64, tiles) for tiles in (small, large))
    assert less < more < theory.definition_traffic(4096, 64)
    assert 1.4 < more / less < 2.2


def test_tiles_compute_more_and_by_how_much():
    plain, anew = (theory.operations(1024, 64, anew=anew) for anew in (False, True))
    assert anew / plain == pytest.approx(7 / 6)
    assert theory.operations(3, 5, causal=True) == 2 * 5 * 6 * 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q, k, v: (q, k[..., :3], v), "width of a head"),
        (lambda q, k, v: (q, k, v[:, :1]), "keys and values of one shape"),
        (lambda q, k, v: (q[..., :2, :], k, v), "causal=False"),
    ],
)
@pytest.mark.parametrize("function", [attention, tiled_attention])
def test_what_does_not_fit_is_refused(function, change, words):
    with pytest.raises(ValueError, match=words):
        function(*change(*drawn(4)))


def test_an_empty_tile_and_a_tiny_memory_are_refused():
    with pytest.raises((TypeError, ValueError), match="tile's keys"):
        tiled_attention(*drawn(4), True, TileSizes(4, 0))
    with pytest.raises(ValueError, match="too few"):
        theory.largest_tiles(64, 100)
