"""Simulated ranks: run a program on any number of them, in this process."""

import copy
import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from ddl_runtime.core.checks import check_program, check_timeout, whole_number
from ddl_runtime.core.each_rank import RankCount, on_each_rank
from ddl_runtime.core.memory import check_capacity
from ddl_runtime.core.running import run_program
from ddl_runtime.diagnosis import deadlock, frames
from ddl_runtime.records.ledger import Ledger
from ddl_runtime.records.memory import MemoryTrack
from ddl_runtime.records.run import Logs, Run, compare_collectives, tell_collectives
from ddl_runtime.records.timeline import Timeline
from ddl_runtime.simulator.communicator import SimulatedComm
from ddl_runtime.simulator.context import SimulatedContext
from ddl_runtime.simulator.diagnosis import left_behind, tell_late
from ddl_runtime.simulator.engine import Simulation
from ddl_runtime.simulator.fibers import MOST_THREADS
from ddl_runtime.simulator.rank_state import Host
from ddl_runtime.simulator.symmetric import OneForAll, SymmetricComm, check_symmetric
from ddl_runtime.simulator.time_limit import PYPY, SimulationIsLate, limited
from ddl_runtime.topologies.point_to_point import Machine, Uniform

MOST_RANKS = 1 << 20  # they take 3 kB each, so more than 3 GB in all
Progress = Callable[[Callable[[], tuple[int, int]]], AbstractContextManager[None]]


def simulate(
    program: Callable[..., Any], ranks: int = 65_536, *, network: Any = Uniform(),
    machine: Machine = Machine(), trace: bool = True, threads: bool = False, strict: bool = False,
    memory: float | None = None, timeout: float = 600, symmetric: bool = False,
    progress: Progress = lambda so_far: nullcontext(), **kwargs: Any,
) -> Run:  # fmt: skip
    """Run `program(comm, **kwargs)` on simulated ranks; returns what `launch` would.

    `network` is one of `ddl_teach.comm`, such as `Uniform`; `machine` says how fast ranks work
    and how unevenly. Each rank gets copies of the `kwargs`, as real ranks do.
    Without `trace` no timeline is recorded. With `threads` each rank is a thread of the system
    and not a greenlet: slower, but what torch keeps for each thread, its backward pass above all,
    each rank then has for itself. `strict` ranks refuse what works by luck (`core.watch`).
    `memory` is the bytes that each rank may hold (`Comm.hold`). After `timeout` seconds on the
    wall's clock it is stopped, and the error says where ranks were. All of it runs inside the
    `progress`, which is given a function: the messages sent so far, and the ranks that have ended.
    With `symmetric` one rank runs in place of all, once it is proved that they do the same: on a
    million ranks in seconds (`simulator.symmetric`).

    >>> run = simulate(lambda comm: comm.rank ** 2, ranks=4)
    >>> run.results
    [0, 1, 4, 9]
    """
    ranks = whole_number(ranks, "ranks", 1)
    if ranks > MOST_RANKS:
        raise ValueError(
            f"{ranks:,} simulated ranks would take about {ranks * 3e-6:,.0f} GB of memory: at "
            f"most {MOST_RANKS:,} are run. Find the law on fewer, and compute the rest by it"
        )
    check_program(program)
    check_timeout(timeout)
    check_capacity(memory)
    for name, given, known in (("network", network, "node"), ("machine", machine, "flops")):
        if isinstance(given, type) or not hasattr(given, known):
            raise TypeError(
                f"{name} must be one such as {name}={'Uniform' if known == 'node' else 'Machine'}"
                f"(...) of ddl_teach.comm, not {given!r}"
            )
    if threads and ranks > MOST_THREADS:
        raise ValueError(
            f"threads=True gives each rank a thread of the system, at most {MOST_THREADS:,}, and "
            f"these are {ranks:,} ranks: use fewer, or leave threads=True away. Programs that "
            "compute with Phantom arrays and comm.work do not need it"
        )
    if threads and PYPY:
        raise ValueError(
            "threads=True needs CPython: PyPy could not stop a rank that never ends. Leave it away"
        )
    machine.check_ranks(ranks)
    if network.shared:
        network.check_ranks(ranks)
    if symmetric:
        check_symmetric(network, machine)
    # Ranks are numerous and long-lived: the collector would walk them all again and again.
    collecting = gc.isenabled()
    gc.disable()
    given = network, machine, trace, threads, strict, memory
    simulation = Simulation(1 if symmetric else ranks, *given)
    size = RankCount(ranks)
    if symmetric:
        simulation.hosts = OneForAll(simulation.hosts)
    try:

        def program_of(host: Host) -> Callable[[], Any]:
            own = {name: _own_copy(name, value) for name, value in kwargs.items()}
            context = SimulatedContext(simulation, host.main, range(ranks), host.index, 0)
            comm = SymmetricComm(context, size) if symmetric else SimulatedComm(context)

            def to_the_end() -> Any:
                value = run_program(program, comm, own)
                losses, watch = simulation.losses, comm.context.watch
                if watch is not None and not losses.dead and not losses.revoked:
                    watch.conclude()
                return value

            return to_the_end

        with limited(timeout, simulation.stacks.running_thread), progress(simulation.so_far):
            results = simulation.run(program_of)
        if size.refusal is not None:
            raise size.refusal
        if symmetric:
            results = on_each_rank(size, *results)
        return _conclude(simulation, results, timeout)
    except SimulationIsLate as error:  # between two strands
        raise _late(simulation, timeout, 0, error) from None
    except deadlock.DiagnosedError as error:
        if error.run is None:  # not all ranks have returned
            tell_collectives(error, _collectives(simulation))
            error.run = _recorded(simulation, [None] * ranks)
        raise
    finally:
        simulation.dissolve()
        if collecting:
            gc.enable()


def _late(simulation: Simulation, timeout: float, rank: int, error: BaseException) -> Any:
    where, count = frames.raised_line(error), len(simulation.hosts)
    return tell_late(timeout, simulation.live, count, rank, where)


def _conclude(simulation: Simulation, results: list[Any], timeout: float) -> Run:
    if simulation.failure is not None:
        _, rank, error = simulation.failure
        if isinstance(error, SimulationIsLate):
            raise _late(simulation, timeout, rank, error) from None
        if isinstance(error, KeyboardInterrupt):
            raise deadlock.Interrupted(
                f"interrupted while rank {rank} ran:\n{frames.program_traceback(error)}"
            ) from None
        what, text = frames.error_text(error), frames.program_traceback(error)
        details = deadlock.details(error)
        raise deadlock.tell_failure(rank, what, text, **details) from error
    hosts, run = simulation.hosts, _recorded(simulation, results)
    # What was sent to dead ranks, or by them, cannot be received.
    left = [] if simulation.losses.dead else left_behind(hosts, simulation.groups.members)
    compare_collectives(_collectives(simulation), run, left)
    return run


def _recorded(simulation: Simulation, results: list[Any]) -> Run:
    """What ranks have done until now."""
    hosts = simulation.hosts
    ledgers, spans = [Ledger(host.ledger) for host in hosts], [host.spans or [] for host in hosts]
    track = MemoryTrack([[*host.memory.changes] if host.memory else [] for host in hosts])
    symmetric = len(hosts) < len(results)
    return Run(results, simulation.end, ledgers, Timeline(spans), track, symmetric)


def _collectives(simulation: Simulation) -> Logs:
    """What each rank has called, unless some have died or given up."""
    complete = not simulation.losses.dead and not simulation.losses.revoked
    return ((host.index, host.logs) for host in simulation.hosts if complete)


def _own_copy(name: str, value: Any) -> Any:
    """What a rank gets as an argument: its own data, as in a process of its own."""
    if isinstance(value, ModuleType):
        return value
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise TypeError(
            f"no rank can have its own copy of the argument {name}: {error}"
        ) from error
