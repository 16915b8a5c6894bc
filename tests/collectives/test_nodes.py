"""Collectives on nodes of unequal sizes, and the all-reduces that others stand behind."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import vectors
from grounds import algorithms, on_all_counts

from ddl_measure.experiments.choosing import allreduces
from ddl_runtime.core.communicator import BACKGROUND_SLOTS
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import auto, background, hierarchical, leaders, registry
from ddl_teach.comm import RankFailed
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link

INSIDE, BETWEEN = Uniform(1e-7, 4e10), Uniform(3e-6, 1e10)


@dataclass(frozen=True)
class Nodes(TwoLevel):
    """Ranks on nodes in any way: `places[r]` is the node of rank r."""

    places: tuple[int, ...] = ()

    def node(self, rank):
        return self.places[rank]


def nodes(*places):
    return Nodes(1, INSIDE, BETWEEN, places=places)


NETWORKS = {
    "last node short": (8, TwoLevel(3, INSIDE, BETWEEN)),
    "one node alone": (5, TwoLevel(4, INSIDE, BETWEEN)),
    "one large": (7, nodes(0, 1, 1, 1, 1, 1, 2)),
    "in turn": (7, nodes(0, 1, 2, 0, 1, 2, 0)),
    "numbers with holes": (6, nodes(9, 9, 4, 9, 4, 70)),
    "all on one": (5, nodes(3, 3, 3, 3, 3)),
    "each on its own": (6, nodes(5, 4, 3, 2, 1, 0)),
}
EVERYWHERE = [name for name in registry.names() if name != "native"]
BEFOREHAND = [
    name for name in EVERYWHERE if name not in ("leaders", "hierarchical", "auto", "shared_memory")
]


@pytest.fixture(params=NETWORKS)
def network(request):
    return NETWORKS[request.param]


def total(ranks, length=100):
    return np.arange(length) * ranks + ranks * (ranks - 1) // 2


@pytest.mark.parametrize("algorithm", EVERYWHERE)
def test_an_allreduce_is_the_sum_on_whatever_nodes(network, algorithm):
    def program(comm, algorithm):
        x = np.arange(100) + comm.rank
        registry.get(algorithm).allreduce(comm, x)
        return vectors.same(x, total(comm.size))

    run = simulate(program, network[0], network=network[1], algorithm=algorithm)
    assert all(run.results)


@pytest.mark.parametrize(
    ("by", "name", "form"),
    [
        (leaders, "levels", leaders.split_by_node),
        (hierarchical, "groups", hierarchical.form_groups),
    ],
    ids=["leaders", "parts"],
)
@pytest.mark.parametrize("algorithm", EVERYWHERE)
@pytest.mark.sampled(3)
def test_every_allreduce_may_stand_between_the_nodes_and_use_the_groups_again(
    network, algorithm, by, name, form
):
    def program(comm, algorithm):
        formed = {name: form(comm)}
        between = registry.get(algorithm).allreduce
        for _ in range(2):
            x = np.arange(100) + comm.rank
            by.allreduce(comm, x, between=between, **formed)
            assert vectors.same(x, total(comm.size))
        return x.sum()

    run = simulate(program, network[0], network=network[1], algorithm=algorithm)
    assert len(set(run.results)) == 1


def test_every_rank_may_be_the_root(network):
    def program(comm):
        for root in range(comm.size):
            x = np.arange(100) + comm.rank
            leaders.broadcast(comm, x, root)
            assert vectors.same(x, np.arange(100) + root)
            x = np.arange(100) + comm.rank
            leaders.reduce(comm, x, root)
            assert comm.rank != root or vectors.same(x, total(comm.size))

    simulate(program, network[0], network=network[1])


def test_unless_told_otherwise_rank_0_is_the_root():
    def program(comm):
        right = []
        for algorithm in (leaders, registry.get("tree"), registry.get("linear")):
            x = np.arange(100) + comm.rank
            algorithm.reduce(comm, x)
            right.append(comm.rank > 0 or vectors.same(x, total(comm.size)))
            x = np.arange(100) + comm.rank
            algorithm.broadcast(comm, x)
            right.append(vectors.same(x, np.arange(100)))
        return right

    assert simulate(program, 4, network=TwoLevel(2)).results == [[True] * 6] * 4


def test_only_one_rank_of_each_node_sends_to_others_and_no_more_than_the_leaders_must(network):
    ranks, places = network
    nbytes = 840 * 8

    def program(comm):
        leaders.allreduce(comm, Phantom(nbytes))

    run = simulate(program, ranks, network=places)
    count, outside = len({places.node(rank) for rank in range(ranks)}), sent_outside(run, places)
    senders = [rank for rank in range(ranks) if outside[rank]]
    assert len({places.node(rank) for rank in senders}) == len(senders) == count * (count > 1)
    assert sum(outside) == 2 * (count - 1) * nbytes


def sent_outside(run, places):
    """The bytes that each rank has sent to other nodes, without those that formed the groups."""
    return [
        sum(
            message.bytes
            for message in ledger.messages
            if message.kind == "host"
            and message.bytes > 8
            and places.node(message.peer) != places.node(rank)
        )
        for rank, ledger in enumerate(run.ledger)
    ]


def test_by_parts_as_many_of_each_node_send_to_others_as_the_smallest_has_ranks(network):
    ranks, places = network
    nbytes = 840 * 8

    def program(comm):
        hierarchical.allreduce(comm, Phantom(nbytes, 8))

    outside = sent_outside(simulate(program, ranks, network=places), places)
    sizes = Counter(map(places.node, range(ranks)))
    senders = Counter(places.node(rank) for rank in range(ranks) if outside[rank])
    assert senders == {node: min(sizes.values()) for node in sizes if len(sizes) > 1}
    assert sum(outside) == 2 * (len(sizes) - 1) * nbytes


def on_one_node(comm, algorithm):
    """What nodes are asked for: twice, and beside the program."""
    allreduce = registry.get(algorithm).allreduce
    for _ in range(2):
        allreduce(comm, np.ones(100))
    for _ in range(BACKGROUND_SLOTS + 2):
        comm.background(allreduce, np.ones(100_000)).wait()
    memory = comm.shared_memory(8)
    memory.parts[comm.rank][:] = comm.rank
    memory.fence()
    return [int(part[0]) for part in memory.parts]


@pytest.mark.parametrize("algorithm", ["leaders", "hierarchical", "shared_memory"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(10)
def test_on_one_node_real_and_simulated_ranks_send_the_same_messages(real, ranks, algorithm):
    measured = real(on_one_node, ranks, algorithm=algorithm)
    simulated = simulate(on_one_node, ranks, network=TwoLevel(ranks), algorithm=algorithm)
    assert measured.results == simulated.results == [list(range(ranks))] * ranks
    assert measured.ledger == simulated.ledger


# -- auto -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Favourite:
    """A model that expects one algorithm to be the fastest."""

    name: str

    def predict(self, algorithm, ranks, nbytes):
        return 1.0 if algorithm == self.name else 2.0


@on_all_counts
@pytest.mark.sampled(3)
def test_auto_does_what_rank_0s_model_says(ground, ranks):
    def sends(comm, allreduce, **kwargs):
        before = len(comm.ledger.messages)
        x = np.arange(100) + comm.rank
        allreduce(comm, x, **kwargs)
        assert vectors.same(x, total(comm.size))
        return [m for m in comm.ledger.messages[before:] if m.bytes > 1]  # the choice is one byte

    def program(comm):
        for name in auto.PREDICTABLE:
            mine = Favourite((name, "linear", "tree")[comm.rank % 3])  # others believe in others
            chosen = sends(comm, auto.allreduce, model=mine)
            assert chosen == sends(comm, registry.get(name).allreduce), name

    ground.run(program, ranks)


@pytest.mark.parametrize("nbytes", [0, 1, 1000, 10**6, 10**9])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 300])
def test_the_choice_is_the_shortest_prediction_and_says_so(ranks, nbytes):
    choice = auto.choose(ranks, nbytes)
    assert choice.seconds == min(choice.predictions.values())
    assert next(iter(choice.predictions)) == choice.algorithm
    assert set(choice.predictions) == set(auto.PREDICTABLE)
    assert f"{choice.algorithm} for {nbytes:,} bytes on {ranks} ranks" in str(choice)


def test_of_two_ways_the_other_is_named_with_its_time():
    choice = auto.choose(8, 1000, Favourite("tree"), ("tree", "ring"))
    assert "while ring would take 2" in str(choice)
    assert "2.00 times that" in str(choice)


def test_where_nothing_takes_time_no_way_is_faster():
    assert "1.00 times that" in str(auto.choose(1, 1000))
    assert "times that" not in str(auto.choose(8, 1000, Favourite("tree"), ("tree",)))


def test_a_choice_says_which_model_it_is_from():
    assert "(according to Favourite(name='tree'))" in str(auto.choose(8, 1000, Favourite("tree")))


@pytest.mark.parametrize("nbytes", [8, 2**20])
def test_auto_without_a_model_does_what_is_chosen_for_the_vector_s_bytes(nbytes):
    def sent(allreduce):
        return simulate(lambda comm: allreduce(comm, Phantom(nbytes)), 8).ledger

    choice = auto.choose(8, nbytes).algorithm
    assert sent(auto.allreduce) == sent(registry.get(choice).allreduce)
    assert choice == {8: "linear", 2**20: "rabenseifner"}[nbytes]  # by latency, by bandwidth


class Nothing:
    def predict(self, algorithm, ranks, nbytes):
        return math.nan


@pytest.mark.parametrize(
    ("model", "names"),
    [(Nothing(), auto.PREDICTABLE), (Favourite("ring"), ())],
    ids=["no prediction", "no algorithm"],
)
def test_there_must_be_something_to_choose_from(model, names):
    with pytest.raises(ValueError, match="there must be some, and none below 0"):
        auto.choose(4, 100, model, names)


def by_its_own_timetable(comm):
    """The choices of all sizes by every rank's own table, and whether auto's sums are right."""
    short = (2**11, 2**13)
    model = allreduces.timetable(comm, short)
    right = []
    for nbytes in (4, *short, 3 * 2**11):
        x = np.full(nbytes // 4, comm.rank + 1.0, np.float32)
        before = len(comm.ledger.messages)
        auto.allreduce(comm, x, model=model)
        asked = [m for m in comm.ledger.messages[before:] if m.bytes == 1]
        right.append((x == comm.size * (comm.size + 1) / 2).all() and not asked)
    sizes = (4, *short, 3 * 2**11, 2**20)
    chosen = [auto.choose(comm.size, n, model, model.algorithms).algorithm for n in sizes]
    return chosen, all(right)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.sampled(3)
def test_a_timetable_is_the_same_on_all_ranks_and_none_asks_another(ground, ranks):
    results = ground.run(by_its_own_timetable, ranks).results
    assert all(right for _, right in results)
    assert all(chosen == results[0][0] for chosen, _ in results)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("nbytes", [15 * 2**7, 15 * 2**16])
@pytest.mark.parametrize("name", ["recursive_doubling", "rabenseifner", "ring"])
def test_a_simulated_timetable_has_the_times_of_the_formulas(ranks, nbytes, name):
    """Whatever the ranks did before: they all begin together."""
    link = Link(5e-5, 1e-8, 1e-10)
    run = partial(simulate, network=link.network, machine=Machine(reduce_bandwidth=1e10))
    table = run(allreduces.timetable, ranks, sizes=(nbytes,)).results[0]
    expected = formula(name)(ranks, nbytes, link)
    assert table.predict(name, ranks, nbytes) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("x", [[1.0], "text"], ids=str)
def test_auto_refuses_what_no_algorithm_takes(x):
    with pytest.raises(RankFailed, match=f"a {type(x).__name__} cannot travel"):
        simulate(auto.allreduce, 2, x=x)


def test_a_timetable_predicts_along_the_line_between_two_sizes():
    table = allreduces.Timetable(
        2, ("tree", "ring"), (100, 300), np.array([[1.0, 5.0], [3.0, 4.0]])
    )
    assert [table.predict("tree", 2, n) for n in (50, 100, 200, 400)] == [1.0, 1.0, 2.0, 3.0]
    assert auto.choose(2, 150, table, table.algorithms).algorithm == "tree"
    with pytest.raises(ValueError, match="of 2 ranks, not of 4; measure"):
        auto.choose(4, 150, table, table.algorithms)


# -- in the background ----------------------------------------------------------------------


@on_all_counts
@pytest.mark.sampled(3)
def test_an_allreduce_in_the_background_is_the_sum(ground, ranks):
    def program(comm, names):
        begun = []
        for name in names:
            x = np.arange(100) + comm.rank
            begun.append((x, background.allreduce(comm, x, algorithm=name)))
        comm.work(seconds=1e-4)
        for x, request in reversed(begun):
            request.wait()
            assert vectors.same(x, total(comm.size))

    names = set(algorithms(ground.name, "allreduce")) - {"native", "auto"}
    ground.run(program, ranks, names=sorted(names))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", BEFOREHAND)
@pytest.mark.sampled(3)
def test_work_hides_an_allreduce_on_unequal_nodes(network, algorithm):
    def program(comm, seconds, algorithm):
        for _ in range(BACKGROUND_SLOTS):  # at the first ones they meet
            background.allreduce(comm, Phantom(0), algorithm=algorithm).wait()
        comm.work(seconds=1 - comm.now())
        request = background.allreduce(comm, Phantom(840_000), algorithm=algorithm)
        comm.work(seconds=seconds)
        request.wait()

    ranks, places = network

    def time(seconds):
        run = simulate(
            program, ranks, network=places, trace=False, seconds=seconds, algorithm=algorithm
        )
        return run.time - 1

    alone = time(0.0)
    for seconds in (alone / 3, 3 * alone):
        assert time(seconds) == pytest.approx(max(alone, seconds), rel=1e-9)


def test_an_unknown_algorithm_is_refused_before_anybody_waits(ground):
    def program(comm):
        with pytest.raises(ValueError, match="did you mean 'ring'"):
            background.allreduce(comm, np.zeros(3), algorithm="rign")
        comm.barrier()

    ground.run(program, 3)
