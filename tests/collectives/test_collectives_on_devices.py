"""Every collective on arrays of a device: the host's bits, the host's bytes, by every path."""

from collections import Counter

import numpy as np
import places
import pytest

from ddl_teach.collectives import background, registry

pytestmark = pytest.mark.slow

MANNERS = {  # how messages travel, how late the device is, how long the arrays are
    "staged, late": ("staged", "late", 41),
    "staged, nothing": ("staged", "late", 0),
    "staged, one": ("staged", "late", 1),
    "staged, by dice": ("staged", 3, 41),
    "pipelined, late": ("pipelined", "late", 2003),
    "direct, late": ("direct", "late", 41),
}


def mine(comm, length, blocks=1):
    shape = length if blocks == 1 else (blocks, length)
    return np.random.default_rng([comm.rank, length, blocks]).normal(size=shape)


# Each does one collective on arrays that `put` makes, and returns those that hold the outcome.


def in_place(call, comm, put, length):
    x = put(mine(comm, length))
    return [call(comm, x) if call.__name__ == "reduce_scatter" else (call(comm, x), x)[1]]


def from_root(call, comm, put, length):
    x = put(mine(comm, length))
    call(comm, x, comm.size - 1)
    return [x] if call.__name__ == "broadcast" or comm.rank == comm.size - 1 else []


def gather(call, comm, put, length):
    out = put(mine(comm, length, comm.size + 1)[:-1]) if comm.rank == 0 else None
    call(comm, put(mine(comm, length)), out, 0)
    return [] if out is None else [out]


def scatter(call, comm, put, length):
    x = put(mine(comm, length, comm.size + 1)[:-1]) if comm.rank == 0 else None
    out = put(mine(comm, length))
    call(comm, x, out, 0)
    return [out]


def alltoall(call, comm, put, length):
    x, out = (put(mine(comm, length, comm.size + 1)[:-1]) for _ in range(2))
    call(comm, x, out)
    return [out]


def barrier(call, comm, put, length):
    call(comm)
    return []


DOING = {
    "allreduce": in_place, "reduce_scatter": in_place, "allgather": in_place, "scan": in_place,
    "broadcast": from_root, "reduce": from_root, "gather": gather, "scatter": scatter,
    "alltoall": alltoall, "barrier": barrier,
}  # fmt: skip


def in_background(comm, x):
    background.allreduce(comm, x).wait()


def calls_of(algorithms):
    for algorithm in algorithms:
        for collective in registry.offers(algorithm):
            name = f"{algorithm}.{collective}"
            yield name, DOING[collective], registry.function(algorithm, collective)
    yield "background.allreduce", in_place, in_background


def sent(comm, since):
    """Messages of its own that it sent, to whom and how many bytes; and in which ways."""
    new = [m for m in comm.ledger.messages[since:] if m.kind.startswith(("host", "device"))]
    return Counter(message[:3] for message in new), {m.kind for m in new if m.bytes}


def compare(comm, name, algorithms, manners):
    """All collectives on the host and on a device; returns what differs, and all ways taken."""
    wrong, ways = [], {}
    for manner in manners:
        path, schedule, length = MANNERS[manner]
        place = places.Place(name, schedule)
        if path == "direct" and name == "cuda" and not place.device.direct:
            continue  # this MPI library cannot read the GPU's memory
        places.path_of(comm, path, place)
        ways[path] = set()
        for call_name, do, call in calls_of(algorithms):
            start = len(comm.ledger.messages)
            right = do(call, comm, np.array, length)
            expected, _ = sent(comm, start)
            start = len(comm.ledger.messages)
            found = do(call, comm, place.put, length)
            counted, kinds = sent(comm, start)
            ways[path] |= kinds
            bits = [place.back(x).tobytes() for x in found]
            if bits != [x.tobytes() for x in right] or counted != expected:
                differs = expected - counted, counted - expected
                wrong.append((manner, call_name, length, differs))
    return wrong, ways


@pytest.mark.parametrize("name", places.PLACES)
@pytest.mark.sampled(3)
def test_every_collective_has_the_hosts_bits_and_bytes(ground, name):
    algorithms = [one for one in registry.ALGORITHMS if one != "native" or ground.name == "real"]
    for ranks in (3,) if name == "stand-in tensors" else ground.rank_counts:
        # All ways on few ranks, one way on many.
        manners = list(MANNERS)[: 1 if ranks != 3 or name == "stand-in tensors" else None]
        run = ground.run(compare, ranks, trace=False, name=name, algorithms=algorithms,
                         manners=manners)  # fmt: skip
        wrong, ways = zip(*run.results, strict=True)
        assert wrong == ([],) * ranks
        for path, kinds in ways[0].items():
            # What shared memory needs is on the host; what fits into one chunk is not cut.
            allowed = {"host", "device staged", f"device {path}"}
            assert kinds <= allowed
            assert f"device {path}" in kinds or ranks == 1


def deaf_to_events(comm, deaf):
    """An all-reduce on a device whose streams forget to wait for each other."""
    place = places.Place("stand-in", "late")
    if deaf:
        place.device.wait = lambda stream, event: None
    x = place.put(mine(comm, 41))
    registry.get("ring").allreduce(comm, x)
    expected = sum(
        np.random.default_rng([rank, 41, 1]).normal(size=41) for rank in range(comm.size)
    )
    return bool(np.allclose(place.back(x), expected))


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.sampled(2)
def test_a_transfer_that_does_not_wait_for_kernels_is_found_out(ground, ranks):
    assert ground.run(deaf_to_events, ranks, deaf=False).results == [True] * ranks
    assert not any(ground.run(deaf_to_events, ranks, deaf=True).results)
