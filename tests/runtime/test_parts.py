"""The parts of a communicator: alike on both grounds, and each of use by itself."""

import inspect
from importlib import import_module
from types import SimpleNamespace

import pytest

from ddl_runtime.core import parts
from ddl_runtime.core.communicator import Comm
from ddl_runtime.simulator.context import Clock, SimulatedContext
from ddl_runtime.simulator.engine import Simulation
from ddl_runtime.simulator.point_to_point import PointToPoint
from ddl_runtime.topologies.point_to_point import Machine, Uniform
from ddl_teach import Phantom

FILES = {
    "PointToPoint": "point_to_point",
    "Clock": "context",
    "Groups": "communicator",
    "Windows": "window",
}


@pytest.mark.parametrize("ground", ["mpi", "simulator"])
@pytest.mark.parametrize("part", FILES)
def test_real_and_simulated_ranks_have_the_same_parts(ground, part):
    module = import_module(f"ddl_runtime.{ground}.{FILES[part]}")
    wanted = {
        name: verb
        for name, verb in vars(getattr(parts, part)).items()
        if inspect.isfunction(verb) and not name.startswith("_")
    }
    made = getattr(module, part)
    for verb in wanted.keys() - {"now"}:  # which may be taken over from elsewhere
        assert list(inspect.signature(getattr(made, verb)).parameters) == list(
            inspect.signature(wanted[verb]).parameters
        )


@pytest.fixture
def context():
    network = Uniform(latency=1.0, bandwidth=10.0)
    simulation = Simulation(
        2, network, Machine(flops=4.0), trace=True, threads=False, strict=False
    )
    return SimulatedContext(simulation, simulation.hosts[0].main, range(2), 0, 0)


def test_a_clock_needs_no_other_part(context):
    clock = Clock(context)
    clock.work(2.0, 0.0, 0.0)
    with clock.span("step"):
        clock.work(0.0, 4.0, 0.0)
    assert clock.now() == 3.0
    spans = [span[:4] for span in context.spans]
    assert spans == [
        ("work", "work", 0.0, 2.0),
        ("work", "work", 2.0, 3.0),
        ("step", "span", 2.0, 3.0),
    ]


def test_messages_need_no_other_part(context):
    PointToPoint(context).send(Phantom(20), 1, tag=5)
    assert context.strand.clock == 2.0
    assert context.ledger == [(1, 5, 20, "host")]


class Recorder:
    """Messages that only write down between whom they would be."""

    def __init__(self):
        self.partners = []

    def sendrecv(self, x, to, y, source, tag=0):
        self.partners.append((to, source, tag))


@pytest.mark.parametrize(
    ("size", "partners"),
    [(1, []), (2, [(0, 0)]), (3, [(2, 0), (0, 2)]), (8, [(2, 0), (3, 7), (5, 5)])],
)
def test_a_meeting_takes_log2_rounds(size, partners):
    messages = Recorder()
    opened = []
    ground = type("Ground", (Comm,), dict.fromkeys(Comm.__abstractmethods__))
    place = {"rank": 1 % size, "size": size, "node": 0, "number": 0}
    comm = ground(SimpleNamespace(**place, ledger=[], logs=[], watch=None), messages)
    comm.groups = SimpleNamespace(meeting=lambda name: opened.append(name) or messages)
    comm._meet("split")
    assert messages.partners == [(*pair, 1) for pair in partners]
    comm._meet("split")
    assert opened == ["split"], "messages of one kind of meeting are opened once"
