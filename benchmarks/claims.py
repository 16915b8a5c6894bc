"""Everything the project claims about speed, each beside the peer that was measured with it.

A *claim* is one ratio: our time / the peer's, below 1 where ours is the faster. A *subject* is one
way of ours against one peer, with every case that was measured: no size, rank count or layer is
left out, and where we are slower it stands here as well. First rungs of a ladder, which nobody
takes for fast (an all-reduce for each parameter, the direct convolution, a product for each gate),
stand in their own results files only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.recorded import Side, head, rates, sides


@dataclass(frozen=True)
class Subject:
    """One way of ours and a peer: where both were recorded, under which names, by which module."""

    title: str
    peer: str
    module: str
    ours: str
    theirs: str
    read: Callable[[str], Iterator[Side]] = sides

    @property
    def file(self) -> str:
        """The results file that the module writes."""
        return f"{self.module}.txt"


@dataclass(frozen=True)
class Claim:
    """Our time / the peer's in one case, with the widest interval that was measured."""

    title: str
    peer: str
    case: str
    ratio: float
    low: float
    high: float
    date: str
    processor: str
    command: str


def _all(
    module: str, peer: str, theirs: str, ways: Sequence[tuple[str, str]]
) -> tuple[Subject, ...]:
    return tuple(Subject(title, peer, module, ours, theirs) for title, ours in ways)


ALLREDUCES = (
    ("all-reduce: ring", "ring"),
    ("all-reduce: recursive doubling", "recursive_doubling"),
    ("all-reduce: Rabenseifner", "rabenseifner"),
    ("all-reduce: by shared memory", "shared_memory"),
    ("all-reduce: in shared memory", "in_place"),
)
STEPS = (
    ("data-parallel step: a bucket", "one bucket"),
    ("data-parallel step: overlapped", "overlapped buckets"),
    ("data-parallel step: natively", "overlapped native"),
    ("data-parallel step: shared weights", "shared weights"),
)
GPIPES = (("GPipe", "GPipe, ours"), ("GPipe, gradients by hand", "GPipe, ours, by hand"))
ONE_FORWARD_ONE_BACKWARD = (
    ("1F1B", "1F1B, ours"),
    ("1F1B, gradients by hand", "1F1B, ours, by hand"),
)
CONVOLUTIONS = (
    ("convolution: im2col", "im2col"),
    ("convolution: FFT", "fft"),
    ("convolution: Winograd 2 x 2", "winograd_2x2"),
    ("convolution: Winograd 4 x 4", "winograd_4x4"),
)
RECURRENCES = (
    ("LSTM: fused gates", "fused"),
    ("LSTM: all steps at once", "all_steps"),
    ("LSTM: packed matrix", "packed"),
)

SUBJECTS: tuple[Subject, ...] = (
    *_all("allreduce", "native MPI", "native", ALLREDUCES),
    *_all("allreduce", "torch's gloo", "gloo", ALLREDUCES),
    *_all("data_parallel", "torch's DDP", "torch's DDP", STEPS),
    *_all("pipelines", "torch's pipelining", "GPipe, torch", GPIPES),
    *_all("pipelines", "ShallowSpeed", "GPipe, ShallowSpeed", GPIPES),
    *_all("pipelines", "torch's pipelining", "1F1B, torch", ONE_FORWARD_ONE_BACKWARD),
    *_all("convolutions", "torch.conv2d", "torch", CONVOLUTIONS),
    *_all("recurrence", "torch.nn.LSTM", "torch.nn.LSTM", RECURRENCES),
    *_all("sparse_allreduce", "gloo, sparse tensors", "gloo, sparse tensors",
          [("sparse all-reduce", "recursive doubling")]),
    Subject("simulator: seconds a message", "SimGrid", "simgrid", "ours", "peer", rates),
)  # fmt: skip


def claims(subject: Subject) -> list[Claim]:
    """All cases in which both were recorded side by side."""
    machine = head(subject.file)
    found = [
        Claim(
            subject.title, subject.peer, side.of, ratio.median, ratio.low, ratio.high,
            machine["date"], machine["processor"], f"python -m {full_name(subject.module)}",
        )
        for side in subject.read(subject.file)
        if (ours := side.rows.get(subject.ours)) and (theirs := side.rows.get(subject.theirs))
        and (ratio := ours.over(theirs))
    ]  # fmt: skip
    if not found:
        raise ValueError(
            f"results/{subject.file} has no rows {subject.ours!r} and {subject.theirs!r} side by "
            f"side: measure again with python -m {full_name(subject.module)}, or correct their "
            "names in benchmarks/claims.py"
        )
    return found


def full_name(module: str) -> str:
    """Of the module that writes a results file, as Python finds it."""
    return "benchmarks.simgrid.compare" if module == "simgrid" else f"benchmarks.{module}"
