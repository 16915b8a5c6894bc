"""Tensors without data: the table says of each operation what torch says, and large models fit."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional

from benchmarks.torch_sizes import SIZES, measured_alone
from ddl_teach import simulate
from ddl_teach.torch_backend import sizes

OPERATIONS = {
    "sum of two": lambda a, b: a + b,
    "with a number": lambda a, b: a * 2,
    "with a number that is none of floats": lambda a, b: b.int() * 2,
    "with a number of floats": lambda a, b: b.int() * 2.0,
    "in place": lambda a, b: a.add_(b),
    "three in place": lambda a, b: a.addcdiv_(b, b, value=-0.1),
    "product": lambda a, b: a @ b,
    "transposed": lambda a, b: a.t(),
    "a part": lambda a, b: a[1:3],
    "another part": lambda a, b: a[2:],
    "several views": lambda a, b: a.chunk(2)[1],
    "flat": lambda a, b: a.view(-1),
    "detached": lambda a, b: a.detach(),
    "copy": lambda a, b: a.t().contiguous(),
    "other type": lambda a, b: a.to(torch.bfloat16),
    "joined": lambda a, b: torch.cat([a, b]),
    "total": lambda a, b: a.sum(),
    "largest": lambda a, b: a.max(0)[1],
    "normalised": lambda a, b: functional.layer_norm(a, (6,)),
    "attention": lambda a, b: functional.scaled_dot_product_attention(*[a.view(1, 2, 3, 6)] * 3),
    "loss": lambda a, b: functional.cross_entropy(a, torch.zeros(6, dtype=torch.long)),
    "made": lambda a, b: torch.empty(3, 4),
    "made like": lambda a, b: torch.zeros_like(a),
    "resized": lambda a, b: a.clone().resize_(2, 3),
}


def described(x):
    kept = x.dtype, x.device, x.requires_grad, x.layout
    return type(x), x.shape, x.stride(), x.storage_offset(), *kept


def carry_out(comm, name):
    """An operation three times: what came out, and whether it shares memory with what went in."""
    with FakeTensorMode():
        outcomes = []
        for _ in range(3):
            a, b = torch.empty(6, 6), torch.empty(6, 6)
            out = OPERATIONS[name](a, b)
            memory = out.untyped_storage()._cdata == a.untyped_storage()._cdata
            outcomes.append((*described(out), out is a, memory))
    return outcomes


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_table_says_what_torch_says(name, monkeypatch):
    """Outside of a rank's program, torch is asked."""
    [ours] = simulate(carry_out, 1, threads=True, name=name).results
    assert ours == carry_out(None, name)
    assert ours[0][0] is FakeTensor


def test_torch_is_asked_no_more(monkeypatch):
    simulate(carry_out, 1, threads=True, name="product")
    monkeypatch.setattr(sizes, "_usual_dispatch", None)
    simulate(carry_out, 2, threads=True, name="product")


MOST_MEGABYTES, QUICKEST = 4096, "small, 4 ranks"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == QUICKEST else pytest.mark.long)
             for name in SIZES],
)  # fmt: skip
@pytest.mark.timeout(4 * 3600)
def test_large_models_have_sizes_without_memory(name):
    """All ranks send what FSDP2 sends, to the byte; see `test_bytes_are_those_of_zero`."""
    measured = measured_alone(name)
    assert measured["sent"] == [measured["formula"]]
    assert measured["MB"] < MOST_MEGABYTES
