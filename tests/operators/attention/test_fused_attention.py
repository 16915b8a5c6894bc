"""The kernel for a GPU gives what tiles give, and refuses what its matrix unit cannot take."""

import pytest
import torch

from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.tiled import TileSizes
from tests import places

triton = pytest.importorskip("triton", reason="Triton is not installed: run this where it is")
pytestmark = places.on_gpu
MOST = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def drawn(length, dtype=torch.float32, width=32):
    torch.manual_seed(length)
    return [torch.randn(2, 3, length, width, device="cuda").to(dtype) for _ in range(3)]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 16, 50, 128, 200])
@pytest.mark.parametrize("dtype", MOST, ids=str)
@pytest.mark.parametrize("tiles", [(16, 16), (64, 32), (32, 64)], ids=str)
def test_the_kernel_gives_the_definition_and_the_logs(tiles, dtype, length, causal):
    from ddl_teach.operators.attention.fused import fused_attention

    q, k, v = drawn(length, dtype)
    output, log_total = fused_attention(q, k, v, causal, tiles)
    precise = [each.double() for each in (q, k, v)]
    assert (output - attention(*precise, causal)).abs().max() < MOST[dtype]
    scores = precise[0] @ precise[1].mT * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    assert (log_total - scores.logsumexp(-1, keepdim=True)).abs().max() < MOST[dtype]


@pytest.mark.parametrize(
    ("change", "tiles", "words"),
    [
        (lambda x: x[..., :24], TileSizes(), "powers of two"),
        (lambda x: x, TileSizes(16, 8), "powers of two"),
        (lambda x: x.double(), TileSizes(), "float16"),
        (lambda x: x.requires_grad_(), TileSizes(), "forward only"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(change, tiles, words):
    from ddl_teach.operators.attention.fused import fused_attention

    with pytest.raises(ValueError, match=words):
        fused_attention(*map(change, drawn(20)), True, tiles)
