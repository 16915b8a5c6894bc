"""Actors answer, and a learner trains on their answers: rank 0 learns, all others act.

A ticket is a number, and the weights to answer with. Step v learns from the tickets v B to v B + B
- 1, in this order, whichever comes first. An actor gets ticket n as soon as the learner has made
n // B - bound steps. So no answer is more than `bound` steps old when it is learnt from:

    Synchronous()           all answer, then the learner trains: one of the two is always idle
    StaleSynchronous(s)     answers for the next s steps are under way while the learner trains
    Asynchronous()          no actor waits, and nothing bounds the age

It is unit 14's bound, with the learner in the place of the slowest worker. Cost of a step: B times
the weights out of the learner's port, and B times the answers in. Espeholt et al., "IMPALA", ICML
2018; Fu et al., "AReaL", 2025, which bounds the age in this way. What to look at:
`report.staleness` of what the learner returns, and who is idle in the timeline.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ddl_teach.comm import ANY, Comm, Phantom
from ddl_teach.theory.inputs import count
from ddl_teach.training.consistency.consistency import Consistency
from ddl_teach.training.consistency.handles import ServerReport
from ddl_teach.training.optimizers.settings import States
from ddl_teach.training.optimizers.update import Update
from ddl_teach.training.tasks.task import placed

LEARNER = 0
TICKET, WEIGHTS, ANSWERS = 1, 2, 3  # tags
END = -1  # a ticket that is none


class Policy(Protocol):
    """What answers and learns, as `sorting.Sorting`; weights and answers may be Phantoms."""

    rule: Update

    def initial(self) -> Any: ...
    def room(self) -> Any: ...  # for the answers to a ticket
    def answers(self, weights: Any, ticket: int) -> Any: ...
    def gradient(self, weights: Any, rows: Any) -> np.ndarray: ...


@dataclass(frozen=True)
class Learnt:
    """A learner's weights, when each step ended, which actor gave each answer, and how old."""

    weights: Any
    seconds: tuple[float, ...]
    report: ServerReport


def improved(policy: Policy, weights: Any, states: States, step: int, batches: list[Any]) -> Any:
    """New weights, after a step on the mean gradient of the answers to some tickets."""
    if isinstance(weights, Phantom):
        return weights
    gradients = [policy.gradient(weights, rows) for rows in batches]
    fresh = weights.copy()  # the old ones may be under way to an actor
    policy.rule(fresh, sum(gradients) / len(batches), states, step)
    return fresh


def alone(policy: Policy, steps: int, per_step: int = 1, age: int = 0) -> Any:
    """The weights of one process, which answers with its weights of `age` steps before."""
    kept = [policy.initial()]
    states = [np.zeros_like(kept[0]) for _ in range(policy.rule.states)]
    for step in range(steps):
        tickets = range(step * per_step, (step + 1) * per_step)
        batches = [policy.answers(kept[max(step - age, 0)], ticket) for ticket in tickets]
        kept.append(improved(policy, kept[-1], states, step + 1, batches))
    return kept[-1]


def learn(
    comm: Comm,
    policy: Policy,
    consistency: Consistency[Any],
    steps: int,
    per_step: int,
    answering: Callable[[int], float] | None = None,
    training: float = 0.0,
) -> Learnt | None:
    """`steps` steps, each from `per_step` tickets. `answering(ticket)` and `training` are seconds
    that an actor and the learner are busy besides, like the `pace` of a training. The learner
    returns what it has learnt, actors None."""
    count("steps", steps, 0), count("per_step", per_step)
    if comm.size < 2:
        raise ValueError("learn: a learner and an actor are two ranks; on one rank, take `alone`")
    policy = placed(policy, comm.device)
    itself = comm.split(comm.rank)  # the learner trains in the background, on this
    if comm.rank != LEARNER:
        act(comm, policy, answering)
        return None
    bound = consistency.service(policy.rule).bound
    weights, version, given, arrived = policy.initial(), 0, 0, 0
    states = [np.zeros_like(weights) for _ in range(policy.rule.states)]

    def train(beside: Comm, batches: list[Any]) -> None:
        beside.work(seconds=training)
        made.append(improved(policy, weights, states, version + 1, batches))

    begun, waiting, ticket = comm.now(), list(range(1, comm.size)), np.empty(2, np.int64)
    came: dict[int, tuple[int, int, Any]] = {}  # by ticket: actor, version of its weights, answers
    used: list[tuple[int, int]] = []  # actor and age
    made: list[Any] = []
    seconds: list[float] = []
    coming, under_way = None, None
    while version < steps:
        while waiting and given // per_step <= min(version + bound, steps - 1):
            actor = waiting.pop(0)
            comm.send(np.array([given, version]), actor, TICKET)
            comm.send(weights, actor, WEIGHTS)
            given += 1
        wanted = range(version * per_step, (version + 1) * per_step)
        if under_way is None and came.keys() >= set(wanted):
            answers = [came.pop(number) for number in wanted]
            used += [(actor, version - old) for actor, old, _ in answers]
            under_way = itself.background(train, [rows for *_, rows in answers])
        if coming is None and arrived < steps * per_step:
            coming = comm.irecv(ticket, ANY, TICKET)
        pending = [request for request in (coming, under_way) if request is not None]
        if pending[comm.wait_any(pending)] is under_way:
            weights, version, under_way = made.pop(), version + 1, None
            seconds.append(comm.now() - begun)
        elif coming is not None:
            actor, rows = coming.wait(), policy.room()
            comm.recv(rows, actor, ANSWERS)
            came[int(ticket[0])] = actor - 1, int(ticket[1]), rows
            waiting.append(actor)
            arrived, coming = arrived + 1, None
    for actor in waiting:
        comm.send(np.array([END, version]), actor, TICKET)
    actors, ages = zip(*used, strict=True) if used else ((), ())
    return Learnt(weights, tuple(seconds), ServerReport(actors, ages, version))


def act(comm: Comm, policy: Policy, answering: Callable[[int], float] | None) -> None:
    """A rank that gets a ticket and weights, sends its answers back, and so on until the END."""
    weights, ticket = policy.initial(), np.empty(2, np.int64)
    while comm.recv(ticket, LEARNER, TICKET) == LEARNER and ticket[0] != END:
        comm.recv(weights, LEARNER, WEIGHTS)
        with comm.span("answer", kind="work"):
            rows = policy.answers(weights, int(ticket[0]))
        if answering is not None:
            comm.work(seconds=answering(int(ticket[0])))
        comm.send(ticket, LEARNER, TICKET)
        comm.send(rows, LEARNER, ANSWERS)
