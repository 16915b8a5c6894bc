"""Part 4: when ranks agree, along which paths, in what form; and searching above all that."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.figure import Figure

from benchmarks.recorded import head
from ddl_class.plots import forms as form_pictures
from ddl_class.plots import large_batches as batch_pictures
from ddl_class.plots import staleness as staleness_pictures
from ddl_class.plots.forms import plot_fill_in
from ddl_class.plots.gossip import plot_consensus, plot_ingress
from ddl_measure.experiments.searches import PLAN, Pace, pretended
from ddl_teach import Comm, simulate
from ddl_teach.comm import Uniform
from ddl_teach.search import by_ranks
from ddl_teach.search.decider import Decider
from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.report import Record
from ddl_teach.theory import compression, sparse, staleness, stragglers
from ddl_teach.theory.gossip import contraction, graphs, mixing
from ddl_teach.theory.large_batches import StepsToTarget, fit_steps
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consensus import agree
from ddl_teach.training.distribution import neighbours
from ddl_teach.training.tasks.digits import Digits

GRAPHS = (graphs.ring, graphs.torus, graphs.exponential, graphs.one_peer_exponential)
RATES = (0.1, 0.2, 0.5, 1.0, 2.0)  # as in unit 16
BATCHES, TARGET, OWN = (1, 16, 256), 0.2, 8  # of the ball; loss of the digits; samples of a rank
RANKS = 64  # that agree, and that pack
PACKING = {"message": OneBit().nbytes(1_000_000), "encode": 10e-3, "decode": 5e-3}


def noisy_descents() -> Figure:
    """A ball in a bowl, with gradients of 1, 16 and 256 samples."""
    paths = {f"batch of {batch}": _roll(batch) for batch in BATCHES}
    ends = ", ".join(f"{np.linalg.norm(path[-1]):.2f}" for path in paths.values())
    title = f"Distance from the bottom after 25 steps: {ends}"
    return batch_pictures.plot_descents(paths, (0.3, 2.0), title=title)


@cache
def steps_law() -> tuple[tuple[int, ...], np.ndarray, StepsToTarget]:
    """Steps to a loss of 0.2 on the digits at the best of four rates, and the law through them."""
    batches, rates = (8, 16, 32, 128, 512), (0.12, 0.25, 0.5, 1.0)
    steps = np.array([min(_steps_to(batch, rate) for rate in rates) for batch in batches])
    return batches, steps, fit_steps(batches, steps)


def wall() -> Figure:
    """Steps over batches."""
    batches, steps, law = steps_law()
    many = 2.0 ** np.arange(3, 11)
    return batch_pictures.plot_steps((batches, steps), (many, law.steps(many)), fewest=law.fewest)


def throughput_hides() -> Figure:
    """Speed-up in samples and in time to the target."""
    _, _, law = steps_law()
    ranks = 2.0 ** np.arange(9)
    return batch_pictures.plot_speed_ups(
        (ranks, ranks), (ranks, law.speed_up(ranks, OWN)), wall=law.wall(OWN)
    )


def noise_scale() -> str:
    """Of the digits, in samples."""
    return f"{steps_law()[2].noise_scale:.0f}"


def stale_walks() -> Figure:
    """Gradients seven steps old."""
    walks = {f"a = {a}": staleness.delayed_descent(a, 1, 7, 200) for a in (0.08, 0.2, 0.209, 0.22)}
    return staleness_pictures.plot_walks(walks)


def stable_limit() -> str:
    """The largest stable step with gradients seven steps old, times the curvature."""
    return f"{staleness.stable_rate(7):.3f}"


def recorded_where() -> str:
    """The machine of these numbers."""
    about = head("staleness.txt")
    return f"{about['processor']}, {about['cores']}, {about['date']}"


def straggler() -> Figure:
    """One worker five times slower, and bounds."""
    steps = range(1, 61)
    curves = {
        f"bound {bound}": [stragglers.bounded_time(n, bound, 0.01, 0.05) for n in steps]
        for bound in (0, 8, 32)
    }
    curves["no bound"] = [stragglers.bounded_time(n, 99, 0.01, 0.05) for n in steps]
    return staleness_pictures.plot_paces(curves)


def _titled(picture: Figure, words: str) -> Figure:
    """The picture with a title that fits one line of a slide; its text keeps the long one."""
    picture.axes[0].set_title(words, loc="left")
    return picture


def ingress() -> Figure:
    """Bytes that come in at the busiest rank."""
    ranks, nbytes = 2 ** np.arange(1, 11), 8192
    shares = {"one server": ranks, "2 servers": ranks / 2, "ring": 2 * (ranks - 1) / ranks}
    picture = plot_ingress({way: (ranks, nbytes * share) for way, share in shares.items()})
    server, ring = (shares[way][-1] / shares[way][0] for way in ("one server", "ring"))
    words = f"{ranks[-1]:,} workers for 2: {server:.0f} times the bytes, or {ring:.0f} (ring)"
    return _titled(picture, words)


def consensus() -> Figure:
    """How fast 64 ranks agree on them, simulated and by formula."""
    simulated, predicted = {}, {}
    for graph in (make(RANKS) for make in GRAPHS):
        given = {"mix": neighbours.mix, "matrices": mixing.mixing_matrices(graph), "trace": False}
        run = simulate(agree, graph.ranks, **given)
        simulated[graph.name] = contraction.consensus_errors(run.results)
        predicted[graph.name] = contraction.expected_errors(graph, 40)
    return plot_consensus(simulated, predicted, how="simulated")


def averaged_gradients() -> Figure:
    """Eight ranks on a ring that average weights, or gradients."""
    runs = {
        what: simulate(_gossip, 8, what=what, trace=False) for what in ("weights", "gradients")
    }
    errors = {
        f"averaging {what}": contraction.consensus_errors(run.results)
        for what, run in runs.items()
    }
    picture = plot_consensus(errors, how="simulated")
    weights, gradients = (errors[f"averaging {what}"] for what in runs)
    left, grown = weights[-1] / weights[0], gradients[-1] / gradients[0]
    return _titled(picture, f"{left:.0%} is left with weights, {grown:.0f} times with gradients")


def kept() -> Figure:
    """A gradient's entries by their size."""
    task = Digits()
    return form_pictures.plot_kept(task.gradient(task.initial(), part=0, parts=1, step=0)[1])


def feedback() -> Figure:
    """Four workers that send two entries, with and without a memory, at their best rates."""
    two = TopK(2 / len(Digits().initial()))
    forms = {"everything": None, "2 entries": two, "2 entries, memory": Feedback(two)}
    losses, read = {}, {}
    for name, form in forms.items():
        runs = [[_train(form, rate, seed) for seed in range(3)] for rate in RATES]
        best = max(runs, key=lambda run: np.mean([accuracy for _, accuracy in run]))
        losses[name] = np.mean([loss for loss, _ in best], axis=0)
        read[name] = [accuracy for _, accuracy in best]
    picture = form_pictures.plot_descents(losses, form_pictures.read_at_best(read))
    shares = "; ".join(f"{name}: {np.mean(accuracies):.0%}" for name, accuracies in read.items())
    return _titled(picture, f"Read right: {shares}")


def fill_in() -> Figure:
    """The union of sparse vectors."""
    ranks = range(1, 257)
    line = [sparse.union(4_000, 40, count) / 4_000 for count in ranks]
    few = [2**k for k in range(9)]
    counted = [_union(count) for count in few]
    return plot_fill_in({"1% a rank": (ranks, line)}, {"1% a rank": (few, counted)}, how="counted")


def bandwidths() -> Figure:
    """Dense and one bit over the bandwidth, on 64 ranks."""
    ways = {
        "32 bits": compression.dense(RANKS, 4e6),
        "1 bit": compression.owners(RANKS, **PACKING),
    }
    fine = np.geomspace(1e7, 2e10, 60)
    curves = {name: (fine, way.seconds(5e-6, fine)) for name, way in ways.items()}
    even = compression.break_even(*ways.values(), latency=5e-6)
    return form_pictures.plot_bandwidths(curves, even=even)


def searched(waits: bool) -> list[Record]:
    """The jobs of a search on eight workers: by rungs, or one that never waits."""
    decider: Decider = SuccessiveHalving(trials=24, **PLAN)
    if not waits:
        decider = AsynchronousHalving(budget=48, **PLAN)
    given = {"training": pretended, "decider": decider, "pace": Pace(differ=True)}
    return simulate(by_ranks.search, 9, network=Uniform(), **given).results[0].records


def _roll(
    batch: int, rate: float = 0.15, curvatures: tuple[float, float] = (0.3, 2.0)
) -> np.ndarray:
    points = [np.array([-2.0, 1.0])]
    for noise in 3.0 / batch**0.5 * np.random.default_rng(2).standard_normal((25, 2)):
        points.append(points[-1] - rate * (np.array(curvatures) * points[-1] + noise))
    return np.array(points)


def _steps_to(batch: int, rate: float, target: float = TARGET) -> float:
    task = Digits(batch, seed=0)
    weights = task.initial()
    for step in range(1600 // batch + 40):
        if step % 2 == 0 and task.loss(weights) <= target:  # looking costs more than a step
            return step
        weights -= rate * task.gradient(weights, 0, 1, step)[1]
    return np.inf


def _gossip(comm: Comm, what: str, steps: int = 120) -> list[np.ndarray]:
    digits, matrix = Digits(batch=8), mixing.mixing_matrix(graphs.ring(8))
    own, seen = digits.initial(), []
    for step in range(steps):
        gradient = digits.gradient(own, comm.rank, comm.size, step)[1]
        neighbours.mix(comm, {"weights": own, "gradients": gradient}[what], matrix)
        own -= 0.1 * gradient
        seen.append(own.copy())
    return seen


def _train(
    form: Compressor | None, rate: float, seed: int, workers: int = 4, steps: int = 200
) -> tuple[list[float], float]:
    task = Digits(seed=seed)
    weights, losses = task.initial(), []
    links = [form.stream(worker) for worker in range(workers)] if form else None
    for step in range(steps):
        arrived = [task.gradient(weights, worker, workers, step)[1] for worker in range(workers)]
        if links:
            arrived = [
                form.decode(link.encode(vector), len(vector))
                for link, vector in zip(links, arrived, strict=True)
            ]
        weights -= rate * np.mean(arrived, axis=0, dtype=np.float32)
        losses.append(task.loss(weights))
    return losses, task.accuracy(weights)


def _union(ranks: int) -> float:
    places = [
        np.random.default_rng(rank).choice(4_000, 40, replace=False) for rank in range(ranks)
    ]
    return len(np.unique(places)) / 4_000
