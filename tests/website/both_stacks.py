"""Programs that give the same on every kind of stack; prints what they gave, as JSON."""

import contextvars
import json
import sys

sys.path[:0] = ["/stand_in", "/project", "/pure"]

from ddl_class.exercises.time_limit import OutOfTime, within  # noqa: E402
from ddl_runtime.diagnosis.deadlock import DiagnosedError  # noqa: E402
from ddl_teach import ANY, Phantom, simulate  # noqa: E402
from ddl_teach.collectives import recursive_doubling, ring, tree  # noqa: E402
from ddl_teach.comm import Machine, TwoLevel, Uniform  # noqa: E402

variable = contextvars.ContextVar("variable", default=-1)


def collectives(comm):
    for algorithm in (ring, recursive_doubling, tree):
        algorithm.allreduce(comm, Phantom(100_000))
    return comm.now()


def everything(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    def beside(other):
        other.work(seconds=1e-6)
        ring.allreduce(other, Phantom(80))
        return other.rank

    request = comm.background(beside)
    waits = [comm.irecv(Phantom(8), left), comm.isend(Phantom(8), right)]
    seen = sorted(comm.wait_any(waits) for _ in waits)
    half = comm.split(comm.rank % 2)
    half.barrier()
    if comm.rank == 0:
        seen += [comm.recv(Phantom(8), ANY, tag=2) for _ in range(comm.size - 1)]
    else:
        comm.send(Phantom(8), 0, tag=2)
    request.wait()
    return seen, half.rank, comm.now()


def own_state(comm):
    """Each rank has variables of its context and an error at hand of its own."""
    variable.set(comm.rank)
    try:
        raise ValueError(comm.rank)
    except ValueError:
        comm.barrier()
        return variable.get(), str(sys.exc_info()[1])


def deep(comm, depth=0):
    if depth < 200:
        return deep(comm, depth + 1)
    comm.barrier()
    return depth


def ring_of_waits(comm):
    comm.recv(Phantom(8), (comm.rank + 1) % comm.size)


def some_have_ended(comm):
    if comm.rank < 2:
        comm.recv(Phantom(8), 1 - comm.rank)
    comm.work(seconds=1.0)


def in_the_background(comm):
    comm.background(lambda other: other.recv(Phantom(8), comm.rank)).wait()


def stumbles(comm):
    comm.barrier()
    if comm.rank == 2:
        raise KeyError("nothing of this name")
    comm.barrier()


def unreceived(comm):
    if comm.rank == 0:
        comm.send(Phantom(8), 1)


def for_ever(comm):
    comm.barrier()
    while comm.rank == 1:
        pass


RIGHT = [
    (collectives, 5, {}),
    (collectives, 16, {"network": TwoLevel(4, Uniform(1e-6, 1e10), Uniform(1e-5, 1e9))}),
    (everything, 6, {"machine": Machine(jitter=0.2, latency_jitter=0.3, seed=3)}),
    (own_state, 5, {}),
    (deep, 40, {}),
]
WRONG = (ring_of_waits, some_have_ended, in_the_background, stumbles, unreceived)


def main():
    given = {}
    for program, ranks, settings in RIGHT:
        run = simulate(program, ranks, **settings)
        bytes_sent = [ledger.bytes_sent for ledger in run.ledger]
        spans = [[(span.kind, span.start, span.end) for span in row] for row in run.timeline.spans]
        given[f"{program.__name__} {ranks}"] = run.results, run.time, bytes_sent, spans
    for program in WRONG:
        try:
            simulate(program, 4)
        except DiagnosedError as error:
            given[program.__name__] = type(error).__name__, str(error), getattr(error, "cycle", 0)
    try:
        simulate(for_ever, 3, timeout=1)
    except DiagnosedError as error:
        given["for_ever"] = type(error).__name__, "in for_ever" in str(error)
    try:
        within(1, lambda: simulate(for_ever, 3))
    except OutOfTime as late:
        given["a check of it"] = late.frame.f_code.co_name
    given["after all that"] = simulate(own_state, 3).results
    print(json.dumps(given, default=str))


main()
