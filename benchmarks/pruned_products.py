"""A matrix with 90% zeros: its product, dense and sparse, and what it saves elsewhere.

    python -m benchmarks.pruned_products [--repetitions 15]

Dense with zeros in it, and torch's sparse CSR, take turns on one thread, at three jobs:

    columns   W x for examples that are columns: the form that suits a sparse matrix best
    layer     x W^T for examples that are rows, as a linear layer of a network computes it
    step      a layer forward, and the gradients of its inputs and of the weights that are kept

Shown are medians with nonparametric 95% intervals and the ratio to dense; and the memory of
training the matrix with Adam in single precision and the bytes of its gradient, with pruned states
as parts of those without, measured from storages. Which of the first two forms is timed decides
who wins at 90%.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from ddl_measure.interval import interval
from ddl_measure.machine import describe, heading, keep
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, simulate
from ddl_teach.networks.memory import measured
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.sharded_states import ShardedStates
from ddl_teach.networks.pruning.kept import expand, largest
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.training.optimizers.adam import Adam

RESULTS = Path(__file__).parent / "results" / "pruned_products.txt"
SHAPES = ((64, 512, 512), (512, 1024, 1024))  # batch, inputs, outputs
KEPT = (0.5, 0.1, 0.01)


def pruned_matrix(outputs: int, inputs: int, kept: float) -> torch.Tensor:
    """A random matrix of which the largest entries are left."""
    dense = torch.randn(outputs, inputs)
    places = largest(dense, kept)
    expand(dense.reshape(-1)[places], places, out=dense)
    return dense


def jobs(dense: torch.Tensor, batch: int) -> dict[str, tuple[Callable, Callable]]:
    """By name: the dense way and the sparse one."""
    rows, errors = torch.randn(batch, dense.shape[1]), torch.randn(batch, dense.shape[0])
    columns, error_columns = rows.T.contiguous(), errors.T.contiguous()
    sparse, transposed = dense.to_sparse_csr(), dense.T.contiguous().to_sparse_csr()
    places = torch.sparse_csr_tensor(
        sparse.crow_indices(),
        sparse.col_indices(),
        torch.zeros_like(sparse.values()),
        sparse.shape,
    )

    def step() -> tuple[torch.Tensor, ...]:
        return functional.linear(rows, dense), errors @ dense, error_columns @ rows

    def sparse_step() -> tuple[torch.Tensor, ...]:
        of_weights = torch.sparse.sampled_addmm(places, error_columns, rows)
        return functional.linear(rows, sparse), (transposed @ error_columns).T, of_weights

    return {
        "columns": (lambda: dense @ columns, lambda: sparse @ columns),
        "layer": (
            lambda: functional.linear(rows, dense),
            lambda: functional.linear(rows, sparse),
        ),
        "step": (step, sparse_step),
    }


def products(batch: int, inputs: int, outputs: int, repetitions: int) -> list[str]:
    """A line for each job and each part that is kept."""
    lines = []
    for kept in KEPT:
        for name, (dense, sparse) in jobs(pruned_matrix(outputs, inputs, kept), batch).items():
            if name != "step":
                torch.testing.assert_close(sparse(), dense(), rtol=1e-3, atol=1e-3)
            seconds = side_by_side({"dense": dense, "sparse": sparse}, repetitions=repetitions)
            times = [
                f"{way} {median:7.2f} ms ({low:.2f} to {high:.2f})"
                for way, taken in seconds.items()
                for median, low, high in [[1e3 * time for time in interval(taken)]]
            ]
            ratio, low, high = interval(seconds["sparse"] / seconds["dense"])
            lines.append(
                f"  {1 - kept:3.0%} zeros  {name:8}{'  '.join(times)}"
                f"  sparse / dense {ratio:5.2f} ({low:.2f} to {high:.2f})"
            )
    return lines


def savings(comm: Comm, inputs: int, outputs: int, kept: float) -> tuple[float, float]:
    """Memory and gradient bytes of training with pruned states, as parts of those without."""
    held = []
    for make in ("all", "pruned"):
        model = nn.Sequential(nn.Linear(inputs, outputs, bias=False))
        if make == "all":
            trainer = ShardedStates(comm, model, resident(Adam()))
        else:
            places = {"0.weight": largest(model[0].weight, kept)}
            trainer = Pruned(comm, model, places, resident(Adam()))
        model(torch.randn(2, inputs)).sum().backward()
        held.append(measured.ledger(trainer.tensors()))
        trainer.step()
    return held[1].total / held[0].total, held[1].gradients / held[0].gradients


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=15)
    repetitions = parser.parse_args().repetitions
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines = [heading(describe())]
    for batch, inputs, outputs in SHAPES:
        lines += ["", f"{outputs} x {inputs} times a batch of {batch}"]
        lines += products(batch, inputs, outputs, repetitions)
    lines += ["", "1024 x 1024 trained with Adam, pruned states as part of all states"]
    for kept in KEPT:
        run = simulate(savings, 1, inputs=1024, outputs=1024, kept=kept)
        memory, message = run.results[0]
        lines.append(
            f"  {1 - kept:4.0%} zeros  memory {memory:.3f}  gradient message {message:.3f}"
        )
    print("\n".join(lines))
    keep(RESULTS, ["\n".join(lines)])


if __name__ == "__main__":
    main()
