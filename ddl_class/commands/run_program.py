"""`ddl-teach run`: one program file, on real or on simulated ranks."""

import argparse
import functools
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from ddl_class.clusters.box.box import Box
from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import read_network
from ddl_class.commands.program_file import BrokenFile, load_program, read_arguments
from ddl_runtime.devices.choice import check_path
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.interchange.torch_trace import read_torch_traces
from ddl_runtime.records.run import Run
from ddl_runtime.simulator.fibers import MOST_THREADS
from ddl_runtime.simulator.simulate import MOST_RANKS
from ddl_teach import Comm, launch, simulate

DEFAULT_NETWORK = "uniform:latency=1us,bandwidth=10GB/s"
PICTURES = (".png", ".pdf", ".svg")
TRACES = (".json", ".json.gz", ".goal", ".et")
RANKS = 4  # real ones, where no number is said
SHOWN = 8  # ranks listed one by one before the rest is only counted
WIDTH = 88  # of one rank's result


def run_program(options: argparse.Namespace) -> int:
    """Run the program that the command line names, print its results; returns the exit status."""
    written = ("--plot", options.plot, PICTURES), ("--trace", options.trace, TRACES)
    for option, path, endings in written:  # rather than after a long run
        if path and not path.parent.is_dir():
            raise Mistake(f"There is no folder {path.parent} to write {path.name} into")
        if path and not path.name.endswith(endings):
            raise Mistake(f"{option} {path}: the name must end in one of {', '.join(endings)}")
    if options.beside and not options.plot:
        raise Mistake("--beside is drawn below the run's own timeline: add --plot FILE.png")
    network, traced = _network(options), _traced(options.beside)
    try:
        program, arguments = _program(options)
        if options.device_path:
            program = on_device_path(program, options.device_path)
        trace = bool(options.plot or options.trace)
        limit = {"timeout": options.timeout} if options.timeout else {}
        if options.simulate:
            ground = f"{options.simulate:,} simulated ranks, {options.network or DEFAULT_NETWORK}"
            how = {"network": network, "trace": trace, "threads": options.threads or options.torch}
            environments: AbstractContextManager[None] = nullcontext()
            if options.torch:
                from ddl_teach.torch_backend.script import ranks_have_environments

                environments = ranks_have_environments()
            with environments:
                run = simulate(program, options.simulate, **how, **limit, **arguments)
        else:
            place = Box.find(options.box) if options.box else None
            where = f"the box '{options.box}'" if options.box else "this machine"
            ranks = options.ranks or RANKS
            ground = f"{ranks} MPI processes on {where}"
            run = launch(program, ranks, trace=trace, on=place, **limit, **arguments)
    except (BrokenFile, DiagnosedError, FileNotFoundError) as error:  # the last: no mpiexec
        print(error, file=sys.stderr)
        return 1
    print(describe_run(run, ground))
    if options.plot:
        _draw(run, traced, options.plot)
    if options.trace:
        print(_save_trace(run, options.trace))
    return 0


def _traced(folder: Path | None) -> Run | None:
    """What torch's profiler has recorded, a file a rank."""
    try:
        return read_torch_traces(sorted(folder.glob("*.json*"))) if folder else None
    except ValueError as error:
        raise Mistake(f"--beside {folder}: {error}") from error


def _draw(run: Run, traced: Run | None, path: Path) -> None:
    """The timeline, and below it, with the same axis of time, what was recorded."""
    import matplotlib

    matplotlib.use("Agg")  # a file is wanted, not a window
    from ddl_runtime.pictures.activity import activity, finding
    from ddl_runtime.pictures.style import Picture

    figure = Picture(figsize=(9.0, 8.0), layout="constrained") if traced else run.timeline.plot()
    both = {"here": run, "torch's profiler": traced} if traced else {}
    for place, (name, each) in enumerate(both.items(), 1):
        title = f"{name}: {finding(activity(each.timeline))}"
        print(title)
        end, ax = max(other.time for other in both.values()), figure.add_subplot(2, 1, place)
        each.timeline.plot(ax=ax, title=title, end=end)
    figure.savefig(path)
    print(f"timeline drawn in {path}")


def _save_trace(run: Run, path: Path) -> str:
    """Write the timeline in the format of this name; returns what to say about it."""
    if path.suffix == ".goal":
        return f"schedule in {run.timeline.save_goal(path)}: txt2bin of LogGOPSim reads it"
    if path.suffix == ".et":
        first, *_ = run.timeline.save_chakra(path.with_suffix(""))
        return f"Chakra execution traces in {first} and the like, a file a rank"
    return f"trace in {run.timeline.save_trace(path)}: open it at ui.perfetto.dev"


def _program(options: argparse.Namespace) -> tuple[Callable[..., Any], dict[str, Any]]:
    """What each rank runs, and with which arguments."""
    if not options.torch:
        if options.argv:
            raise Mistake("--argv is for scripts of torch's: add --torch")
        program = load_program(options.program)
        return program, read_arguments(program, options.arg)
    if options.arg:
        raise Mistake("--arg is for functions; a script of torch's takes --argv")
    if not Path(options.program).is_file():
        raise Mistake(f"There is no script {options.program}; --torch takes FILE.py alone")
    from ddl_teach.torch_backend.script import run_script

    words = shlex.split(options.argv or "")
    return run_script, {"path": str(Path(options.program).resolve()), "words": words}


def on_device_path(program: Callable[..., Any], path: str) -> Callable[..., Any]:
    """`program` with one path for all its messages of arrays on devices, whatever their size."""
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
    if options.simulate and options.ranks:
        raise Mistake("--ranks starts processes, --simulate simulates: give one of them")
    if options.simulate and options.box:
        raise Mistake("--box is for real ranks: write --ranks N instead of --simulate N")
    if not options.simulate:
        if options.network:
            raise Mistake("--network describes simulated ranks: add --simulate N")
        if options.threads:
            raise Mistake("--threads is about simulated ranks: add --simulate N")
        return None
    if (options.threads or options.torch) and options.simulate > MOST_THREADS:
        raise Mistake(f"--threads: at most {MOST_THREADS:,} ranks can have a thread each")
    if options.simulate > MOST_RANKS:
        raise Mistake(f"--simulate: at most {MOST_RANKS:,} ranks fit into a machine's memory")
    network = read_network(options.network or DEFAULT_NETWORK)
    if network.shared:
        try:
            network.check_ranks(options.simulate)
        except ValueError as error:
            raise Mistake(str(error)) from error
    return network


def describe_run(run: Run, ground: str) -> str:
    """Return what a learner wants to see of ``run``; ``ground`` says on what it ran."""
    table: list[tuple[str, ...]] = [("sent per rank", "minimum", "median", "maximum")]
    for what in ("messages", "bytes"):
        sent = [getattr(ledger, f"{what}_sent") for ledger in run.ledger]
        numbers = min(sent), median(sent), max(sent)
        table.append((what, *(f"{n:,.0f}" if n == int(n) else f"{n:,.1f}" for n in numbers)))
    units = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, size = next((pair for pair in units if pair[1] <= run.time), units[-1])
    time = f"{run.time / size:.4g} {unit}" if run.time else "0 s"
    lines = [ground, *_results(run), f"time: {time}", ""]
    lines += [f"{row[0]:<14}" + "".join(f"{cell:>16}" for cell in row[1:]) for row in table]
    return "\n".join(lines)


def _results(run: Run) -> list[str]:
    whole = [" ".join(repr(result).split()) for result in run.results]
    texts = [text if len(text) <= WIDTH else f"{text[: WIDTH - 4]} ..." for text in whole]
    if run.ranks > 1 and len(set(texts)) == 1:
        return [f"every rank returned {texts[0]}"]
    few = run.ranks <= SHOWN + 2
    listed = range(run.ranks) if few else [*range(SHOWN), run.ranks - 1]
    lines = [f"rank {rank}: {texts[rank]}" for rank in listed]
    if not few:
        lines.insert(SHOWN, f"... {run.ranks - SHOWN - 1} more ranks ...")
    return lines
