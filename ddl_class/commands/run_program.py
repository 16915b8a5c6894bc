"""`ddl-teach run`: one program file, on real or on simulated ranks."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import read_network
from ddl_class.commands.program_file import BrokenFile, load_program, read_arguments
from ddl_class.commands.run_text import describe_run
from ddl_runtime.devices.choice import check_path
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.records.run import Run
from ddl_runtime.simulator.fibers import MOST_THREADS
from ddl_teach import Comm, launch, simulate

DEFAULT_NETWORK = "uniform:latency=1us,bandwidth=10GB/s"
PICTURES = (".png", ".pdf", ".svg")


def run_program(options: argparse.Namespace) -> int:
    """Run the program that the command line names and tell what came of it; return the status."""
    _check_outputs(options)
    network = _network(options)
    try:
        program = load_program(options.program)
        arguments = read_arguments(program, options.arg)
        if options.device_path:
            program = on_device_path(program, options.device_path)
        trace = bool(options.plot or options.trace)
        if options.simulate:
            ground = f"{options.simulate:,} simulated ranks, {options.network or DEFAULT_NETWORK}"
            how = {"network": network, "trace": trace, "threads": options.threads}
            run = simulate(program, options.simulate, **how, **arguments)
        else:
            place = Box.own(options.box) if options.box else None
            where = f"the box '{options.box}'" if options.box else "this machine"
            ground = f"{options.ranks} MPI processes on {where}"
            how = {"timeout": options.timeout, "trace": trace, "on": place}
            run = launch(program, options.ranks, **how, **arguments)
    except (BrokenFile, DiagnosedError, FileNotFoundError) as error:  # the last: no mpiexec
        print(error, file=sys.stderr)
        return 1
    print(describe_run(run, ground))
    _save(run, options)
    return 0


def on_device_path(program: Callable[..., Any], path: str) -> Callable[..., Any]:
    """The same program, whose arrays on devices travel on one path, whatever their size."""
    try:
        check_path(path)
    except ValueError as error:
        raise Mistake(str(error)) from error

    @functools.wraps(program)
    def on_path(comm: Comm, **arguments: Any) -> Any:
        comm.device_path = path
        return program(comm, **arguments)

    return on_path


def _network(options: argparse.Namespace) -> Any:
    if options.simulate and options.box:
        raise Mistake("--box is for real ranks: write --ranks N instead of --simulate N")
    if not options.simulate:
        if options.network:
            raise Mistake("--network describes simulated ranks: add --simulate N")
        if options.threads:
            raise Mistake("--threads is about simulated ranks: add --simulate N")
        return None
    if options.threads and options.simulate > MOST_THREADS:
        raise Mistake(f"--threads: at most {MOST_THREADS:,} ranks have a thread each")
    network = read_network(options.network or DEFAULT_NETWORK)
    if network.shared:
        try:
            network.check_ranks(options.simulate)
        except ValueError as error:
            raise Mistake(str(error)) from error
    return network


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse before a long run what could not be written after it."""
    for path in filter(None, (options.plot, options.trace)):
        if not path.parent.is_dir():
            raise Mistake(f"There is no folder {path.parent} to write {path.name} into")
    if options.plot and options.plot.suffix not in PICTURES:
        raise Mistake(f"--plot {options.plot}: the name must end in one of {', '.join(PICTURES)}")


def _save(run: Run, options: argparse.Namespace) -> None:
    if options.plot:
        import matplotlib

        matplotlib.use("Agg")  # a file is wanted, not a window
        run.timeline.plot().savefig(options.plot)
        print(f"timeline drawn in {options.plot}")
    if options.trace:
        run.timeline.save_trace(Path(options.trace))
        print(f"trace in {options.trace}: open it at ui.perfetto.dev")
