"""The kernel for a GPU gives what tiles give, and refuses what its matrix unit cannot take.

Where no GPU is, Triton's own interpreter runs the kernel: `pip install triton` is enough for it.
"""

import json
import os
import subprocess
import sys

import pytest
import torch

from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.tiled import TileSizes
from tests import places

triton = pytest.importorskip("triton", reason="Triton is not installed: run this where it is")
interpreted_kernel = pytest.importorskip("interpreted_kernel")
MOST = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def drawn(length, dtype=torch.float32, width=32):
    torch.manual_seed(length)
    return [torch.randn(2, 3, length, width, device="cuda").to(dtype) for _ in range(3)]


@pytest.fixture(scope="module")
def interpreted():
    """How far each case of the interpreter is from what is right."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, interpreted_kernel.__file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(zip(interpreted_kernel.CASES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("case", interpreted_kernel.CASES, ids=str)
def test_in_tritons_interpreter_the_kernel_gives_the_definition_and_the_logs(interpreted, case):
    assert max(interpreted[case]) < MOST[interpreted_kernel.KINDS[case[1]]]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason=places.NO_GPU)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 16, 50, 128, 200])
@pytest.mark.parametrize("dtype", MOST, ids=str)
@pytest.mark.parametrize("tiles", [(16, 16), (64, 32), (32, 64)], ids=str)
def test_the_kernel_gives_the_definition_and_the_logs(tiles, dtype, length, causal):
    from ddl_teach.operators.attention.fused import fused_attention

    q, k, v = drawn(length, dtype)
    output, log_total = fused_attention(q, k, v, causal, TileSizes(*tiles))
    precise = [each.double() for each in (q, k, v)]
    assert (output - attention(*precise, causal)).abs().max() < MOST[dtype]
    scores = precise[0] @ precise[1].mT * q.shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    assert (log_total - scores.logsumexp(-1, keepdim=True)).abs().max() < MOST[dtype]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason=places.NO_GPU)
@pytest.mark.parametrize(
    ("change", "tiles", "words"),
    [
        (lambda x: x[..., :24], TileSizes(), "powers of two"),
        (lambda x: x, TileSizes(16, 8), "powers of two"),
        (lambda x: x.double(), TileSizes(), "float16"),
        (lambda x: x.requires_grad_(), TileSizes(), "has no gradients"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(change, tiles, words):
    from ddl_teach.operators.attention.fused import fused_attention

    with pytest.raises(ValueError, match=words):
        fused_attention(*map(change, drawn(20)), True, tiles)
