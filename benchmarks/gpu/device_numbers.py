"""What the device itself can do: its roof, its launches, attention, and products in 8 bits.

One rank alone. A time ends when the device has finished. Ceilings are a product of square matrices
for each type, and a copy within the device's memory, which reads and writes each byte; a launch is
a kernel on one number, of many in a row. Attention is the definition, ours in tiles, ours as one
kernel (Triton, forward alone) and torch's; forward, and then with its gradients. FP8 is torch's
scaled product beside the same in 16 bits.
What to look at: the ridge, which says how many operations a byte must be worth there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.gpu import first_line
from ddl_class.notebook.device_places import tensors
from ddl_measure.device_run import GPU, DeviceTiming, TransferPath
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm
from ddl_teach.operators.attention.definition import attention
from ddl_teach.operators.attention.tiled import tiled_attention
from ddl_teach.theory.machine import Roofline

PRODUCT, COPY, LAUNCH = "matrix product", "copy within the device", "launch of a kernel"
ATTENTION, FP8 = "attention", "product in 8 bits"
BOTH_WAYS = "forward and backward"
WIDTHS, SMALL_WIDTHS = (2048, 8192), (64,)
COPIED, SMALL_COPIED = 1 << 30, 1 << 16  # bytes
LAUNCHES = 1000
LENGTHS, SMALL_LENGTHS = (1024, 4096), (64,)
HEADS, HEAD_WIDTH = 16, 64
TYPES = (torch.float32, torch.bfloat16)
CLOSE = 3e-2  # of bfloat16, relative to the largest number


def numbers(comm: Comm, device: str, repetitions: int) -> tuple[list[DeviceTiming], dict]:
    """All of them on rank 0, and why what is missing is missing."""
    if comm.rank:
        return [], {}
    torch.backends.cuda.matmul.allow_tf32 = False
    name, _ = tensors(device)
    notes: dict[str, str] = {}
    rows = _roof(name, device, repetitions)
    for part, words in ((_attention, ATTENTION), (_eight_bits, FP8)):
        try:
            own, why = part(name, device, repetitions)
        except (AssertionError, RuntimeError) as error:  # the roof has been measured all the same
            own, why = [], {words: f"not measured: {first_line(error)}"}
        rows, notes = rows + own, notes | why
    notes["roof"] = roof_text(rows)
    return rows, notes


def roof_of(rows: Iterable[DeviceTiming]) -> dict[str, Roofline]:
    """The device that these rows describe, for each type of numbers; medians of the largest that
    was tried. Empty where nothing was measured."""
    best: dict[str, float] = {}
    for row in rows:
        test, _, width = row.test.partition(", ")
        if test == PRODUCT:
            best[row.way.path] = 2 * int(width) ** 3 / np.median(row.seconds)
        elif test == COPY:
            rate = 2 * row.nbytes / np.median(row.seconds)
        elif test == LAUNCH:
            launch = np.median(row.seconds)
    return {kind: Roofline(flops, rate, launch=launch) for kind, flops in best.items()}


def roof_text(rows: list[DeviceTiming]) -> str:
    """The ceilings in a line."""
    roofs = roof_of(rows)
    products = ", ".join(
        f"{name} {roof.flops / 1e12:.3g} TFLOP/s (ridge {roof.flops / roof.bandwidth:.3g} "
        "operations a byte)"
        for name, roof in roofs.items()
    )
    roof = roofs["float32"]
    return (
        f"{products}; memory {roof.bandwidth / 1e9:.4g} GB/s; a launch {roof.launch * 1e6:.3g} us"
    )


def _timed(
    test: str, ways: dict[str, Callable[[], Any]], device: str, repetitions: int, nbytes: int,
    count: int = 1, gradients: bool = False,
) -> list[DeviceTiming]:  # fmt: skip
    """A row a way, that take turns; `count` is how often a way does its work in one call."""
    place = tensors(device)[1]
    with torch.set_grad_enabled(gradients):
        settled = {name: place.settled(way) for name, way in ways.items()}
        seconds = side_by_side(settled, repetitions=repetitions, warm_up=2)
    return [
        DeviceTiming(test, TransferPath(name), nbytes, tuple((times / count).tolist()))
        for name, times in seconds.items()
    ]


def _roof(name: str, device: str, repetitions: int) -> list[DeviceTiming]:
    rows = []
    for width in WIDTHS if device == GPU else SMALL_WIDTHS:
        ways = {}
        for dtype in TYPES:
            x = torch.randn(width, width).to(dtype).to(name)
            ways[str(dtype).removeprefix("torch.")] = partial(torch.mm, x, x)
        rows += _timed(f"{PRODUCT}, {width}", ways, device, repetitions, 4 * width**2)
    nbytes = COPIED if device == GPU else SMALL_COPIED
    source, target = (torch.zeros(nbytes // 4).to(name) for _ in range(2))
    rows += _timed(COPY, {"copy": lambda: target.copy_(source)}, device, repetitions, nbytes)
    number, count = torch.zeros(1).to(name), LAUNCHES if device == GPU else 10

    def launches() -> None:
        for _ in range(count):
            number.add_(1)

    return rows + _timed(LAUNCH, {"add": launches}, device, repetitions, 4, count)


def _attention(
    name: str, device: str, repetitions: int
) -> tuple[list[DeviceTiming], dict[str, str]]:
    rows, notes = [], {}
    for length in LENGTHS if device == GPU else SMALL_LENGTHS:
        heads = HEADS if device == GPU else 2
        q, k, v = (
            torch.randn(1, heads, length, HEAD_WIDTH).to(torch.bfloat16).to(name) for _ in range(3)
        )
        ways: dict[str, Callable[[], Any]] = {
            "torch": partial(functional.scaled_dot_product_attention, q, k, v, is_causal=True),
            "definition": partial(attention, q, k, v),
            "tiles": partial(tiled_attention, q, k, v),
        }
        try:
            from ddl_teach.operators.attention.fused import fused_attention

            if device == GPU:
                ways["tiles, one kernel"] = lambda q=q, k=k, v=v: fused_attention(q, k, v)[0]
            else:
                notes["one kernel"] = "not measured: Triton's kernels need a GPU"
        except ImportError as error:
            notes["one kernel"] = f"not measured: {error}"
        results = {}
        for way in [*ways]:
            try:
                with torch.no_grad():
                    results[way] = ways[way]().cpu().float()
            except Exception as error:  # of a compiler, of a library: whatever kernels raise
                words = str(error).strip().splitlines() or [type(error).__name__]
                notes[f"attention, {way}"] = f"not measured: {words[0]}"
                del ways[way]
        for way, result in results.items():
            apart = (result - results["definition"]).abs().max().item()
            if not apart <= CLOSE * results["definition"].abs().max().item():
                raise AssertionError(f"attention, {way}: {apart:.1e} away from the definition")
        test = f"{ATTENTION}, {heads} heads, {length} positions, causal, bfloat16"
        rows += _timed(test, ways, device, repetitions, 4 * q.nbytes)
        rows += _with_gradients(test, (q, k, v), device, repetitions)
    return rows, notes


def _with_gradients(
    test: str, given: tuple[torch.Tensor, ...], device: str, repetitions: int
) -> list[DeviceTiming]:
    """The ways that have gradients, forward and backward; all gradients must be alike."""
    own, answer = [x.clone().requires_grad_() for x in given], torch.randn_like(given[0])
    ways: dict[str, Callable[[], Any]] = {
        name: lambda attend=attend: torch.autograd.grad(attend(*own), own, answer)
        for name, attend in (
            ("torch", partial(functional.scaled_dot_product_attention, is_causal=True)),
            ("definition", attention),
            ("tiles", tiled_attention),
        )
    }
    results = {name: [part.cpu().float() for part in way()] for name, way in ways.items()}
    for name, parts in results.items():
        for part, right in zip(parts, results["definition"], strict=True):
            apart = (part - right).abs().max().item()
            if not apart <= CLOSE * right.abs().max().item():
                raise AssertionError(f"{test}, gradients of {name}: {apart:.1e} away")
    nbytes = 8 * given[0].nbytes  # q, k, v, the output, and a gradient of each
    return _timed(f"{test}, {BOTH_WAYS}", ways, device, repetitions, nbytes, gradients=True)


def _eight_bits(
    name: str, device: str, repetitions: int
) -> tuple[list[DeviceTiming], dict[str, str]]:
    """torch's product of two FP8 matrices with one scale each; the second lies by columns."""
    width = (WIDTHS if device == GPU else SMALL_WIDTHS)[-1]
    x = torch.randn(width, width)
    long = x.to(torch.bfloat16).to(name)
    short, unit = x.to(torch.float8_e4m3fn).to(name), torch.ones(()).to(name)
    product = partial(
        torch._scaled_mm, short, short.t(), scale_a=unit, scale_b=unit, out_dtype=torch.bfloat16
    )
    ways = {"bfloat16": lambda: long @ long.t(), "float8_e4m3fn": product}
    try:
        exact, found = ways["bfloat16"]().cpu().float(), product().cpu().float()
    except (RuntimeError, TypeError, ValueError) as error:  # torch has had all three for this
        return [], {FP8: f"not measured: {first_line(error)}"}
    error = ((exact - found).norm() / exact.norm()).item()
    rows = _timed(f"{FP8}, {width} x {width}", ways, device, repetitions, width**2)
    return rows, {FP8: f"relative error {error:.1%} of the product"}
