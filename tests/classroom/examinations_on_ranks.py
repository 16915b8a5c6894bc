"""Level 3: several ranks, simulated, beside one rank or a sum; and laws of what they exchange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from ddl_measure.levels.operators import errors
from ddl_runtime.simulator.simulate import simulate
from ddl_teach.comm import Comm
from ddl_teach.networks import twin
from ddl_teach.networks.pipelines import train_pipeline as pipelines
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.instructions import Forward, Instruction
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.torch_stage import TorchStage
from ddl_teach.networks.shares import own_slice
from ddl_teach.theory.gossip.graphs import ring
from ddl_teach.theory.gossip.mixing import mixing_matrix
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.distribution.neighbours import Neighbours
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train as train_workers

COUNTS = (1, 2, 3, 4, 5, 8)  # the powers of two hide the bugs


def allreduce(candidate: Callable[..., None]) -> float:
    """Sum and maximum of vectors that the ranks do not divide."""

    def program(comm: Comm, op: str) -> np.ndarray:
        x = np.random.default_rng(comm.rank).normal(size=11)
        candidate(comm, x, op)
        return x

    def wrong(ranks: int, op: str, right: Callable[..., np.ndarray]) -> float:
        own = [np.random.default_rng(rank).normal(size=11) for rank in range(ranks)]
        run = simulate(program, ranks, op=op)
        return max(errors(found, right(own, axis=0)).relative for found in run.results)

    return max(
        wrong(ranks, op, right)
        for ranks in COUNTS
        for op, right in (("sum", np.sum), ("max", np.max))
    )


def average_gradients(candidate: Callable[..., None]) -> float:
    """The gradients of three ranks, beside their mean."""
    own = np.random.default_rng(0).normal(size=(3, 5))

    def program(comm: Comm) -> torch.Tensor:
        weights = nn.Parameter(torch.zeros(5, dtype=torch.float64))
        weights.grad = torch.from_numpy(own[comm.rank].copy())
        candidate(comm, [weights])
        return weights.grad

    return max(errors(found, own.mean(axis=0)).relative for found in simulate(program, 3).results)


def batch_normalisation(candidate: Callable[..., nn.Module]) -> float:
    """Three ranks with unequal parts of a batch, beside one with all of it."""
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(7, 4)))

    def program(comm: Comm) -> torch.Tensor:
        layer = candidate(comm, nn.BatchNorm1d(4, dtype=torch.float64))
        return layer(x[own_slice(7, comm)]).detach()

    found = torch.cat(simulate(program, 3).results)
    return errors(found, nn.BatchNorm1d(4, dtype=torch.float64)(x)).relative


def vocabulary_loss(candidate: Callable[..., torch.Tensor]) -> float:
    """Loss and gradient of ranks that own parts of ten words, beside torch's of all words."""
    scores = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 10)))
    answers = torch.tensor([0, 9, 4, 4])

    def program(comm: Comm) -> tuple[float, torch.Tensor]:
        own = scores[:, own_slice(10, comm)].clone().requires_grad_()
        loss = candidate(comm, 10, own, answers)
        loss.backward()
        return loss.item(), own.grad

    whole = scores.clone().requires_grad_()
    expected = nn.functional.cross_entropy(whole, answers)
    expected.backward()
    losses, gradients = zip(*simulate(program, 3).results, strict=True)
    of_loss = errors(np.array(losses), np.full(3, expected.item())).relative
    return max(of_loss, errors(torch.cat(gradients, 1), whole.grad).relative)


def _pipeline(schedule: Schedule, kind: type[TorchStage] = TorchStage) -> float:
    """Training on a batch of seven with a pipeline, beside one process."""
    torch_random = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=torch_random, dtype=torch.float64))
    inputs = torch.randn(7, 4, generator=torch_random, dtype=torch.float64)
    batches = [(inputs, torch.tensor([0, 1, 2, 2, 1, 0, 1]))] * 3
    shares = simulate(
        pipelines.train, 2, model=model, batches=batches, schedule=schedule, kind=kind
    ).results
    expected = twin.train(model, batches).parameters
    found = {name: it for share in shares for name, it in share.replicas[0].parameters.items()}
    return max(errors(found[name], it).relative for name, it in expected.items())


def stage(candidate: type[TorchStage]) -> float:
    """Stages of a pipeline whose micro-batches are not equally large."""
    return _pipeline(gpipe(2, 3), candidate)


def schedule(candidate: Callable[[int, int], Schedule]) -> float:
    """A schedule, by what is trained with it."""
    return _pipeline(candidate(2, 3))


def kept(candidate: Callable[[int, int, int], Iterator[Instruction]]) -> float:
    """How many more activations than P - r a 1F1B holds on rank r, with 4 ranks."""
    most = []
    for rank in range(4):
        held, highest, passes = 0, 0, Counter()
        for word in candidate(rank, 4, 9):
            passes[word.letter] += 1
            held += 1 if isinstance(word, Forward) else -1
            highest = max(highest, held)
        most.append(highest - (4 - rank) if passes == {"F": 9, "B": 9} else np.inf)
    return float(max(most))


def server(candidate: Callable[..., Any]) -> float:
    """A step of a synchronous server, beside the mean of what three workers pushed."""
    gradients = np.random.default_rng(0).normal(size=(3, 4))
    books = candidate(np.ones(4), 3, Service(SGD(0.5)))
    for worker, gradient in enumerate(gradients):
        books.push(worker, 0, gradient)
    return errors(books.weights, 1 - 0.5 * gradients.mean(axis=0)).relative


def feedback(candidate: Callable[..., Any]) -> float:
    """All messages and the last residual together, beside all vectors together."""
    vectors = np.random.default_rng(0).normal(size=(20, 30))
    form = candidate(TopK(0.1))
    link = form.stream()
    told = sum(form.decode(link.encode(vector), 30).astype(float) for vector in vectors)
    return errors(told + link.residual, vectors.sum(axis=0)).relative


def top_k(candidate: Callable[[float], Any]) -> float:
    """What arrives, beside the four entries of largest magnitude."""
    vector = np.random.default_rng(0).normal(-1, 2, 16).astype(np.float32)
    form = candidate(0.25)
    found = form.decode(form.stream().encode(vector), 16)
    expected = np.where(np.abs(vector) >= np.sort(np.abs(vector))[-4], vector, 0)
    return errors(found, expected).relative


def quantised(candidate: Callable[[], Any]) -> float:
    """The mean of a thousand messages of one vector, beside the vector."""
    vector = np.random.default_rng(0).normal(size=64).astype(np.float32)
    form = candidate()
    link = form.stream()
    mean = np.mean([form.decode(link.encode(vector), 64) for _ in range(1000)], axis=0)
    return errors(mean, vector).relative


def gossip(candidate: Callable[[], Consistency]) -> float:
    """Weights of five workers with minima of their own, beside the same steps on a matrix."""
    task, ranks, steps, rate = Quadratic(apart=1.0, noise=0.1), 5, 30, 0.2
    kwargs = {"consistency": candidate(), "distribution": Neighbours(ring)}
    kwargs |= {"update": SGD(rate), "steps": steps}
    run = simulate(train_workers, ranks, task=task, **kwargs)
    matrix = mixing_matrix(ring(ranks))
    weights = np.array([task.initial()] * ranks)
    for step in range(steps):
        slopes = [task.gradient(weights[rank], rank, ranks, step)[1] for rank in range(ranks)]
        weights = matrix @ weights - rate * np.array(slopes)
    return errors(np.array([result.weights for result in run.results]), matrix @ weights).relative
