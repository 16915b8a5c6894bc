"""Every method computes the same convolution, and takes no more memory than it says."""

from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from operators.convolution.shapes import expected, passes, problems, settings, tensors

from ddl_measure.allocations import peak_allocation
from ddl_teach.operators.convolution import blocks, fft
from ddl_teach.operators.convolution.methods import METHODS, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.convolution.winograd import Winograd

PROBLEMS = problems(200)
every_method = pytest.mark.parametrize("name", [*METHODS, "winograd_1x1", "winograd_3x3"])


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def worst_errors(method, chosen):
    worst = [0.0, 0.0, 0.0]
    for problem in chosen:
        data = tensors(problem)
        both = zip(expected(problem, *data), passes(method, problem, *data), strict=True)
        for which, (right, ours) in enumerate(both):
            assert ours.shape == right.shape
            worst[which] = max(worst[which], float((ours - right).abs().max()))
    return worst


@every_method
@pytest.mark.sampled(9)
def test_forward_and_both_gradients_are_torchs_for_hundreds_of_shapes(name):
    method = find(name)
    able = [problem for problem in PROBLEMS if not method.refusal(problem)]
    assert len(able) >= (200 if name in ("direct", "im2col", "fft") else 150)
    assert max(worst_errors(method, able)) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 5000])
@every_method
@pytest.mark.sampled(3)
def test_blocks_and_slices_of_any_size_give_the_same(name, monkeypatch, size):
    method = find(name)
    able = [problem for problem in problems(20, seed=1) if not method.refusal(problem)]
    monkeypatch.setattr(blocks, "BLOCK", size)
    monkeypatch.setattr(blocks, "MOST", size)
    monkeypatch.setattr(fft, "PART", size)
    monkeypatch.setattr(fft, "HELD", size)
    assert max(worst_errors(method, able)) < 1e-10


def test_doing_nothing_would_not_pass():
    x, weight, gradient = tensors(PROBLEMS[0])
    assert (
        min(float(part.abs().max()) for part in expected(PROBLEMS[0], x, weight, gradient)) > 0.1
    )


@every_method
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_shorter_numbers_stay_what_they_are(name, dtype):
    problem = Convolution(2, 6, 9, 8, 4, padding=(1, 1), groups=2)
    data = tensors(problem, dtype)
    right = expected(problem, *(part.double() for part in data))
    for ours, one in zip(passes(find(name), problem, *data), right, strict=True):
        assert ours.dtype == dtype
        # Winograd's tile of 6 x 6 loses some hundred roundings; none of them loses all.
        assert (ours - one).norm() < 200 * torch.finfo(dtype).eps * one.norm()


@pytest.mark.slow
@every_method
@pytest.mark.parametrize(
    "problem",
    [
        Convolution(4, 64, 28, 28, 96, padding=(1, 1)),
        Convolution(2, 3, 112, 112, 64, padding=(1, 1)),
        Convolution(2, 16, 30, 30, 16, (5, 5), (2, 2), (2, 2)),
        Convolution(3, 48, 20, 24, 32, (3, 5), (1, 1), (1, 2), 4),
        Convolution(8, 256, 14, 14, 256, (1, 1)),
    ],
    ids=["square", "first", "strided", "grouped", "pointwise"],
)
@pytest.mark.sampled(3)
def test_a_workspace_bounds_what_is_really_allocated(name, problem):
    taken, said = allocated(name, problem)
    assert taken <= said <= 2.5 * taken


@pytest.mark.slow
@every_method
@pytest.mark.parametrize(
    "problem",
    [
        Convolution(1, 512, 6, 6, 512, padding=(1, 1)),
        Convolution(1, 256, 8, 8, 256, (5, 5), padding=(2, 2)),
        Convolution(4, 32, 56, 56, 32, padding=(1, 1)),
    ],
    ids=["weights", "large kernel", "images"],
)
@pytest.mark.sampled(3)
def test_a_workspace_is_nearly_exact_where_weights_or_images_outweigh(name, problem):
    taken, said = allocated(name, problem)
    # Spectra of all filters are counted twice where they are kept whole.
    assert taken <= said <= (2 if name == "fft" and problem.height == 56 else 1.4) * taken


def allocated(name, problem):
    """Bytes of the hungriest pass beyond its result, and what the method says."""
    method = find(name)
    if method.refusal(problem):
        pytest.skip(method.refusal(problem))
    x, weight, gradient = tensors(problem, torch.float32)
    told = settings(problem)
    runs = [
        (problem.output_shape, lambda: method.forward(x, weight, **told)),
        (problem.x_shape, lambda: method.input_gradient(gradient, weight, x.shape, **told)),
        (problem.weight_shape, lambda: method.weight_gradient(x, gradient, weight.shape, **told)),
    ]
    taken = []
    for shape, run in runs:
        run()  # the libraries' own first steps are no part of it
        taken.append(peak_allocation(run) - 4 * torch.Size(shape).numel())
    return max(taken), method.workspace(problem, torch.float32)


def test_winograd_refuses_a_stride_in_every_pass():
    problem = Convolution(1, 2, 8, 8, 2, stride=(1, 2))
    method = find("winograd_4x4")
    assert "stride=(1, 2)" in method.refusal(problem)
    for run in (method.forward, method.input_gradient, method.weight_gradient):
        x, weight, gradient = tensors(problem)
        first, second, *shape = {
            method.forward: (x, weight),
            method.input_gradient: (gradient, weight, x.shape),
            method.weight_gradient: (x, gradient, weight.shape),
        }[run]
        with pytest.raises(ValueError, match=r"stride=\(1, 2\): Winograd.* must be 1"):
            run(first, second, *shape, **settings(problem))


@every_method
def test_a_method_that_all_share_cannot_be_changed(name):
    with pytest.raises(FrozenInstanceError):
        find(name).algorithm = None


HALF = [torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize(("kernel", "largest"), [(1, 8), (3, 6), (5, 4)])
def test_tiles_that_leave_no_digit_are_refused_by_name(dtype, kernel, largest):
    problem = Convolution(1, 32, 20, 20, 8, kernel, padding=kernel // 2)
    x, weight, gradient = tensors(problem, dtype)
    told = settings(problem)
    right = find("direct").forward(x.double(), weight.double(), **told)

    def error(outputs, **limits):
        found = Winograd(outputs, **limits).forward(x, weight, problem).double()
        return (found - right).norm() / right.norm()

    assert error(largest) < 0.25
    # Without the refusal the next tile but one gives nothing: half of it error, inf or nan.
    assert not error(largest + 2, largest=dict.fromkeys(HALF, 99)) < 0.5
    refused = find(f"winograd_{largest + 1}x{largest + 1}")
    words = (
        rf"x and weight are of {dtype}".replace("torch.", "") + rf".*winograd_{largest}x{largest}"
    )
    for run in (
        lambda: refused.forward(x, weight, **told),
        lambda: refused.input_gradient(gradient, weight, x.shape, **told),
        lambda: refused.weight_gradient(x, gradient, weight.shape, **told),
    ):
        with pytest.raises(ValueError, match=words):
            run()
    assert not refused.refusal(problem, torch.float64)
    long = Convolution(1, 1, 20, 20, 1, 11)
    assert "fits into none" in refused.refusal(long, dtype)


@pytest.mark.parametrize("name", ["direct", "im2col", "fft"])
def test_a_stride_of_one_method_is_every_second_output_of_none(name):
    plain = Convolution(2, 3, 13, 11, 4, (5, 4), padding=(2, 1))
    x, weight, _ = tensors(plain)
    dense = find(name).forward(x, weight, **settings(plain))
    strided = find(name).forward(x, weight, **settings(replace(plain, stride=(2, 3))))
    assert torch.allclose(strided, dense[:, :, ::2, ::3], atol=1e-12)


@pytest.mark.parametrize(
    ("images", "rows", "row_bytes", "filters"),
    [
        (1, 1, 1, 1),
        (5, 10, 300_000, 1),
        (7, 99, 1 << 20, 5 << 20),
        (3, 2, 1 << 30, 1 << 30),
    ],
)
def test_blocks_cover_everything_once(images, rows, row_bytes, filters):
    seen, room = torch.zeros(images, rows), blocks.room(filters)
    for some, high in blocks.blocks(images, rows, row_bytes, room):
        seen[some, high] += 1
        assert seen[some, high].numel() * row_bytes <= max(room, row_bytes)
    assert (seen == 1).all()
