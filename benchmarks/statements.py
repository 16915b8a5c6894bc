"""An embedding of code statements, trained along every path that suits sparse gradients.

    python -m benchmarks.statements [--ranks 4] [--pairs 150000] [--batch 64]

The task is `ddl_teach.training.tasks.statements`: skip-gram with negative sampling over statements
of five packages of the standard library of the Python that runs; the numbers depend on its
version. Every training looks at as many pairs. The accuracy is that of the downstream task, which
package does a function come from, on functions of files that nothing was learnt from; beside it
stand always the most frequent package and vectors that have learnt nothing. Seconds are of one
training each, on ranks that share this machine: an order of magnitude, no race. Bytes are those of
all ranks together. What to look at: the same accuracy for a part of the bytes, and for none.

The packages and settings were chosen while looking at one third of the files, the one of the
table. So the last lines ask about the two other thirds, which nobody looked at before.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from ddl_measure.machine import describe, heading, keep
from ddl_teach import Ranks
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.nonzero import NonZero
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.hogwild import Hogwild
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.distribution import Distribution as Way
from ddl_teach.training.distribution.server import Sharded
from ddl_teach.training.distribution.shared_vector import SharedVector
from ddl_teach.training.distribution.sparse_all_reduce import SparseAllReduce
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.statements import downstream
from ddl_teach.training.tasks.statements.corpus import read
from ddl_teach.training.tasks.statements.embedding import Statements
from ddl_teach.training.trainer import train

RESULTS = Path(__file__).parent / "results" / "statements.txt"
RATE = 0.08  # for each pair of a step: of b pairs that are averaged, b times that
SHOWN = ("_, _ = get_cfws(_)", "raise ValueError(str)", "except OSError:", "_ = []")


def ways() -> dict[str, tuple[Consistency, Way, Compressor]]:
    """By name: consistency, distribution and compressor."""
    together, sparse = Synchronous(), NonZero()
    return {
        "dense all-reduce (ring)": (together, AllReduce("ring"), Dense()),
        "gathered lists": (together, AllReduce("ring"), sparse),
        "sparse: recursive doubling": (together, SparseAllReduce(), sparse),
        "sparse: split, all-gather": (together, SparseAllReduce("split_allgather"), sparse),
        "sparse: dense second phase": (together, SparseAllReduce("dense_second_phase"), sparse),
        "the same, 4 bits in it": (
            together, SparseAllReduce("dense_second_phase", QSGD(levels=7, bucket=512)), sparse
        ),
        "sparse: largest 1%, memory": (together, SparseAllReduce(), Feedback(TopK(0.01))),
        "two shards, dense": (together, Sharded(2), Dense()),
        "two shards, sparse": (together, Sharded(2), sparse),
        "two shards, asynchronous": (Asynchronous(), Sharded(2), sparse),
        "lock-free, shared memory": (Hogwild(), SharedVector(), Dense()),
    }  # fmt: skip


def line(
    ranks: Ranks, task: Statements, name: str, way: tuple[Consistency, Way, Compressor], pairs: int
) -> tuple[str, np.ndarray]:
    """Train once; the line of the table, and the weights."""
    consistency, distribution, compressor = way
    workers = ranks.size - (distribution.servers if isinstance(distribution, Sharded) else 0)
    at_once = workers if isinstance(consistency, Synchronous) else 1
    run = ranks.run(
        train, task=task, consistency=consistency, distribution=distribution,
        compressor=compressor, trace=False, timeout=600,
        update=SGD(RATE * task.batch * at_once), steps=pairs // (task.batch * workers),
    )  # fmt: skip
    weights = next(result.weights for result in reversed(run.results) if result.worker is not None)
    sent = sum(result.total_bytes for result in run.results)
    seconds = max(result.total_seconds for result in run.results)
    return (
        f"{name:<28}{workers:>8}{task.loss(weights):>8.3f}{task.accuracy(weights):>10.1%}"
        f"{sent / 1e6:>10.1f} MB{seconds:>9.1f} s"
    ), weights


def other_thirds(ranks: Ranks, batch: int, pairs: int) -> list[str]:
    """The same settings, trained and asked on files that nothing was chosen by."""
    lines = ["", "held out: another third    functions  most frequent  untrained  trained"]
    for fold in (0, 2):
        task = Statements(read(fold=fold), batch=batch)
        corpus = task.corpus
        _, weights = line(ranks, task, "", ways()["lock-free, shared memory"], pairs)
        asked = (np.diff(corpus.begins)[corpus.held_out] >= downstream.LEAST).sum()
        lines.append(
            f"files {fold}, {fold + 3}, {fold + 6}, ...{asked:>22}"
            f"{downstream.most_frequent(corpus):>15.1%}{task.accuracy(task.initial()):>11.1%}"
            f"{task.accuracy(weights):>9.1%}"
        )
    return lines


def neighbours(task: Statements, weights: np.ndarray) -> list[str]:
    """Some statements and those nearest to them."""
    lines = []
    for statement in SHOWN:
        if statement in task.corpus.vocabulary:
            near = downstream.nearest(task.corpus, task.vectors(weights), statement, 4)
            lines.append(f"{statement}\n    " + "   ".join(f"{t} ({c:.2f})" for t, c in near))
    return lines


def main() -> None:
    """Train along all ways, print the table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=150_000)
    parser.add_argument("--batch", type=int, default=64)
    chosen = parser.parse_args()
    task = Statements(read(), batch=chosen.batch)
    corpus, start = task.corpus, task.initial()
    asked = np.diff(corpus.begins)[corpus.held_out] >= downstream.LEAST
    lines = [
        f"{', '.join(corpus.packages)}: {len(corpus.vocabulary):,} statements, "
        f"{len(corpus.pairs):,} pairs; {task.width} numbers a statement; {chosen.pairs:,} pairs "
        f"a training, {chosen.batch} a worker and step; {asked.sum()} functions asked",
        f"always the most frequent package: {downstream.most_frequent(corpus):.1%}; vectors that "
        f"learnt nothing: {task.accuracy(start):.1%}",
        f"{'way':<28}{'workers':>8}{'loss':>8}{'accuracy':>10}{'sent':>13}{'took':>11}",
    ]
    print(*lines, sep="\n", flush=True)
    with Ranks(chosen.ranks) as ranks:
        for name, way in ways().items():
            said, weights = line(ranks, task, name, way, chosen.pairs)
            lines.append(said)
            print(said, flush=True)
        others = other_thirds(ranks, chosen.batch, chosen.pairs)
    print(*others, sep="\n")
    lines += others
    lines += ["", "neighbours, after the last of them (cosine):", *neighbours(task, weights)]
    keep(RESULTS, [heading(describe()), "\n".join(lines)])


if __name__ == "__main__":
    main()
