"""Where no two messages meet, one program takes one time on every network."""

import random

import pytest

from ddl_runtime.topologies.dragonfly import Dragonfly
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_runtime.topologies.shared_links import SharedBus, Star
from ddl_runtime.topologies.torus import Torus
from ddl_teach import Phantom, simulate

RANKS, STEPS = 8, 60
EAGER = 2_000  # bytes
COSTS = {"base_latency": 3e-6, "bandwidth": 2e9, "overhead": 4e-7}
PLAIN = Uniform(3e-6, 2e9, 4e-7)
NEAR, FAR = Uniform(3e-6, 2e9), Uniform(1e-3, 1e6)
NETWORKS = {
    "nodes of their own": TwoLevel(1, inside=FAR, between=NEAR, overhead=4e-7),
    "pairs on nodes": TwoLevel(2, inside=NEAR, between=FAR, overhead=4e-7),
    "star": Star(RANKS, **COSTS),
    "star of pairs": Star(RANKS // 2, ranks_per_node=2, **COSTS),
    "fat tree": FatTree(4, **COSTS),
    "two levels, oversubscribed": FatTree(8, levels=2, oversubscription=3, **COSTS),
    "torus": Torus((RANKS,), **COSTS),
    "dragonfly": Dragonfly(2, 2, 2, **COSTS),
}


def steps_of(seed, pair):
    """What both ranks of a pair do in turns; a rank has one message under way each way at most."""
    dice = random.Random(f"{seed} {pair}")
    for _ in range(STEPS):
        kind = dice.choice(["send", "begin", "swap", "work"])
        yield kind, dice.randrange(2), *(dice.choice((0, 1, 1_000, 3_000, 10**6)) for _ in "xy")


def program(comm, seed):
    partner = comm.rank ^ 1
    for kind, first, there, back in steps_of(seed, comm.rank // 2):
        mine = comm.rank % 2 == first
        if kind == "work":
            comm.work(seconds=there * 1e-9 if mine else back * 1e-9)
        elif kind == "swap":
            out, coming = (there, back) if mine else (back, there)
            comm.sendrecv(Phantom(out), partner, Phantom(coming), partner)
        elif not mine:
            comm.recv(Phantom(there), partner)
        elif kind == "send":
            comm.send(Phantom(there), partner)
        else:
            request = comm.isend(Phantom(there), partner)
            comm.work(seconds=back * 1e-9)
            request.wait()
    return comm.now()


def ends(network, seed, ranks=RANKS, **machine):
    run = simulate(program, ranks, network=network, machine=Machine(**machine), seed=seed)
    return run.results


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("eager", [float("inf"), EAGER], ids=["eager", "some wait"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.sampled(4)
def test_pairs_that_disturb_nobody_take_one_time_on_every_network(network, eager, seed):
    expected = ends(PLAIN, seed, eager=eager)
    assert len({*expected}) > RANKS // 4
    assert ends(network, seed, eager=eager) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_one_pair_has_a_bus_for_itself(seed):
    bus = SharedBus(2, **{**COSTS, "bandwidth": 4e9})
    one_way = [step for step in steps_of(seed, 0) if step[0] != "swap"]

    def alone(comm):
        for _, first, nbytes, _ in one_way:
            if comm.rank == first:
                comm.send(Phantom(nbytes), 1 - first)
                comm.recv(Phantom(0), 1 - first)
            else:
                comm.recv(Phantom(nbytes), first)
                comm.send(Phantom(0), first)
        return comm.now()

    plain = Uniform(3e-6, 4e9, 4e-7)
    expected = simulate(alone, 2, network=plain).results
    assert simulate(alone, 2, network=bus).results == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("network", "arrivals"),
    [(Uniform(1e-6, 1e10), [101, 201, 301, 401]), (Star(5), [401, 401, 401, 401])],
    ids=["in order", "side by side"],
)
def test_what_leaves_one_rank_at_once_is_the_documented_difference(network, arrivals):
    def fan_out(comm):
        if comm.rank == 0:
            for request in [comm.isend(Phantom(10**6), other) for other in range(1, 5)]:
                request.wait()
        else:
            comm.recv(Phantom(10**6), 0)
        return comm.now() * 1e6

    assert simulate(fan_out, 5, network=network).results[1:] == pytest.approx(arrivals)
