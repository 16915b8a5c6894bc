"""All-reduces for given networks: along rows and columns, and in the fewest steps."""

from itertools import pairwise

import numpy as np
import pytest

from ddl_runtime.topologies.direct_links import DirectLinks
from ddl_runtime.topologies.hamming_mesh import HammingMesh
from ddl_runtime.topologies.torus import Torus
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import fewest_steps, hierarchical
from ddl_teach.comm import split_evenly
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link

LATENCY, BANDWIDTH = 1e-6, 1e9


@pytest.fixture(params=["simulated", "real"])
def run(request):
    return simulate if request.param == "simulated" else request.getfixturevalue("real")


def own(rank):
    return np.random.default_rng(rank).integers(-99, 99, 37).astype(float)


def assert_sums(results, ranks):
    total = sum(map(own, range(ranks))).tolist()
    assert [result.tolist() for result in results] == [total] * ranks


def timed(comm, sizes, n):
    """How long rings along rows and columns take, once the groups are there."""
    row, column = comm.split(comm.rank // sizes[1]), comm.split(comm.rank % sizes[1])
    comm.barrier()
    before = comm.now()
    groups = hierarchical.Groups(row, sizes[1], row, column)
    hierarchical.allreduce(comm, Phantom(n), groups=groups)
    return comm.now() - before


@pytest.mark.parametrize(
    ("network", "sizes"),
    [
        (Torus((3, 4), base_latency=LATENCY, bandwidth=BANDWIDTH), (3, 4)),
        (Torus((5, 5), base_latency=LATENCY, bandwidth=BANDWIDTH), (5, 5)),
        (HammingMesh((2, 2), base_latency=LATENCY, bandwidth=BANDWIDTH), (4, 4)),
        (HammingMesh((3, 1), (2, 3), base_latency=LATENCY, bandwidth=BANDWIDTH), (6, 3)),
    ],
    ids=["torus", "odd torus", "mesh", "long mesh"],
)
def test_rings_along_rows_and_columns_take_what_the_formula_says(network, sizes):
    n, link = 1000 * network.hosts**2, Link(LATENCY, 1 / BANDWIDTH)
    times = simulate(timed, network.hosts, network=network, sizes=sizes, n=n, trace=False).results
    predicted = formula("ring")(sizes[1], n, link) + formula("ring")(sizes[0], n / sizes[1], link)
    assert max(times) == pytest.approx(predicted, rel=1e-9)


# -- the fewest steps --------


def ring(ranks):
    return tuple((rank, (rank + 1) % ranks, 1) for rank in range(ranks if ranks > 2 else 1))


def cube(dimensions):
    pairs = ((rank, rank ^ 1 << bit) for rank in range(2**dimensions) for bit in range(dimensions))
    return tuple((a, b, 1) for a, b in pairs if a < b)


# The first DGX-1 with V100: 8 GPUs with 6 links each.
DGX_1 = (
    (0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2),
    (2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2),
)  # fmt: skip
NETWORKS = {  # cables, and the fewest steps
    "two": (ring(2), 1),
    "ring of 3": (ring(3), 1),
    "ring of 5": (ring(5), 2),
    "ring of 6": (ring(6), 3),
    "line of 4": (tuple((a, b, 1) for a, b in pairwise(range(4))), 3),
    "cube of 8": (cube(3), 3),
    "DGX-1": (DGX_1, 2),  # Cai et al. (2021) have the same number
    "star": (tuple((0, leaf, 1) for leaf in range(1, 5)), 4),  # a leaf takes 4 chunks from one
    "star of unequal cables": (((0, 1, 3), (0, 2, 1), (0, 3, 2)), 3),
}


def laws(schedule, links):
    """A chunk is sent from where it is, over a cable, not more at a time than this is wide; each
    rank gets each once."""
    ranks = 1 + max(rank for link in links for rank in link)
    has = {(rank, rank) for rank in range(ranks)}
    for step in schedule:
        assert all((chunk, source) in has for chunk, source, _ in step)
        for link, width in links.items():
            assert sum(message[1:] == link for message in step) <= width
        assert {message[1:] for message in step} <= set(links)
        came = [(chunk, dest) for chunk, _, dest in step]
        assert len(set(came)) == len(came)
        assert not has & set(came)
        has |= set(came)
    assert len(has) == ranks**2


@pytest.mark.parametrize("name", NETWORKS)
def test_the_schedule_is_valid_and_no_shorter_one_is_possible(name):
    cables, steps = NETWORKS[name]
    links = DirectLinks(cables).widths
    schedule = fewest_steps.fewest_steps(links)
    assert len(schedule) == steps
    laws(schedule, links)
    assert steps == 1 or fewest_steps.schedule_of(links, steps - 1) is None


def all_three(comm, schedule):
    gathered = np.zeros(37)
    split_evenly(gathered, comm.size)[comm.rank][:] = split_evenly(own(9), comm.size)[comm.rank]
    fewest_steps.allgather(comm, gathered, schedule=schedule)
    scattered = fewest_steps.reduce_scatter(comm, own(comm.rank), schedule=schedule).copy()
    summed = own(comm.rank)
    fewest_steps.allreduce(comm, summed, schedule=schedule)
    return gathered, scattered, summed


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_the_schedule_gathers_and_adds_up_everywhere(run, ranks):
    schedule = fewest_steps.fewest_steps(DirectLinks(ring(ranks)).widths)
    gathered, scattered, summed = zip(
        *run(all_three, ranks, schedule=schedule).results, strict=True
    )
    assert all(result.tolist() == own(9).tolist() for result in gathered)
    assert np.concatenate(scattered).tolist() == sum(map(own, range(ranks))).tolist()
    assert_sums(summed, ranks)


@pytest.mark.parametrize("name", ["DGX-1", "star of unequal cables", "cube of 8"])
def test_on_its_own_network_each_step_takes_a_chunk(name):
    cables, steps = NETWORKS[name]
    network = DirectLinks(cables, base_latency=LATENCY, bandwidth=BANDWIDTH)

    def gather(comm):
        fewest_steps.allgather(comm, Phantom(10**6 * comm.size), schedule=schedule)

    schedule = fewest_steps.fewest_steps(network.widths)
    time = simulate(gather, network.hosts, network=network, trace=False).time
    assert time <= steps * (LATENCY + 10**6 / BANDWIDTH) * (1 + 1e-9)


def test_a_rank_without_a_cable_is_refused():
    with pytest.raises(ValueError, match="out of reach"):
        fewest_steps.fewest_steps({(0, 1): 1, (1, 0): 1, (2, 0): 1})
