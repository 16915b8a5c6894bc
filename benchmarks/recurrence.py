"""An LSTM in every order beside torch's own: forward, and forward with all gradients.

    python -m benchmarks.recurrence [--repetitions 9]

Every way takes each turn, in an order that rotates, on one thread. Shown are medians with
nonparametric 95% intervals and their ratio to torch.nn.LSTM, whose steps run in C++. The outputs
of each way are compared with torch's before anything is measured. `products alone`
are those of `packed` in their order, on values that do not change: oneDNN's products of a step,
whose matrix is arranged once, and `torch.mm` over all steps. Nothing that computes with these
products gets below them. Torch's layer has oneDNN compute all steps in one call.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach.operators.recurrence import layer_by_layer, packed, through_time, wavefront
from ddl_teach.operators.recurrence.stack import Stack

RESULTS = Path(__file__).parent / "results" / "recurrence.txt"
PRODUCTS = "products alone"
SHAPES = (  # layers, steps, batch, units
    (1, 64, 1, 64),
    (1, 64, 16, 256),
    (1, 32, 64, 1024),
    (8, 64, 1, 64),
    (8, 32, 16, 256),
)


def contestants(module: torch.nn.LSTM, x: torch.Tensor, backward: bool) -> dict[str, Callable]:
    """By name: a call that returns the outputs."""
    own = Stack.of(module)
    of_outputs = torch.ones_like(module(x)[0])

    def torchs() -> torch.Tensor:
        with torch.set_grad_enabled(backward):
            outputs, _ = module(x)
        if backward:
            torch.autograd.grad(outputs, list(module.parameters()), of_outputs)
        return outputs

    def by_layers(
        layer: Callable, back: Callable = through_time.gradients
    ) -> Callable[[], torch.Tensor]:
        def run() -> torch.Tensor:
            outputs, _, tapes = layer_by_layer.forward(own, x, layer=layer)
            if backward:
                layer_by_layer.gradients(own, tapes, of_outputs, layer=back)
            return outputs

        return torch.no_grad()(run)

    @torch.no_grad()
    def by_wavefronts() -> torch.Tensor:
        outputs, _, tape = wavefront.forward(own, x)
        if backward:
            wavefront.gradients(own, tape, of_outputs)
        return outputs

    @torch.no_grad()
    def products_alone() -> None:
        for weights in own.layers:
            both = torch.cat([weights.input, weights.hidden], 1)
            seen = torch.cat([x, x], 2)
            product = packed.packed(both, weights.input_bias, x.shape[1])
            gates = [product(now) for now in seen]
            if backward:
                product = packed.packed(weights.hidden.T, None, x.shape[1])
                for of_gates in gates:
                    product(of_gates)
                of_all = torch.cat(gates)
                of_all.T @ seen.flatten(0, 1), of_all @ weights.input

    return {
        "torch.nn.LSTM": torchs,
        PRODUCTS: products_alone,
        "per_gate": by_layers(layer_by_layer.per_gate),
        "fused": by_layers(layer_by_layer.fused),
        "all_steps": by_layers(layer_by_layer.all_steps),
        "packed": by_layers(partial(packed.layer, tape=backward), packed.gradients),
        "wavefront": by_wavefronts,
    }


def table(shape: tuple[int, int, int, int], backward: bool, repetitions: int) -> str:
    """One line a way."""
    layers, steps, batch, units = shape
    torch.manual_seed(0)
    module = torch.nn.LSTM(units, units, layers)
    x = torch.randn(steps, batch, units)
    ways = contestants(module, x, backward)
    wanted = ways["torch.nn.LSTM"]()
    for name, way in ways.items():
        if name != PRODUCTS:
            torch.testing.assert_close(way(), wanted, rtol=1e-3, atol=1e-4)
    seconds = side_by_side(ways, repetitions=repetitions)
    reference, _, _ = interval(seconds["torch.nn.LSTM"])
    passes = "forward and gradients" if backward else "forward"
    lines = [f"{layers} layers, {steps} steps, batch {batch}, {units} units: {passes}"]
    for name, times in seconds.items():
        median, low, high = (1e3 * time for time in interval(times))
        lines.append(
            f"  {name:<15}{median:>9.2f} ms  ({low:.2f} to {high:.2f})"
            f"{median / (1e3 * reference):>9.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=9)
    repetitions = parser.parse_args().repetitions
    torch.set_num_threads(1)
    parts = [heading(describe()), "The last column is the ratio to torch.nn.LSTM."]
    for shape in SHAPES:
        for backward in (False, True):
            parts.append(table(shape, backward, repetitions))
            print(parts[-1], flush=True)
    keep(RESULTS, parts)


if __name__ == "__main__":
    main()
