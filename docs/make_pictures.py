"""Make the pictures of README.md from real runs of the library.

    python docs/make_pictures.py

Left a ring all-reduce on eight simulated ranks; right the time of two all-reduces on ranks of this
machine: predicted from the time of single messages and additions, simulated, and measured. And two
rings on four simulated ranks, moving: one that is right, and a learner's. For the chapter on the
field, what slides show of it.
"""

from __future__ import annotations

import io
import os
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from ddl_class.notebook.animation import animate
from ddl_class.plots.frame import panels
from ddl_class.plots.messages import plot_times
from ddl_runtime.pictures.style import in_style
from ddl_runtime.pictures.timeline import plot_timeline
from ddl_teach import Comm, Phantom, Ranks, simulate
from ddl_teach.collectives import recursive_doubling, ring
from ddl_teach.comm import Machine, Uniform
from ddl_teach.theory.fit import CostModel, fit
from slides.figures import start

PATH = Path(__file__).resolve().parent / "ring.png"
MOVING, WRONG = PATH.with_name("ring_moving.svg"), PATH.with_name("ring_going_wrong.svg")
OF_THE_FIELD = {
    "field_processors.png": start.machines, "field_batches.png": start.batches,
    "field_node.png": start.node, "field_models.png": start.models,
    "field_devices.png": start.devices,
}  # fmt: skip
ALGORITHMS = {"ring": ring, "recursive_doubling": recursive_doubling}
SIZES = [2**k for k in range(10, 25, 2)]
REPETITIONS = 31
LOOP = 10.0  # seconds of a moving picture, until it begins again


def my_allreduce(comm: Comm, x: np.ndarray) -> None:
    """A ring in two halves."""
    ranks, here = comm.size, comm.rank
    left, right = (here - 1) % ranks, (here + 1) % ranks
    parts = np.array_split(x, ranks)
    new = np.empty_like(parts[0])
    for step in range(ranks - 1):
        comm.sendrecv(parts[here - step], right, new, left)
        parts[here - step - 1] += new
    for step in range(ranks - 1):
        if here > 0:  # somebody must begin
            comm.recv(new, left)
            parts[here - step][:] = new
        comm.send(parts[(here + 1 - step) % ranks], right)


def one_ring(comm: Comm) -> None:
    """A ring all-reduce of 80 kB, additions included."""
    ring.allreduce(comm, Phantom(80_000))


def swap(comm: Comm, sizes: list[int]) -> list[float]:
    """The time of a message of each size, while one of the same size comes back."""
    times = []
    for nbytes in sizes:
        mine, received = np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
        comm.barrier()
        begun = comm.now()
        comm.sendrecv(mine, comm.rank ^ 1, received, comm.rank ^ 1)
        times.append(comm.now() - begun)
    return times


def additions(comm: Comm, sizes: list[int]) -> list[float]:
    """The time to add two vectors of each size, all ranks at once."""
    times = []
    for nbytes in sizes:
        x, y = np.zeros(nbytes // 8), np.zeros(nbytes // 8)
        begun = comm.now()
        comm.combine(x, y, out=y)
        times.append(comm.now() - begun)
    return times


def stopwatch(comm: Comm, algorithm: str) -> np.ndarray:
    """The quartiles of the time of an all-reduce, for each size."""
    times = np.zeros((REPETITIONS, len(SIZES)))
    for turn, place in np.ndindex(times.shape):
        x = np.zeros(SIZES[place] // 8)
        comm.barrier()
        begun = comm.now()
        ALGORITHMS[algorithm].allreduce(comm, x)
        times[turn, place] = comm.now() - begun
    return np.quantile(times, [0.25, 0.5, 0.75], axis=0)


def cost_model(ranks: Ranks) -> CostModel:
    """Latency, time per byte, and time per byte added, of this machine."""
    sizes = SIZES * REPETITIONS
    return fit(
        sizes,
        np.max(ranks.run(swap, sizes=sizes).results, axis=0),
        reduced_nbytes=sizes,
        reduced_seconds=np.max(ranks.run(additions, sizes=sizes).results, axis=0),
    )


@in_style
def main() -> None:
    """Run, draw, write the files."""
    animate(ring.allreduce).save(MOVING, LOOP)
    animate(my_allreduce).save(WRONG, LOOP)
    for name, draw in OF_THE_FIELD.items():
        _save(draw(), PATH.with_name(name))
    left, right = panels(13, 4.9, columns=2, width_ratios=(1.25, 1))
    picture = left.figure
    machine = Machine(reduce_bandwidth=20e9)
    run = simulate(one_ring, ranks=8, network=Uniform(2e-7, 20e9), machine=machine)
    plot_timeline(
        run.timeline, ax=left, title="A ring of 8 ranks: 14 steps, every rank sends in each"
    )
    count = 4 if (os.cpu_count() or 1) >= 4 else 2
    predicted, simulated, measured = {}, {}, {}
    with Ranks(count) as ranks:
        model = cost_model(ranks)
        network = model.link.network
        machine = Machine(reduce_bandwidth=1 / model.per_byte_reduced)
        for name in ALGORITHMS:
            watch = partial(stopwatch, algorithm=name)
            virtual = simulate(watch, count, network=network, machine=machine).results[0]
            ranks.run(watch)  # messages of a size are slow at first
            low, median, high = np.max(ranks.run(watch).results, axis=0)
            predicted[name] = SIZES, model.predict(name, count, np.array(SIZES))
            simulated[name] = SIZES, virtual[1]
            measured[name] = SIZES, median, (low, high)
    plot_times(predicted, simulated, measured, ax=right)
    right.set_title(f"{right.get_title(loc='left')} ({count} ranks)")
    _save(picture, PATH)


def _save(picture: Figure, path: Path) -> None:
    drawn = io.BytesIO()
    picture.savefig(drawn, dpi=110)
    # A palette instead of full colours makes half the file and looks the same.
    Image.open(drawn).convert("RGB").quantize(200).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB. {picture.alt}")


if __name__ == "__main__":
    main()
