"""The ground of unit 20: nodes with a real network between them where there are any.

    ground = find_nodes(nodes=4, each=2, rate="100mbit")

First come engines that the learner has started on real nodes (`ddl-teach cluster start slurm`, or
hosts). Then come nodes that the site's notes name for engines (`clusters.places`), then a box that
is up, then one that is made for this process; and where no box can be made, the ranks of this
machine. Without MPI, simulated ranks play nodes. All run rank programs by `ground.engines.run`.
"""

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from IPython.paths import get_ipython_dir

from ddl_class.clusters.box import faults
from ddl_class.clusters.box.box import Box
from ddl_class.clusters.box.links import describe, read_rate
from ddl_class.clusters.places import chosen
from ddl_class.commands.mistake import Mistake
from ddl_class.engines.pool import Engines, registered
from ddl_class.engines.simulated import SimulatedEngines
from ddl_class.not_installed import has_mpi
from ddl_class.notebook.timing import stopwatch
from ddl_measure.traffic import between_nodes
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.checkpoints import steps

if TYPE_CHECKING:
    from ddl_class.clusters.engines import ClientRanks

Way = Callable[[Comm, np.ndarray], object]

STARTED = ("slurm", "hosts")
FEW = 4  # ranks of one machine, where there are no nodes
TEMPORARY = Path(tempfile.gettempdir())
GLANCE = 0.01  # seconds between two looks whether it is time for an accident


@dataclass
class ManyNodes:
    """What was found."""

    what: str  # in a sentence
    engines: "Engines | ClientRanks | SimulatedEngines"
    folder: Path  # of this notebook's own, seen by all ranks
    box: Box | None = None
    far: bool = False  # on machines that are not this one

    def __repr__(self) -> str:
        return self.what

    @cached_property
    def node_of(self) -> list[int]:
        """The node of each rank. Where all are on one, two by two they play nodes."""
        nodes = self.engines.run(lambda comm: comm.node, trace=False).results
        if len(set(nodes)) == 1:
            return [rank // 2 for rank in range(len(nodes))]
        if len(set(Counter(nodes).values())) > 1:
            raise Mistake(
                f"the ranks are on nodes {nodes}, and this unit needs as many on each: start "
                "engines whose number is a multiple of the nodes'"
            )
        return nodes

    def sent(self, way: Way, nbytes: int) -> tuple[list[int], list[int]]:
        """What each node sends to others in one call of `way`: by the ledgers, and by the card of
        the node, where it is a box's (else 0)."""
        before = self._counted()
        run = self.engines.run(stopwatch, sizes=[nbytes], ways=[way], turns=1, trace=False)
        cards = [after - then for after, then in zip(self._counted(), before, strict=True)]
        return between_nodes(run.ledger, self.node_of), cards

    def times(self, ways: Sequence[Way], sizes: Sequence[int], turns: int = 3) -> np.ndarray:
        """Seconds of the slowest rank, with axes (least, median or most; way; size)."""
        plain = partial(self.engines.run, stopwatch, trace=False, strict=False)
        run = plain(sizes=sizes, ways=ways, turns=turns)
        return np.quantile(np.max(run.results, axis=0), [0, 0.5, 1], axis=0)

    def close(self) -> None:
        """End what was made for this notebook: its engines, its folder, its box."""
        if isinstance(self.engines, Engines):
            self.engines.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.box is not None and self.box.folder.name == _own_name():
            self.box.down()

    def _counted(self) -> list[int]:
        if self.box is None:
            return [0] * len(set(self.node_of))
        cards = self.box.counters()
        return [cards[node].sent_bytes for node in self.box.nodes]

    @contextlib.contextmanager
    def slowed(self, rate: str) -> Iterator[bool]:
        """Inside the `with` one cable of a box is slow; gives False if there is no box."""
        if self.box is None:
            print("There are no cables here that could be made slow: the formula must do.")
            yield False
            return
        node = self.box.nodes[-1]
        faults.slow(self.box, node, rate)
        try:
            yield True
        finally:
            self.box.mend(node)

    @contextlib.contextmanager
    def accident(self, folder: Path, step: int) -> Iterator[None]:
        """Inside the `with` something breaks once a rank's own folder in `folder` has a checkpoint
        of `step`. In a box the last node's cable is cut. On this machine the last rank is killed.
        Real nodes stay whole. Afterwards all is mended, with fresh engines."""
        if self.far or not isinstance(self.engines, Engines):
            print("No node is broken here: the time runs out instead.")
            yield
            return
        victim = self.engines.run(lambda comm: os.getpid(), trace=False).results[-1]
        over = threading.Event()

        def wait_for_it() -> None:
            while not any(max(steps(own), default=0) >= step for own in folder.glob("*")):
                if over.wait(GLANCE):
                    return
            if self.box is not None:
                faults.cut(self.box, self.box.nodes[-1])
            else:
                os.kill(victim, signal.SIGKILL)

        watcher = threading.Thread(target=wait_for_it, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            if self.box is not None:
                self.box.mend(self.box.nodes[-1])
            self.engines.restart()


def find_nodes(nodes: int = 4, each: int = 2, rate: str = "100mbit") -> ManyNodes:
    """Nodes that are there, or a new box of `nodes` nodes with `each` ranks; says what it found.

    Called again, it makes anew what is its own.
    """
    if not has_mpi():
        cables = TwoLevel(each, Uniform(1e-6, 10e9), Uniform(50e-6, read_rate(rate)))
        what = f"{nodes} simulated nodes of {each} ranks, cables of {rate}"
        return _said(what, SimulatedEngines(nodes * each, network=cables), TEMPORARY)
    for name in STARTED:
        # Only who has started engines there has a profile; asking must not make one.
        if (Path(get_ipython_dir()) / f"profile_ddl-{name}").exists():
            from ddl_class.clusters.engines import ClientRanks, connect

            with contextlib.suppress(Mistake):
                started = ClientRanks(connect(name))
                what = f"{started.size} engines on {name}"
                return _said(what, started, Path.cwd(), far=True)
    if (name := chosen()) not in ("laptop", "box"):
        engines = Engines(nodes * each, on=name)
        return _said(f"{engines.size} engines on {name}", engines, Path.cwd(), far=True)
    if (previous := registered()) is not None:
        previous.stop()
    try:
        box = _box(nodes, rate)
    except Mistake as reason:
        what = f"No nodes here, so ranks of this machine, two by two, play them. {reason}"
        return _said(what, Engines(FEW, on="laptop"), TEMPORARY)
    what = f"A cluster in a box: {len(box.nodes)} nodes of {each} ranks, {describe(box.asked)}"
    return _said(what, Engines(len(box.nodes) * each, on=box), box.folder, box)


def _said(
    what: str,
    engines: "Engines | ClientRanks | SimulatedEngines",
    within: Path,
    box: Box | None = None,
    far: bool = False,
) -> ManyNodes:
    print(what)
    folder = Path(tempfile.mkdtemp(prefix="ddl-teach-nodes-", dir=within))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return ManyNodes(what, engines, folder, box, far)


def _box(nodes: int, rate: str) -> Box:
    """This checkout's box if it is up, else a new one of this process."""
    if (usual := Box.seen()) is not None:
        return usual
    if (left_behind := Box.seen(_own_name())) is not None:
        left_behind.down()
    return Box.up(nodes, rate, name=_own_name())


def _own_name() -> str:
    return f"notebook-{os.getpid()}"
