"""Neighbours, real and simulated: the mean is kept, and they agree as fast as predicted."""

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_teach import simulate
from ddl_teach.theory.gossip import contraction, graphs, mixing
from ddl_teach.training.compression.deep_gradient_compression import DeepGradientCompression
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.feedback import Feedback
from ddl_teach.training.compression.half import Half
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.threshold import Threshold
from ddl_teach.training.compression.top_k import TopK
from ddl_teach.training.consistency.asynchronous_gossip import AsynchronousGossip
from ddl_teach.training.consistency.compressed_gossip import CompressedGossip
from ddl_teach.training.consistency.gossip import Gossip
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.consistency.push_sum import PushSum
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.neighbours import Neighbours, mix
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.quadratic import Quadratic
from ddl_teach.training.trainer import train

RANKS = (1, 2, 3, 4, 5, 8)
MIXED = (
    graphs.ring, graphs.torus, graphs.exponential, graphs.one_peer_exponential, graphs.random,
    graphs.star,
)  # fmt: skip
LOSSY = (OneBit(), TopK(0.1), QSGD(), Threshold(0.5), Half())
SIZE, STEPS = 23, 6
SLOPES = tuple(np.linspace(0.1, 1.0, SIZE))


def own(rank):
    return np.random.default_rng([7, rank]).standard_normal(SIZE)


def shares_of_a_star(ranks):
    return mixing.mixing_matrix(graphs.star(ranks), weights=mixing.equal_shares)


def gossip(comm):
    """Every rank's vector after some steps of each kind; and the bytes that mixing sends."""
    found = {}
    for make in MIXED:
        for compressor in (Dense(), Half()):
            vector = own(comm.rank)
            handle = Neighbours(make).open(comm, vector, compressor, Service())
            before, _ = comm.ledger.since(0)
            for step in range(STEPS):
                handle.mix(vector, step)
            after, _ = comm.ledger.since(0)
            found[make.__name__, compressor] = vector, after - before
    vector = own(comm.rank)
    mix(comm, vector, shares_of_a_star(comm.size))
    found["by matrix"] = (vector,)
    for compressor in LOSSY:
        vector = own(comm.rank)
        handle = Neighbours(graphs.ring).open(comm, np.zeros(SIZE), compressor, Service())
        for step in range(STEPS):
            handle.mix_changes(vector, step, pull=0.1)
        found["changes", compressor] = vector
    vector, mass = own(comm.rank), 1.0
    handle = Neighbours(graphs.directed).open(comm, vector, Dense(), Service())
    for step in range(200):
        mass = handle.push_sum(vector, mass, step)
    found["push-sum"] = vector, mass
    for make in (graphs.ring, graphs.random, graphs.one_peer_exponential):
        vector = own(comm.rank)
        handle = Neighbours(make).open(comm, vector, Dense(), Service())
        meetings = handle.meetings(vector, 30, seed=1, ahead=2)
        for step in range(30):
            meetings.during(step, lambda _: None)
        meetings.end()
        found["meetings", make.__name__] = vector
    return found


@pytest.fixture(scope="module", params=RANKS)
def both(request, pool):
    """The same program on real and on simulated ranks."""
    ranks = request.param
    return pool.run(gossip, ranks).results, simulate(gossip, ranks).results


@pytest.mark.sampled(6)
def test_gossip_keeps_the_mean_and_contracts_as_the_matrix_says(both):
    for results in both:
        ranks = len(results)
        begun = np.stack([own(rank) for rank in range(ranks)])
        ended = np.stack([found["by matrix"][0] for found in results])
        np.testing.assert_allclose(ended, shares_of_a_star(ranks) @ begun, atol=1e-13)
        for make in MIXED:
            graph, expected = make(ranks), begun
            for step in range(STEPS):
                expected = mixing.mixing_matrix(graph, step) @ expected
            ended = np.stack([found[make.__name__, Dense()][0] for found in results])
            np.testing.assert_allclose(ended, expected, atol=1e-13)
            if len(graph.rounds) == 1:
                bound = contraction.second_eigenvalue(graph) ** STEPS
                left = contraction.consensus_error(ended)
                assert left <= bound * contraction.consensus_error(begun) + 1e-13
            ended = np.stack([found[make.__name__, Half()][0] for found in results])
            np.testing.assert_allclose(ended.mean(axis=0), begun.mean(axis=0), atol=1e-13)
            np.testing.assert_allclose(ended, expected, atol=0.01)
            for rank, found in enumerate(results):
                for compressor, itemsize in ((Dense(), 8), (Half(), 2)):
                    assert found[make.__name__, compressor][1] == sum(
                        SIZE * itemsize * len(graph.sends_to(rank, step)) for step in range(STEPS)
                    )


@pytest.mark.sampled(2)
def test_the_mean_is_kept_in_every_form_and_by_every_kind_of_meeting(both):
    for place, results in enumerate(both):
        ranks = len(results)
        begun = np.stack([own(rank) for rank in range(ranks)])
        kinds = [key for key in results[0] if key[0] in ("changes", "meetings")]
        assert len(kinds) == len(LOSSY) + 3
        for kind in kinds:
            ended = np.stack([found[kind] for found in results])
            np.testing.assert_allclose(ended.mean(axis=0), begun.mean(axis=0), atol=1e-12)
            if kind[0] == "meetings":
                # On real ranks the clock decides in which order they meet.
                closer = 0.02 if place == 1 else 1.0
                left, apart = (contraction.consensus_error(each) for each in (ended, begun))
                assert left < closer * apart or ranks == 1
            elif ranks > 1:
                assert not np.allclose(ended[0], begun[0])


def test_push_sum_finds_the_mean_where_plain_gossip_cannot(both):
    for results in both:
        mean = np.mean([own(rank) for rank in range(len(results))], axis=0)
        vectors, masses = zip(*(found["push-sum"] for found in results), strict=True)
        assert sum(masses) == pytest.approx(len(results))
        for vector, mass in zip(vectors, masses, strict=True):
            np.testing.assert_allclose(vector / mass, mean, atol=1e-9)
        np.testing.assert_allclose(np.mean(vectors, axis=0), mean, atol=1e-12)
        if len(results) in (5, 8):
            assert max(masses) > 1.2  # without the division somebody would be off by that


def test_simulated_and_real_ranks_give_the_same_bits(both):
    for real, simulated in zip(*both, strict=True):
        for key, found in real.items():
            if key[0] == "meetings":
                continue  # whose order is decided by the clock
            one, other = (each[0] if isinstance(each, tuple) else each
                          for each in (found, simulated[key]))  # fmt: skip
            np.testing.assert_array_equal(one, other)


def trained(
    ranks, consistency, make, compressor=Dense(), task=Quadratic(SLOPES, apart=1.0), **settings
):
    run = simulate(
        train, ranks, task=task, consistency=consistency, distribution=Neighbours(make),
        compressor=compressor,
        **{"update": SGD(0.2), "steps": 30} | settings,
    )  # fmt: skip
    return np.stack([result.weights for result in run.results])


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(2)
def test_on_a_bowl_the_mean_of_all_ranks_makes_the_steps_of_synchronous_descent(ranks):
    settings = {"task": Quadratic(SLOPES, apart=1.0, noise=0.3), "steps": 30}
    twin = simulate(
        train,
        ranks,
        consistency=Synchronous(),
        distribution=AllReduce(),
        update=SGD(0.2),
        **settings,
    )
    whole = twin.results[0].weights
    for make in (graphs.ring, graphs.one_peer_exponential, graphs.random):
        ours = trained(ranks, Gossip(), make, **settings)
        np.testing.assert_allclose(ours.mean(axis=0), whole, atol=1e-12)
        assert ranks < 5 or contraction.consensus_error(ours) > 1e-3
    for compressor in (Dense(), OneBit(), TopK(0.1)):
        ours = trained(ranks, CompressedGossip(), graphs.ring, compressor, **settings)
        np.testing.assert_allclose(ours.mean(axis=0), whole, atol=1e-6)


@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_compressed_gossip_in_a_form_that_loses_nothing_is_gossip(ranks):
    plain = trained(ranks, Gossip(), graphs.ring)
    same = trained(ranks, CompressedGossip(pull=1.0), graphs.ring)
    np.testing.assert_allclose(same, plain, atol=1e-12)


@pytest.mark.parametrize(
    ("consistency", "make"), [(PushSum(), graphs.directed), (AsynchronousGossip(), graphs.ring)]
)
@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
@pytest.mark.sampled(2)
def test_push_sum_and_asynchronous_gossip_come_near_the_minimum(ranks, consistency, make):
    task = Quadratic(SLOPES, noise=0.05)
    weights = trained(ranks, consistency, make, task=task, steps=100)
    assert all(task.accuracy(own) > 0.97 for own in weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "ranks"),
    [(graphs.ring, 64), (graphs.torus, 144), (graphs.exponential, 128),
     (graphs.one_peer_exponential, 128)],
)  # fmt: skip
@pytest.mark.sampled(2)
def test_noise_keeps_hundreds_of_ranks_as_far_apart_as_the_eigenvalues_say(make, ranks):
    """Each mixes, then adds noise: what is left of it is older than the others can have taken."""
    graph = make(ranks)
    settled = 7 * len(graph.rounds) if len(graph.rounds) > 1 else 40
    size = 64
    noise = np.random.default_rng(3).standard_normal((settled, ranks, size))

    def run(comm):
        vector = np.zeros(size)
        handle = Neighbours(make).open(comm, vector, Dense(), Service())
        for step in range(settled):
            handle.mix(vector, step)
            vector += noise[step, comm.rank]
        return vector

    measured = contraction.consensus_error(simulate(run, ranks, trace=False).results)
    # A ring of 64 has not settled after 40 steps: sum over the ages that there were.
    ages = contraction.expected_errors(graph, settled - 1, last=True)
    so_far = np.sqrt(size * (ages**2).sum() * (ranks - 1) / ranks)
    assert measured == pytest.approx(so_far, rel=0.03)
    if contraction.second_eigenvalue(graph) < 0.95:
        expected = contraction.disagreement(graph, np.sqrt(size))
        assert measured == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("slow", [3, 4], ids=["who is asked", "who asks"])
def test_a_straggler_holds_up_synchronous_gossip_and_not_the_asynchronous(slow):
    pace = {"pace": lambda worker, step: 1.0 if worker == slow else 0.1, "steps": 20}
    settings = {
        "task": Quadratic(SLOPES),
        "distribution": Neighbours(graphs.ring),
        "update": SGD(0.1),
    }
    ended = {
        consistency: [
            result.seconds[-1]
            for result in simulate(train, 16, consistency=consistency, **settings, **pace).results
        ]
        for consistency in (Gossip(), AsynchronousGossip(), AsynchronousGossip(ahead=np.inf))
    }
    # Even the rank furthest away waits for it, but for the steps that news need to get there.
    assert min(ended.pop(Gossip())) > 10
    for seconds in ended.values():
        assert max(np.delete(seconds, slow)) < 3


def test_whoever_averages_in_pairs_without_an_order_waits_in_a_circle():
    def careless(comm):
        mine, theirs = np.ones(1000), np.empty(1000)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        comm.send(mine, right)
        comm.recv(theirs, right)  # the right one waits for its own right one
        comm.recv(theirs, left)
        comm.send(mine, left)

    with pytest.raises(Deadlock):
        simulate(careless, 3)


def test_what_makes_no_sense_is_refused_with_a_way_out():
    def attempt(consistency, make=graphs.ring, compressor=Dense(), ranks=8):
        simulate(
            train,
            ranks,
            task=Quadratic(SLOPES),
            consistency=consistency,
            distribution=Neighbours(make),
            compressor=compressor,
        )

    for consistency, make, compressor, words in (
        (Gossip(), graphs.directed, Dense(), "push-sum"),
        (Gossip(), graphs.ring, OneBit(), "Take Dense"),
        (CompressedGossip(), graphs.one_peer_exponential, OneBit(), "one round only"),
        (CompressedGossip(), graphs.ring, Feedback(TopK(0.1)), "take the compressor without it"),
        (CompressedGossip(), graphs.ring, DeepGradientCompression(0.1), "compressor without it"),
    ):
        with pytest.raises(Exception, match=words):
            attempt(consistency, make, compressor)
    with pytest.raises(TypeError, match=r"Neighbours\(graphs.ring\)"):
        Neighbours("ring")
    with pytest.raises(Exception, match="has 4 ranks, but there are 8: make it for 8"):
        attempt(Gossip(), lambda ranks: graphs.ring(4))
    with pytest.raises(ValueError, match="above zero and at most 1, not 0"):
        CompressedGossip(pull=0)
    with pytest.raises(ValueError, match="0 or more, not -1"):
        AsynchronousGossip(ahead=-1)
