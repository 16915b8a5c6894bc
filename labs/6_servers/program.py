"""Server or no server, under stragglers: one training by six ways.

    mpiexec -n 4 python labs/6_servers/program.py                                  # here
    ddl-teach box exec head mpiexec -n 4 python labs/6_servers/program.py          # in a box
    cluster_setup/slurm/submit --nodes=4 labs/6_servers/job.sbatch

Ranks learn the digits; besides, a gradient takes 20 ms, as if an accelerator computed it. Each way
trains twice: with nobody slow, and with the last rank five times slower. What the cables do is up
to you: the program measures them first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.cables import cables, received, received_since
from ddl_measure.to_accuracy import Evaluation, reached
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.consistency.asynchronous_gossip import AsynchronousGossip
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.distribution import Distribution
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.distribution.server import Server, Sharded
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.tasks.paces import OneSlow
from ddl_teach.training.tasks.task import Task
from ddl_teach.training.trainer import train

WAYS: dict[
    str, tuple[Consistency, Distribution, int]
] = {  # when ranks agree, along which path; servers
    "server": (Synchronous(), Server(), 1),
    "server, nobody waits": (Asynchronous(), Server(), 1),
    "two shards": (Synchronous(), Sharded(2), 2),
    "all-reduce": (Synchronous(), AllReduce("ring"), 0),
    "gossip": (Gossip(), Neighbours(), 0),
    "gossip, nobody waits": (AsynchronousGossip(), Neighbours(), 0),
}


class Watched:
    """A task that keeps the weights it was asked about, those *before* each gradient, and looks at
    them when all is over: a training that stops for its accuracy is no longer the one to time."""

    def __init__(self, task: Task, now: Callable[[], float]) -> None:
        self._task, self._now = task, now
        self.looks: list[tuple[float, np.ndarray]] = []
        self.layers, self.shapes = task.layers, task.shapes
        self.initial, self.loss, self.accuracy = task.initial, task.loss, task.accuracy

    def gradient(
        self, weights: np.ndarray, part: int, parts: int, step: int
    ) -> tuple[float, np.ndarray]:
        self.look(weights)
        return self._task.gradient(weights, part, parts, step)

    def look(self, weights: np.ndarray) -> None:
        """Keep these weights as well, those after the last gradient for instance."""
        self.looks.append((self._now(), weights.copy()))

    def checkpoints(self, begun: float, epochs: float) -> list[Evaluation]:
        """Accuracies by seconds since `begun`; a gradient is worth so many `epochs`."""
        return [
            Evaluation(step, step * epochs, seconds - begun, 0.0, self._task.accuracy(weights))
            for step, (seconds, weights) in enumerate(self.looks)
        ]


def servers(
    comm: Comm, *, steps: int, hidden: int, gradient: float, times: float, target: float
) -> dict | None:
    """All trainings, as rank 0 tells them: so many `steps` of every worker, each of `gradient`
    seconds; of the slow one, so many `times` as long."""
    if comm.size < 4:
        raise Mistake(f"{comm.size} ranks: two shards and two workers are 4 at least")
    if steps < 1 or gradient <= 0 or times <= 1:
        raise Mistake("steps and gradient are more than 0, times more than 1")
    carry, trainings = cables(comm), []
    for slow in (1, times):
        for way in WAYS:
            found = training(comm, way, steps, Digits(hidden=hidden), (gradient, slow), target)
            trainings.append(found)
            if comm.rank == 0:
                print(line(found), flush=True)
    if comm.rank:
        return None
    nbytes = 4 * Digits(hidden=hidden).layers[-1]
    rates = ", ".join(f"{each * 1e9:.1f}" for each in carry.per_byte)
    print(f"weights of {nbytes:,} bytes; latency {carry.latency * 1e6:.0f} us")
    print(f"cables of ranks 0 to {comm.size - 1}: {rates} ns a byte")
    return {
        "weights": nbytes, "latency": carry.latency, "per byte": carry.per_byte,
        "trainings": trainings,
    }  # fmt: skip


def training(
    comm: Comm, way: str, steps: int, digits: Digits, pace: tuple[float, float], target: float
) -> dict:
    """One training, on all ranks."""
    when, path, servers = WAYS[way]
    workers = comm.size - servers
    task, slow = Watched(digits, comm.now), OneSlow(*pace, worker=workers - 1)
    came, card = comm.ledger.bytes_to(0), received()
    comm.barrier()
    begun = comm.now()
    result = train(comm, task, when, path, update=SGD(0.1), steps=steps, pace=slow)
    seconds, came = comm.now() - begun, comm.ledger.bytes_to(0) - came
    comm.barrier()
    card = received_since(card)  # of everything until all were done

    ends = np.zeros((comm.size, steps))  # when each gradient of each worker was there
    accuracy, there = 0.0, np.inf
    if result.worker is not None:
        ends[result.worker] = result.seconds
        task.look(result.weights)
        epochs = digits.batch * workers / len(digits.pictures.answers)
        looks = task.checkpoints(begun, epochs)
        first = reached(looks, target, in_a_row=2)
        accuracy, there = looks[-1].accuracy, first.seconds if first else np.inf
    best, total = np.array([seconds, -there, accuracy]), np.array([came])
    ring.allreduce(comm, ends)
    ring.allreduce(comm, total)
    ring.allreduce(comm, best, "max")
    ends = ends[:workers]
    together = float(ends[:, -1].min())  # so long all of them are at work
    return {
        "way": way, "slow": pace[1], "workers": workers, "servers": servers,
        "seconds": best[0], "together": together, "gradients": int(np.sum(ends <= together)),
        "to target": -best[1] if best[1] > -np.inf else None, "accuracy": best[2],
        "bytes to rank 0": int(total[0]), "card of rank 0": card,
    }  # fmt: skip


def line(found: dict) -> str:
    """One training, for people."""
    there = found["to target"]
    return (
        f"{found['way']:<22}{found['slow']:>3g} x{found['gradients'] / found['together']:>7.1f} "
        f"gradients/s; accurate {'never    ' if there is None else f'in {there:6.2f} s'}; "
        f"to rank 0{found['bytes to rank 0']:>12,} B, its card{found['card of rank 0']:>12,} B"
    )


LAB = Lab(
    "6_servers",
    servers,
    full={"steps": 40, "hidden": 128, "gradient": 0.020, "times": 5, "target": 0.85},
    short={"steps": 4, "hidden": 16, "gradient": 0.003, "times": 5, "target": 0.2},
    predictions=(
        Question(
            "ingress",
            "The weights are 38,440 bytes. In one step so many kB come into the server's node.",
        ),
        Question(
            "server_over_ring",
            "Gradients aside, a step through the server takes so many times as long as one "
            "by all-reduce.",
        ),
        Question(
            "least_hurt",
            "The last rank becomes five times slower. Which way keeps the most of its "
            "gradients a second? (its name, as in WAYS of program.py)",
            str,
        ),
    ),
    answers=(
        Question("ingress", "Into the server in one step, by the formula: kB."),
        Question(
            "card_over_ledger",
            "What the card of rank 0 received over what the ledger says came to rank 0; way "
            "'server', nobody slow. (Leave it empty where several ranks share a node.)",
        ),
        Question(
            "server_ms",
            "Exchange of one step through the server, by the formula, from your weights and "
            "cables: ms.",
        ),
        Question("ring_ms", "Exchange of one step of the all-reduce, the same way: ms."),
        Question(
            "slow_cable",
            "Which rank's cable is more than three times as slow as the others'? Its "
            "number, or none.",
            str,
        ),
        Question(
            "kept_formula",
            "Of its gradients a second the all-reduce should keep, with a slow rank, by the "
            "formula: a share, 0 to 1.",
        ),
        Question(
            "kept_all_reduce",
            "Gradients/s of the all-reduce with a slow rank, over those without.",
        ),
        Question("kept_nobody_waits", "The same of 'server, nobody waits'."),
        Question("first", "With a slow rank: which way was accurate first? (its name)", str),
        Question(
            "workers_for_ten",
            "From how many workers on does a step through one server take at least ten "
            "times that of a ring of as many ranks? Bytes only.",
        ),
    ),
)

if __name__ == "__main__":
    main(LAB)
