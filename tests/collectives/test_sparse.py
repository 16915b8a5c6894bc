"""A sparse all-reduce is the sum, exactly, and sends what its streams weigh, to the byte."""

import hashlib

import numpy as np
import pytest
from grounds import on_all_counts
from hypothesis import given, settings
from hypothesis import strategies as st

from ddl_teach import simulate
from ddl_teach.collectives.blocks import chunk_start
from ddl_teach.collectives.sparse import dense_second_phase, recursive_doubling, split_allgather
from ddl_teach.collectives.sparse.messages import allgather
from ddl_teach.collectives.sparse.stream import INDEX, Stream, join

WAYS = (recursive_doubling, split_allgather, dense_second_phase)
CASES = {
    "real": [(97, 12, "float32"), (3, 1, "float64")],
    "simulated": [(97, 12, "float32"), (0, 0, "float64"), (50, 9, "float16")],
}


def sparse_vector(size, entries, dtype, rank, seed=0):
    """Whole numbers, none of them zero: sums are exact, and some of them cancel."""
    rng = np.random.default_rng([seed, rank, size, entries])
    x = np.zeros(size, dtype)
    x[rng.choice(size, entries, replace=False)] = rng.choice([-2, -1, 1, 2], entries)
    return x


def all_vectors(case, ranks):
    return [sparse_vector(*case, rank) for rank in range(ranks)]


def fingerprint(*totals):
    return hashlib.sha256(b"".join(total.tobytes() for total in totals)).hexdigest()


def every_way(comm, cases):
    """For each way: the wrong cases, a fingerprint, and the bytes sent in each case."""
    found = []
    for way in WAYS:
        wrong, sent, totals = [], [], []
        for case in cases:
            before = comm.ledger.bytes_sent
            stream = Stream.of(sparse_vector(*case, comm.rank))
            total = way.allreduce(comm, stream)
            sent.append(comm.ledger.bytes_sent - before)
            totals.append(total.dense())
            if not np.array_equal(totals[-1], sum(all_vectors(case, comm.size))):
                wrong.append(case)
        found.append((wrong, fingerprint(*totals), sent))
    return found


@on_all_counts
@pytest.mark.sampled(3)
def test_the_sum_on_every_rank_and_the_bytes_of_the_formula(ground, ranks):
    cases = CASES[ground.name]
    run = ground.run(every_way, ranks, cases=cases, trace=False)
    for number, bytes_of in enumerate((doubling_bytes, gathered_bytes, dense_bytes)):
        wrong, prints, sent = zip(*(found[number] for found in run.results), strict=True)
        assert wrong == ([],) * ranks, WAYS[number]
        assert len(set(prints)) == 1, WAYS[number]
        expected = [bytes_of(all_vectors(case, ranks)) for case in cases]
        assert [list(one) for one in zip(*sent, strict=True)] == expected, WAYS[number]


# What the formulas say: written down once more, without streams, from the vectors alone.


def weight(x, present):
    """The bytes of a vector with entries at `present`, in the smaller form."""
    return min(int(present.sum()) * (x.itemsize + 4), x.nbytes)


def message(x, present):
    return 8 + weight(x, present)


def doubling_bytes(xs):
    """Each step sends the union of all indices so far; odd ranks of folded pairs send once."""
    ranks, sent = len(xs), [0] * len(xs)
    pairs = ranks - 2 ** (ranks.bit_length() - 1)
    present = [x != 0 for x in xs]
    core = [*range(0, 2 * pairs, 2), *range(2 * pairs, ranks)]
    for odd in range(1, 2 * pairs, 2):
        sent[odd] += message(xs[0], present[odd])
        present[odd - 1] = present[odd - 1] | present[odd]
    for step in range(ranks.bit_length() - 1):
        for rank in core:
            sent[rank] += message(xs[0], present[rank])
        present = {
            rank: present[rank] | present[core[place ^ 2**step]] for place, rank in enumerate(core)
        }
    for even in range(0, 2 * pairs, 2):
        sent[even] += message(xs[0], present[even])
    return sent


def split_and_gathered(xs, gathered):
    ranks, length = len(xs), len(xs[0])
    parts = [
        slice(chunk_start(length, r, ranks), chunk_start(length, r + 1, ranks))
        for r in range(ranks)
    ]
    held = [gathered([x[part] for x in xs]) for part in parts]
    sent = []
    for rank, x in enumerate(xs):
        split = sum(message(x[part], x[part] != 0) for part in parts) - message(
            x[parts[rank]], x[parts[rank]] != 0
        )
        # Bruck: what a rank holds doubles, and the last step brings what is missing.
        steps, have = 0, 1
        while have < ranks:
            count = min(have, ranks - have)
            steps += sum(8 + held[(rank + k) % ranks] for k in range(count))
            have += count
        sent.append(split + steps)
    return sent


def gathered_bytes(xs):
    return split_and_gathered(xs, lambda parts: weight(parts[0], np.any(np.array(parts), axis=0)))


def dense_bytes(xs):
    return split_and_gathered(xs, lambda parts: parts[0].nbytes)


class Bytes:
    """One byte a number, exact for small whole ones; and the encoder that sends it."""

    @property
    def compressor(self):
        return self

    def encode(self, vector):
        return (vector + 128).astype(np.uint8)

    def decode(self, message, size):
        assert len(message) == size
        return message.astype(np.float64) - 128


class Halves(Bytes):
    """Loses half of everything: whoever forgets to decode its own part is found out."""

    def encode(self, vector):
        return (vector / 2).astype(np.float32).view(np.uint8)

    def decode(self, message, size):
        return message.view(np.float32)[:size]


def quantised(comm):
    case = (101, 20, "float64")
    stream = Stream.of(sparse_vector(*case, comm.rank))
    before = comm.ledger.bytes_sent
    exact = dense_second_phase.allreduce(comm, stream, Bytes())
    middle = comm.ledger.bytes_sent
    dense_second_phase.allreduce(comm, stream)
    saved = (comm.ledger.bytes_sent - middle) - (middle - before)
    halved = dense_second_phase.allreduce(comm, stream, Halves())
    return exact.dense(), halved.dense(), saved


@on_all_counts
@pytest.mark.sampled(3)
def test_the_second_phase_may_be_quantised(ground, ranks):
    right = sum(all_vectors((101, 20, "float64"), ranks))
    results = ground.run(quantised, ranks, trace=False).results
    for exact, halved, _ in results:
        assert np.array_equal(exact, right)
        assert np.array_equal(halved, right / 2)
    # Seven of eight bytes are saved on each number of another rank's part.
    assert sum(saved for *_, saved in results) == 7 * 101 * (ranks - 1)


@on_all_counts
def test_all_messages_come_to_all(ground, ranks):
    def program(comm):
        return allgather(comm, np.full(3 * comm.rank % 7, comm.rank, np.uint8))

    for messages in ground.run(program, ranks).results:
        assert [one.tolist() for one in messages] == [
            [rank] * (3 * rank % 7) for rank in range(ranks)
        ]


@given(st.integers(1, 20), st.integers(0, 90), st.floats(0, 1), st.sampled_from(["f4", "f8"]))
@settings(max_examples=15, deadline=None)
def test_anything(ranks, size, share, dtype):
    case = (size, int(share * size), dtype)
    for found in simulate(every_way, ranks, cases=[case], trace=False).results:
        assert [wrong for wrong, *_ in found] == [[], [], []]


@pytest.mark.parametrize("ranks", [3, 5])
def test_each_owner_is_the_first_of_one_rank_and_takes_in_its_order(ranks):
    """What is sent first is added first, while the rest is under way."""

    def program(comm):
        split_allgather.split(comm, Stream.of(np.ones(20)))

    for rank, ledger in enumerate(simulate(program, ranks).ledger):
        owners = dict.fromkeys(message.peer for message in ledger.messages)
        assert list(owners) == [(rank + distance) % ranks for distance in range(1, ranks)]


# Streams alone


@given(st.integers(0, 60), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["f2", "f4", "f8"]))
def test_streams_add_as_vectors_do_and_are_never_longer_than_either_form(size, one, other, dtype):
    x = sparse_vector(size, int(one * size), dtype, 1)
    y = sparse_vector(size, int(other * size), dtype, 2)
    a, b = Stream.of(x), Stream.of(y)
    for stream, vector in ((a, x), (b, y), (a.add(b), x + y), (b.add(a), x + y)):
        assert np.array_equal(stream.dense(), vector)
        packed = stream.pack()
        assert len(packed) == stream.nbytes <= vector.nbytes
        again = Stream.unpack(packed, size, vector.dtype)
        assert np.array_equal(again.dense(), vector)
        assert (again.indices is None) == (stream.indices is None)
        middle = size // 3
        parts = [stream.part(0, middle), stream.part(middle, size)]
        assert np.array_equal(join(parts).dense(), vector)
    together = int(((x != 0) | (y != 0)).sum())  # what cancels stays
    assert a.add(b).nbytes == min(together * (x.itemsize + INDEX.itemsize), x.nbytes)


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 50), ("float64", 67)])
def test_a_stream_turns_dense_exactly_where_that_is_smaller(dtype, limit):
    # of 100: half, two thirds
    for entries in range(101):
        stream = Stream.of(sparse_vector(100, entries, dtype, 0))
        assert (stream.indices is None) == (entries >= limit), (dtype, entries)


@pytest.mark.parametrize("entries", [3, 60])
def test_both_orders_of_a_sum_have_the_same_bits(entries):
    rng = np.random.default_rng(5)
    a, b = (
        Stream.listed(99, np.sort(rng.choice(99, entries, replace=False)),
                      rng.standard_normal(entries).astype("f4"))
        for _ in range(2)
    )  # fmt: skip
    assert np.array_equal(a.add(b).pack(), b.add(a).pack())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Stream.of(np.zeros((2, 3))), "flat NumPy vector"),
        (lambda: Stream.listed(9, np.array([1, 1]), np.ones(2)), "each once"),
        (lambda: Stream.listed(9, np.array([2, 1]), np.ones(2)), "must ascend"),
        (lambda: Stream.listed(9, np.array([2, 9]), np.ones(2)), "less than 9"),
        (lambda: Stream.listed(9, np.array([2, 3, 9]), np.ones(3)), "less than 9"),
        (lambda: Stream.listed(9, np.array([-1, 2]), np.ones(2)), "from 0 or more"),
        (lambda: Stream.listed(9, np.array([1]), np.ones(2)), "each index needs one value"),
        (lambda: Stream.of(np.zeros(2)).add(Stream.of(np.zeros(3))), "vectors alike"),
    ],
)
def test_what_is_no_stream_is_refused_with_the_reason(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


@pytest.mark.parametrize("nbytes", [7, 37, 40])  # of 9 numbers in 36, or fewer with their places
def test_a_message_has_whole_entries_and_is_no_longer_than_the_vector(nbytes):
    with pytest.raises(ValueError, match=f"{nbytes} bytes is no stream of 9 float32"):
        Stream.unpack(np.zeros(nbytes, np.uint8), 9, np.dtype("f4"))
