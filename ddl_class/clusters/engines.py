"""ipyparallel on many nodes: a controller here, engines there as MPI ranks, one profile a ground.

    ddl-teach cluster start hosts --ranks 8
    client = connect("hosts")        in a notebook; %%px cells and views, `comm` on every rank
    run = ClientRanks(client).run(program)                    as Engines(...).run in a notebook

Every connection is encrypted (CurveZMQ) and every message signed with a key that the controller
makes anew at each start. Both keys are in the profile's `security` folder, which nobody else can
read: they are on no command line and in no environment, where `ps` could show them. The controller
listens at one address, the cluster's own. Nobody watches the ranks from outside: one that raises
says so, and the others end when their time is up.
"""

import json
import logging
import pickle
import shutil
import socket
import stat
import time
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipyparallel
from IPython.core.profiledir import ProfileDir
from IPython.paths import get_ipython_dir
from traitlets.config import Config

from ddl_class.clusters.grounds import SETUP, NodeAccess
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.finding import ROOT, CheckResult, check, fail
from ddl_runtime.core.checks import first_ranks
from ddl_runtime.diagnosis.deadlock import TimedOut, details, tell_failure
from ddl_runtime.diagnosis.frames import error_text, program_traceback
from ddl_runtime.launcher.mpiexec import mpi_environment
from ddl_runtime.launcher.serialise import ship
from ddl_runtime.mpi.polling import Monitor
from ddl_runtime.records.run import Run, concluded

if TYPE_CHECKING:
    from ddl_runtime.launcher.world import World  # starts MPI, which is for ranks only

CALL_LIMIT = 10  # seconds a controller may take to answer
OUTPUT_LIMIT = 10.0  # seconds until what engines print must have reached a new client ...
OUTPUT_TRY = 0.5  # ... which tries again after so many
GRACE = 30  # seconds beyond a program's own limit, in which late ranks say so

EVERYBODY = "ddl_teach_everybody"  # what engines keep from program to program, by this name
ENTER = f"from ddl_runtime.launcher.join import joined\n{EVERYBODY}, comm = joined()"

# ipyparallel puts `-n RANKS` in front of the ground's words, which have their number in its place.
LEAVE_COUNT_OUT = ("sh", "-c", 'shift 2; exec "$@"', "ranks")


def start(ground: NodeAccess, ranks: int, nodes: int, limit: float) -> None:
    """Start a controller and its engines, and leave them running; all or nothing."""
    profile = make_profile(ground.name)
    if _running(profile) is not None:
        stop_them = f"ddl-teach cluster stop {ground.name}"
        raise Mistake(f"engines of {ground.name} run already; to stop them: {stop_them}")
    cluster = ipyparallel.Cluster(
        profile_dir=str(profile),
        cluster_id="",
        n=ranks,
        engines=ground.engines,
        controller_ip=ground.listens_at,
        send_engines_connection_env=False,
        shutdown_atexit=False,
        log_level=logging.ERROR,
        config=settings(ground, ranks, nodes, profile),
    )
    try:
        cluster.start_cluster_sync()
        with cluster.connect_client_sync() as client:
            client.wait_for_engines(ranks, timeout=limit, interactive=False)
            client[:].execute(ENTER, block=True)
            seen = dict(zip(client.ids, client[:]["comm.rank, comm.size"], strict=True))
        if seen != {rank: (rank, ranks) for rank in range(ranks)}:
            raise Mistake(
                f"engines and ranks do not agree: (rank, ranks) by engine is {seen}. 'ddl-teach "
                f"cluster check {ground.name}' says why"
            )
    except BaseException as error:
        cluster.stop_cluster_sync()
        if isinstance(error, TimeoutError):
            # What engines or their starter said last, and where more of it stands.
            logs = sorted((profile / "log").glob("*.out"), key=lambda path: path.stat().st_mtime)
            lines = logs[-1].read_text(errors="replace").split("\n") if logs else []
            spoken = [line.strip() for line in lines if line.strip()]
            ends = f"; {logs[-1]} ends: {spoken[-1]}" if spoken else ""
            raise Mistake(
                f"not all of {ranks} engines came within {limit:g} s{ends}. 'ddl-teach cluster "
                f"check {ground.name}' looks for the cause"
            ) from None
        raise


def stop(name: str) -> bool:
    """End the engines and the controller of a ground; whether there were any."""
    if (cluster := _running(make_profile(name))) is None:
        return False
    cluster.stop_cluster_sync()
    return True


def connect(name: str) -> ipyparallel.Client:
    """A client of the engines that `ddl-teach cluster start` has started on this ground. It works
    on any machine that sees the same profile and can reach the controller's machine."""
    profile = make_profile(name)
    file, here = profile / "security" / "ipcontroller-client.json", socket.gethostname()
    try:
        host = json.loads(file.read_text())["location"]
    except FileNotFoundError:
        host = here
    # Of another machine's processes nothing can be known here; ask only about this one's.
    if host == here and _running(profile) is None:
        raise Mistake(f"no engines run on {name}: ddl-teach cluster start {name}")
    try:
        client = ipyparallel.Client(str(file), profile_dir=str(profile), timeout=CALL_LIMIT)
    except TimeoutError:
        raise Mistake(
            f"the controller of the engines on {name} was started on {host}, and does not answer "
            f"{here}. Open the notebook on {host}; or stop the engines there, and start "
            f"others here: ddl-teach cluster start {name}"
        ) from None
    # Until a new client has been noted as a listener, all that engines print is lost. Engines that
    # are busy do not answer: then nobody waits for long.
    until = time.monotonic() + OUTPUT_LIMIT
    while client.ids and time.monotonic() < until:
        if client[:].execute("").wait_for_output(OUTPUT_TRY):
            break
    return client


@check("secrets")
def secrets_kept(name: str) -> str | CheckResult:
    """Can nobody else read the keys of this ground's engines?"""
    folder = Path(get_ipython_dir()) / f"profile_ddl-{name}" / "security"
    if not folder.exists():
        return "no engines have been started yet"
    if folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mend = f"chmod go= {folder}\nThen stop and start the engines: they make new keys."
        return fail(f"others can look into {folder}, where the keys of engines are", mend)
    return f"only you can look into {folder}"


def make_profile(name: str) -> Path:
    """ipyparallel's profile of a ground, with the controller's settings; made at need."""
    made = ProfileDir.create_profile_dir_by_name(get_ipython_dir(), f"ddl-{name}")
    folder = Path(made.location)
    (folder / "security").mkdir(mode=0o700, exist_ok=True)
    shutil.copy(SETUP / "ipcontroller_config.py", folder)
    return folder


def settings(ground: NodeAccess, ranks: int, nodes: int, profile: Path) -> Config:
    """How ipyparallel's launcher starts the engines on this ground."""
    config = Config()
    if ground.engines == "slurm":
        launcher = config.SlurmEngineSetLauncher
        launcher.batch_template_file = str(SETUP / "slurm" / "engines.sbatch")
        launcher.batch_file_name = str(profile / "log" / "engines.sbatch")
        launcher.namespace = {"nodes": nodes, "course": str(ROOT)}
        launcher.submit_command = [str(SETUP / "slurm" / "submit")]
    else:
        launcher = config.MPIEngineSetLauncher
        launcher.mpi_cmd = [*LEAVE_COUNT_OUT]
        # What ipyparallel says by environment does not reach other hosts by every mpiexec.
        variables = [f"IPP_PROFILE_DIR={profile}", "IPP_CLUSTER_ID=", f"PYTHONPATH={ROOT}"]
        launcher.mpi_args = ground.on_all(ranks, ["env", *variables])
        launcher.environment = mpi_environment()
    launcher.engine_cmd = [ground.python, "-m", "ipyparallel.engine"]
    return config


def _running(profile: Path) -> ipyparallel.Cluster | None:
    """The engines and the controller of this profile, if there are any."""
    if not (profile / "security" / "cluster-.json").exists():
        return None
    options = {"profile_dir": str(profile), "cluster_id": "", "log_level": logging.CRITICAL}
    cluster = ipyparallel.Cluster.from_file(**options)
    return cluster if cluster._is_running() else None


class ClientRanks:
    """The engines of a client, as a ground for rank programs."""

    def __init__(self, client: ipyparallel.Client, timeout: float = 60) -> None:
        self._client = client
        self.size = len(client.ids)
        self.timeout = timeout
        client[:].execute(ENTER, block=True)

    def run(
        self, program: Callable[..., Any], ranks: int | None = None, *,
        timeout: float | None = None, trace: bool = True, strict: bool = True,
        memory: float | None = None, **kwargs: Any,
    ) -> Run:  # fmt: skip
        """Run `program(comm, **kwargs)` on the first `ranks` engines, or on all: strict ranks,
        unless time is measured."""
        count = first_ranks(ranks, self.size, "engines")
        limit = self.timeout if timeout is None else timeout
        view = self._client[self._client.ids[:count]]
        everybody = ipyparallel.Reference(EVERYBODY)
        given = everybody, count, limit, trace, strict, memory, ship(program, kwargs)
        endings = view.apply_async(carry_out, *given).get(limit + GRACE)
        for rank, (how, value) in enumerate(endings):
            if how == "raised":
                what, where, data = value
                raise tell_failure(rank, what, where, **data)
        for how, value in endings:
            if how == "late":
                raise TimedOut(value)
        view.apply_sync(methodcaller("free"), everybody)
        return concluded([value for _, value in endings])


def carry_out(
    world: "World", ranks: int, limit: float, trace: bool, strict: bool, memory: float | None,
    payload: bytes,
) -> tuple[str, Any]:  # fmt: skip
    """One engine's part, and how it ended."""
    comm = world.begin(ranks, trace, Monitor(seconds=limit), strict=strict, memory=memory)
    try:
        program, kwargs, _ = pickle.loads(payload)
        value = program(comm, **kwargs)
        world.end(comm)
        return "returned", (comm.now(), world.books(comm), value)
    except TimedOut as late:
        return "late", str(late)
    except Exception as error:
        return "raised", (error_text(error), program_traceback(error), details(error))
    finally:
        world.clear(comm)
