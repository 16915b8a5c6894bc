"""Symmetric runs: equal to those of all ranks to the last bit, or refused with the line."""

import random
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from ddl_runtime.core.each_rank import EachRank, RankCount, RanksDiffer
from ddl_runtime.diagnosis.deadlock import Deadlock, DiagnosedError
from ddl_runtime.topologies.shared_links import Star
from ddl_teach import ANY, Phantom, simulate
from ddl_teach.collectives import registry
from ddl_teach.comm import Machine, TwoLevel, Uniform

SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 256)
POWERS = tuple(size for size in SIZES if not size & (size - 1))
ALIKE = {  # what runs on any number of ranks, and what does on powers of two
    "ring": (("allreduce", "reduce_scatter", "allgather"), SIZES),
    "pairwise": (("alltoall",), SIZES),
    "bruck": (("allgather", "alltoall"), SIZES),
    "pat": (("reduce_scatter", "allgather"), SIZES),
    "dissemination": (("barrier",), (*SIZES, 1024)),
    "recursive_doubling": (("allreduce", "allgather"), (*POWERS, 1024)),
    "rabenseifner": (("allreduce", "reduce_scatter", "allgather"), (*POWERS, 1024)),
}
RUNS = [
    (algorithm, collective, size)
    for algorithm, (collectives, sizes) in ALIKE.items()
    for collective in collectives
    for size in sizes
]
REFUSED = [
    (algorithm, collective)
    for algorithm in registry.ALGORITHMS
    for collective in registry.offers(algorithm)
    if algorithm != "native" and collective not in ALIKE.get(algorithm, ((),))[0]
]
GROUNDS = {
    "ports": {"network": Uniform(2e-6, 1e9, overhead=3e-7, gap=5e-7)},
    "arithmetic": {"machine": Machine(reduce_bandwidth=1e9)},
    "rendezvous": {"machine": Machine(eager=0)},
    "strict": {"strict": True},
    "one node": {"network": TwoLevel(64)},
    "far nodes": {"network": TwoLevel(1)},
}


def call(comm, algorithm, collective, nbytes=24):
    """A collective of as many blocks as there are ranks."""
    x = Phantom(nbytes * comm.size, 8)
    arrays = {"barrier": (), "alltoall": (x, x), "gather": (x[: nbytes // 8], x)}
    arrays["scatter"] = arrays["gather"][::-1]
    with comm.span(collective):
        registry.function(algorithm, collective)(comm, *arrays.get(collective, (x,)))
    comm.work(nbytes=8, seconds=1e-6)
    comm.barrier()
    return comm.now()


def compare(program, ranks, **given):
    """Run it both ways, and hold what is the same."""
    usual = simulate(program, ranks, **given)
    alike = simulate(program, ranks, symmetric=True, **given)
    assert (alike.time, alike.results) == (usual.time, usual.results)
    assert alike.ledger == usual.ledger[:1]
    assert alike.timeline.of(0) == usual.timeline.of(0)
    assert {tuple(kinds(ledger)) for ledger in usual.ledger} == {tuple(kinds(alike.ledger[0]))}
    assert alike.messages_sent == sum(ledger.messages_sent for ledger in usual.ledger)
    assert alike.bytes_sent == sum(ledger.bytes_sent for ledger in usual.ledger)
    assert alike.bytes_to(0) == usual.bytes_to(0)
    assert repr(alike) == repr(usual)


def kinds(ledger):
    return [message[1:] for message in ledger.messages]


def refusal(program, ranks=8, error=RanksDiffer, **given):
    with pytest.raises(error) as caught:
        simulate(program, ranks, symmetric=True, **given)
    return str(caught.value)


# -- what is the same -----------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "collective", "ranks"), RUNS)
def test_a_collective_is_the_same(algorithm, collective, ranks):
    compare(partial(call, algorithm=algorithm, collective=collective), ranks)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize(("algorithm", "collective"), [run[:2] for run in RUNS if run[2] == 8])
def test_on_every_ground(algorithm, collective, ground):
    compare(partial(call, algorithm=algorithm, collective=collective), 8, **GROUNDS[ground])


@pytest.mark.parametrize("ranks", [2, 8, 32])
def test_between_nodes_if_all_links_of_a_step_are_of_one_kind(ranks):
    def sum_up(comm):
        registry.get("rabenseifner").allreduce(comm, Phantom(64 * comm.size))
        return comm.now()

    compare(sum_up, ranks, network=TwoLevel(ranks // 2))


def swaps(dice, ranks):
    """The two peers of a random exchange, as functions of a communicator."""
    step, mask = dice.randrange(ranks), dice.randrange(ranks)
    there, back = dice.choice(
        [
            (lambda c: (c.rank + step) % c.size, lambda c: (c.rank - step) % c.size),
            (lambda c: (step - c.rank) % c.size, lambda c: (step - c.rank) % c.size),
            (lambda c: c.rank ^ mask, lambda c: c.rank ^ mask),
            (lambda c: c.rank * 3 % c.size, lambda c: c.rank * 11 % c.size),
        ]
    )
    return there, back if dice.random() < 0.95 else there


def random_program(seed, ranks):
    """Exchanges that are under way together, in an order of their own at both ends."""
    dice = random.Random(f"{seed} {ranks}")
    orders = []
    for _ in range(dice.randrange(1, 3)):
        peers = [swaps(dice, ranks) for _ in range(dice.randrange(1, 4))]
        calls = [
            (there, back, dice.randrange(2), dice.choice((8, 8, 64))) for there, back in peers
        ]
        orders.append((calls, dice.sample(range(2 * len(calls)), 2 * len(calls)), dice.random()))

    def program(comm):
        for calls, order, seconds in orders:
            requests = []
            for place in order:
                there, back, tag, nbytes = calls[place // 2]
                if place % 2:
                    requests.append(comm.irecv(Phantom(nbytes), back(comm), tag))
                else:
                    requests.append(comm.isend(Phantom(nbytes), there(comm), tag))
            comm.work(seconds=1e-6 * seconds)
            while requests:
                requests.pop(comm.wait_any(requests) if seconds < 0.5 else 0).wait()
            there, back, tag, nbytes = calls[0]
            comm.sendrecv(Phantom(nbytes), there(comm), Phantom(nbytes), back(comm), tag)
        return comm.now()

    return program


def outcome(program, ranks, **given):
    """What comes of it: clocks and messages, or the error."""
    try:
        run = simulate(program, ranks, **given)
    except DiagnosedError as error:
        return type(error)
    return run.results, kinds(run.ledger[0]), run.timeline.of(0)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("ranks", [2, 4, 5, 16])
def test_a_random_program_is_the_same_or_refused(seed, ranks):
    program, given = random_program(seed, ranks), {"machine": Machine(eager=20 + seed % 2 * 50)}
    alike = outcome(program, ranks, symmetric=True, **given)
    assert alike in (RanksDiffer, outcome(program, ranks, **given))


def test_random_programs_end_in_every_way():
    ends = [outcome(random_program(seed, 16), 16, symmetric=True) for seed in range(60)]
    assert sum(end.__class__ is tuple for end in ends) > 15
    assert {RanksDiffer, Deadlock} <= {end for end in ends if end.__class__ is type}


def test_a_million_ranks():
    run = simulate(lambda comm: comm.barrier() or comm.rank // 2, 2**20, symmetric=True)
    assert run.time == pytest.approx(20 * Uniform().latency)
    assert run.results[:5] == [0, 0, 1, 1, 2]
    assert run.messages_sent == 20 * 2**20


# -- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "collective"), REFUSED)
def test_a_collective_whose_ranks_do_different_things_is_refused(algorithm, collective):
    refusal(partial(call, algorithm=algorithm, collective=collective))


@pytest.mark.parametrize("algorithm", ["recursive_doubling", "rabenseifner"])
def test_no_power_of_two_is_refused_where_ranks_are_folded(algorithm):
    text = refusal(partial(call, algorithm=algorithm, collective="allreduce"), 6)
    assert "folding.py" in text
    assert "in call" in text


def up(comm):
    return (comm.rank + 1) % comm.size


def down(comm):
    return (comm.rank - 1) % comm.size


def swap(comm, to, source, x=None, y=None):
    comm.sendrecv(Phantom(8) if x is None else x, to, Phantom(8) if y is None else y, source)


def crossing(comm):
    requests = [comm.isend(Phantom(8), up(comm)), comm.isend(Phantom(8), comm.rank ^ 1)]
    requests += [comm.irecv(Phantom(8), down(comm)), comm.irecv(Phantom(8), comm.rank ^ 1)]
    for request in requests:
        request.wait()


def caught(comm):
    with suppress(RuntimeError):
        comm.send(Phantom(8), 1 if comm.rank == 0 else 0)


DIFFERENT = {
    "a branch": (lambda c: c.rank or 5, "a branch differs between ranks 0 and 1"),
    "a comparison": (lambda c: c.rank < 3, "a comparison differs between ranks 0 and 3"),
    "a comparison that was caught": (caught, "a comparison differs between ranks 0 and 1"),
    "an index": (lambda c: [*range(c.size)][c.rank], "as an index or a count"),
    "a count": (lambda c: range(c.rank), "as an index or a count"),
    "a key": (lambda c: {0: 1}.get(c.rank), "text or a key"),
    "a text": (lambda c: f"{c.rank}", "text or a key"),
    "a fraction": (lambda c: c.work(0.1 * c.rank), "0.1"),
    "one peer for all": (lambda c: swap(c, 3, 3), "8 ranks name rank 3"),
    "one peer for two": (lambda c: swap(c, c.rank // 2, up(c)), "2 ranks name rank 0"),
    "no such rank": (lambda c: swap(c, c.rank + 1, down(c)), "rank 8, which does not exist"),
    "any peer": (lambda c: c.recv(Phantom(8), ANY), "from ANY"),
    "crossing": (crossing, "which of two messages comes first differs"),
    "sizes": (lambda c: swap(c, up(c), down(c), Phantom(64)[c.rank :]), "different sizes"),
    "sizes of parts": (
        lambda c: registry.get("ring").allreduce(c, Phantom(9)), "an array's parts"
    ),
    "data": (lambda c: swap(c, up(c), down(c), np.ones(1), np.ones(1)), "has data"),
    "a group": (lambda c: c.split(0), "'split'"),
    "background": (lambda c: c.background(swap), "'duplicate'"),
    "a window": (lambda c: c.window(3), "'window'"),
    "an end": (lambda c: c.die(), "'die'"),
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_ranks_do_differently_is_refused_with_the_line(what):
    program, words = DIFFERENT[what]
    text = refusal(program)
    assert words in text
    assert "test_symmetric.py:" in text


def test_links_of_two_kinds_are_refused():
    text = refusal(lambda c: swap(c, up(c), down(c)), network=TwoLevel(4))
    assert "the kind of link differs between ranks 0 and 1" in text


@pytest.mark.parametrize(
    "given",
    [
        {"network": Star(8)},
        {"machine": Machine(jitter=0.1)},
        {"machine": Machine(latency_jitter=0.1)},
        {"machine": Machine(stragglers={1: 2.0})},
    ],
)
def test_ranks_and_links_that_are_not_alike_are_refused(given):
    assert "symmetric=True needs" in refusal(lambda comm: None, error=ValueError, **given)


def after_pairs(comm):
    """To rank 0 the last exchange looks like the pairs' before it; rank 1 sends to rank 2."""
    for _ in range(3):
        swap(comm, comm.rank ^ 1, comm.rank ^ 1)
    swap(comm, up(comm), up(comm))


def after_others(comm):
    """The first exchange is of two that end another's, and the last is alone."""
    peer, requests = (
        up(comm),
        [comm.irecv(Phantom(8), down(comm)), comm.isend(Phantom(8), down(comm))],
    )
    swap(comm, peer, peer)
    for request in requests:
        request.wait()
    comm.isend(Phantom(8), comm.rank ^ 1)
    comm.recv(Phantom(8), comm.rank ^ 1)
    swap(comm, peer, peer)


WRONG = {
    "a send too many": lambda c: c.send(Phantom(8), up(c)),
    "a receive too many": lambda c: c.recv(Phantom(8), up(c)),
    "the same way": lambda c: swap(c, up(c), up(c)),
    "the same way, after pairs": after_pairs,
    "the same way, which was right before": after_others,
    "another tag": lambda c: c.isend(Phantom(8), up(c), 1) and c.recv(Phantom(8), down(c), 2),
    "another size": lambda c: swap(c, up(c), down(c), Phantom(16)),
    "another type": lambda c: swap(c, up(c), down(c), Phantom(0), np.empty(0)),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_error_of_all_ranks_is_the_same_error(what):
    assert outcome(WRONG[what], 8, symmetric=True) is outcome(WRONG[what], 8)


# -- the numbers themselves -----------------------------------------------------------------

FORMULAS = {
    "turned": "(3 - rank) % size",
    "far": "(rank - 29) % size",
    "twice": "((rank + 3) % size - 5) % size",
    "digits": "(rank >> 1 ^ rank & 3 | 4) // 3 * 2 - rank",
    "shifted": "(1 << rank) % 7 + (rank << 2)",
    "of numbers": "rank * rank - (rank + 1) % size * 100 // (rank + 1)",
    "less": "-(rank ^ 5)",
    "negative": "-rank % 3 + 20 % (rank + 1)",
    "counted": "size + rank - np.int64(1) + (np.int64(3) - rank)",
}


@pytest.mark.parametrize("ranks", [2, 3, 8, 17])
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_number_of_each_rank_is_pythons(formula, ranks):
    text, size = FORMULAS[formula], RankCount(ranks)
    computed = eval(text, {"rank": EachRank(size), "size": size, "np": np})
    wanted = [eval(text, {"rank": rank, "size": ranks, "np": np}) for rank in range(ranks)]
    values = computed.values.tolist() if computed.__class__ is EachRank else [computed] * ranks
    assert values == wanted


@pytest.mark.parametrize("text", ["rank * 2**62", "rank + (rank + 2**62) + 2**62", "rank << 62"])
def test_a_number_beyond_64_bits_is_refused(text):
    with pytest.raises(RanksDiffer, match="numbers beyond"):
        eval(text, {"rank": EachRank(RankCount(8))})


ZEROS = ["5 // rank", "5 % rank", "rank % (rank * 2)", "rank // 0", "5 << (rank - 1)"]


@pytest.mark.parametrize("text", [*ZEROS, "rank / 2", "2**rank", "rank + 0.5", "rank + [1]"])
def test_what_is_no_whole_number_on_each_rank_is_refused(text):
    with pytest.raises(RanksDiffer):
        eval(text, {"rank": EachRank(RankCount(8))})


@pytest.mark.parametrize("cut", ["0:rank", "rank:", "-rank:", "rank:2*rank", "rank - 9:rank"])
def test_a_phantom_is_cut_as_on_each_rank(cut):
    size = RankCount(8)
    part = eval(f"x[{cut}]", {"x": Phantom(80, 8), "rank": EachRank(size)})
    whole = [eval(f"x[{cut}]", {"x": Phantom(80, 8), "rank": rank}).nbytes for rank in range(8)]
    nbytes = part.nbytes
    assert (nbytes.values.tolist() if nbytes.__class__ is EachRank else [nbytes] * 8) == whole
