"""The public face of `ddl_runtime`: communicators, networks, errors, and what starts ranks."""

from ddl_runtime.core.arrays import Phantom, split_evenly
from ddl_runtime.core.checks import ANY
from ddl_runtime.core.communicator import Comm, collective
from ddl_runtime.core.parts import Request
from ddl_runtime.diagnosis.deadlock import (
    Deadlock,
    DiagnosedError,
    MessageMismatch,
    OutOfMemory,
    RankFailed,
)
from ddl_runtime.launcher.join import join
from ddl_runtime.launcher.launch import Ranks, launch
from ddl_runtime.records.run import Run
from ddl_runtime.simulator.simulate import simulate
from ddl_runtime.topologies.direct_links import DirectLinks
from ddl_runtime.topologies.dragonfly import Dragonfly
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.hamming_mesh import HammingMesh
from ddl_runtime.topologies.point_to_point import HostLink, Machine, TwoLevel, Uniform
from ddl_runtime.topologies.rails import Rails
from ddl_runtime.topologies.shared_links import SharedBus, Star
from ddl_runtime.topologies.torus import Torus

__all__ = [
    "ANY", "Comm", "Deadlock", "DiagnosedError", "DirectLinks", "Dragonfly", "FatTree",
    "HammingMesh", "HostLink", "Machine", "MessageMismatch", "OutOfMemory", "Phantom", "Rails",
    "RankFailed", "Ranks", "Request", "Run", "SharedBus", "Star", "Torus", "TwoLevel", "Uniform",
    "collective", "join", "launch", "simulate", "split_evenly",
]  # fmt: skip
