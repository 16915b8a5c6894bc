"""What is sent is what is received, on both grounds: every type, shape, size and verb."""

import warnings

import numpy as np
import pytest
import torch

from ddl_teach import ANY, Phantom, simulate

NUMPY_TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 longdouble "
    "complex64 complex128 clongdouble intc longlong ulonglong"
).split()
TORCH_TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex32 complex64 complex128"
).split()
SHAPES = ((), (0,), (1,), (7,), (2, 3), (0, 5), (1, 1, 1))


def contents(kind, shape, rank):
    """An array or a tensor that differs from rank to rank, and a second one to receive into."""
    library, name = kind
    if name == "complex32":
        warnings.simplefilter("ignore")  # torch says that it is experimental
    values = (np.arange(int(np.prod(shape))) * 7 + rank + 1) % (2 if name == "bool" else 100)
    if library == "numpy":
        full = values.astype(name).reshape(shape)
        return full, np.zeros_like(full)
    full = torch.from_numpy(values.reshape(shape)).to(getattr(torch, name))
    return full, torch.zeros_like(full)


def raw(x):
    if isinstance(x, torch.Tensor):
        plain = torch.empty(x.numel(), dtype=x.dtype).copy_(x.reshape(-1))
        return plain.view(torch.uint8).numpy().tobytes()
    if x.dtype.char in "gG":  # of whose 16 bytes six are never written
        return x.astype("complex128").tobytes()
    return x.tobytes()


def every_type_around_the_ring(comm, kinds, shapes):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for kind in kinds:
        for shape in shapes:
            mine, got = contents(kind, shape, comm.rank)
            theirs, again = contents(kind, shape, left)
            where = f"{kind} {shape}"
            assert comm.sendrecv(mine, right, got, left) == left, where
            assert raw(got) == raw(theirs), where
            request = comm.irecv(again, left, tag=5)
            sending = comm.isend(mine, right, tag=5)
            assert (request.wait(), sending.wait()) == (left, comm.rank), where
            assert raw(again) == raw(theirs), where
            assert raw(mine) == raw(contents(kind, shape, comm.rank)[0]), where


def test_every_element_type_and_shape_arrives_bit_for_bit(ground, ranks):
    kinds = [("numpy", name) for name in NUMPY_TYPES] + [("torch", name) for name in TORCH_TYPES]
    ground(every_type_around_the_ring, ranks, kinds=kinds, shapes=SHAPES)


def from_one_library_to_the_other(comm):
    for name in sorted(set(NUMPY_TYPES) & set(TORCH_TYPES)):
        tensor, array = (
            contents(("torch", name), (2, 5), 3)[0],
            contents(("numpy", name), 10, 0)[1],
        )
        if comm.rank == 0:
            comm.send(tensor, 1)
            comm.recv(array, 1)
        elif comm.rank == 1:
            comm.recv(array, 0)
            comm.send(array, 0)
        assert comm.rank > 1 or array.tobytes() == raw(tensor), name


def test_an_array_may_be_received_as_a_tensor_of_the_same_type(ground):
    ground(from_one_library_to_the_other, 3)


def large_messages(comm, nbytes):
    partner = comm.rank ^ 1
    if partner >= comm.size:
        return
    for dtype in (np.float32, np.uint8):
        mine = (np.arange(nbytes // np.dtype(dtype).itemsize) * (comm.rank + 1)).astype(dtype)
        expected = (np.arange(len(mine)) * (partner + 1)).astype(dtype)
        got = np.zeros_like(mine)
        comm.sendrecv(mine, partner, got, partner)
        assert np.array_equal(got, expected)
        got[:] = 0
        if comm.rank < partner:
            comm.send(mine, partner)
            comm.recv(got, partner)
        else:
            comm.recv(got, partner)
            comm.send(mine, partner)
        assert np.array_equal(got, expected)
        sending = [comm.isend(mine, partner, tag) for tag in (1, 2)]
        tensors = [torch.zeros(len(mine), dtype=torch.from_numpy(mine).dtype) for _ in (1, 2)]
        receiving = [comm.irecv(tensors[tag - 1], partner, tag) for tag in (2, 1)]
        assert sorted(comm.wait_any(sending + receiving) for _ in range(4)) == [0, 1, 2, 3]
        assert all(np.array_equal(tensor.numpy(), expected) for tensor in tensors)


@pytest.mark.parametrize("nbytes", [4096, 65_536, 300_000, 20_000_000])
def test_large_messages_arrive_whole_by_every_verb(ground, nbytes):
    ground(large_messages, 5, nbytes=nbytes)


def after_a_send_the_array_is_ours_again(comm):
    x = np.zeros(100_000)
    if comm.rank == 0:
        for value in range(5):
            x[:] = value
            comm.send(x, 1)
            x[:] = -1
        for value in range(5):
            x[:] = value
            request = comm.isend(x, 1)
            request.wait()
            x[:] = -1
    elif comm.rank == 1:
        for value in [*range(5)] * 2:
            comm.work(seconds=0.001)
            comm.recv(x, 0)
            assert (x == value).all()
            x[:] = -2


def test_an_array_may_change_once_it_was_sent(ground):
    ground(after_a_send_the_array_is_ours_again, 3)


def order_on_one_channel(comm, count):
    x = np.zeros(1, np.int64)
    if comm.rank > 0:
        for number in range(count):
            x[0] = number
            comm.send(x, 0, tag=number % 2)
            comm.send(x.astype(np.int32), 0, tag=number % 2)
    else:
        for source in range(comm.size - 1, 0, -1):
            for parity in (1, 0):
                for dtype in (np.int32, np.int64):
                    y = np.zeros(1, dtype)
                    for number in range(parity, count, 2):
                        comm.recv(y, source, tag=parity)
                        assert y[0] == number


def test_messages_of_one_source_tag_and_type_keep_their_order(ground, ranks):
    ground(order_on_one_channel, ranks, count=20)


def to_oneself(comm):
    x, y, big = np.array([comm.rank]), np.zeros(1, int), np.ones(300_000)
    assert comm.sendrecv(x, comm.rank, y, comm.rank) == comm.rank
    assert y[0] == comm.rank
    request = comm.isend(x, comm.rank, tag=3)
    assert comm.recv(y, ANY, tag=3) == comm.rank
    request.wait()
    receiving = comm.irecv(np.zeros_like(big), comm.rank)
    comm.send(big, comm.rank)
    return receiving.wait() == comm.rank


def test_a_rank_can_send_to_itself(ground, ranks):
    assert all(ground(to_oneself, ranks).results)


def phantoms_around(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for nbytes in (0, 1, 100_000):
        comm.sendrecv(Phantom(nbytes), right, Phantom(nbytes), left)
        sending = comm.isend(Phantom(nbytes), right, tag=1)
        comm.recv(Phantom(nbytes), left, tag=1)
        sending.wait()
    return comm.ledger.bytes_sent


def test_phantoms_travel_as_so_many_bytes(ground, ranks):
    assert ground(phantoms_around, ranks).results == [200_002] * ranks


# -- any source, any request ----------------------------------------------------------------


def server_of_all(comm, rounds):
    x = np.zeros(3, np.int64)
    if comm.rank > 0:
        for number in range(rounds):
            x[:] = comm.rank, number, 7
            comm.send(x, 0, tag=4)
        return None
    seen = []
    for _ in range(rounds * (comm.size - 1)):
        source = comm.recv(x, ANY, tag=4)
        seen.append((source, *x.tolist()))
    return seen


def test_any_source_says_who_it_was_and_keeps_each_senders_order(ground, ranks):
    seen = ground(server_of_all, ranks, rounds=6).results[0]
    assert sorted(seen) == [(s, s, n, 7) for s in range(1, ranks) for n in range(6)]
    for source in range(1, ranks):
        assert [n for s, _, n, _ in seen if s == source] == list(range(6))


def receives_in_the_order_they_were_asked_for(comm):
    """Only rank 0 sends, so MPI's rules leave one outcome."""
    if comm.rank == 0:
        for value in range(10):
            comm.send(np.array([value]), 1)
        return None
    if comm.rank > 1:
        return None
    got = [np.zeros(1, int) for _ in range(10)]
    sources = [ANY, 0, ANY, ANY, 0, 0, ANY]
    requests = [comm.irecv(x, source) for x, source in zip(got, sources, strict=False)]
    comm.recv(got[7], 0)
    comm.recv(got[8], ANY)
    requests.append(comm.irecv(got[9], 0))
    for position in (6, 4, 0, 5, 7, 2):
        assert requests[position].wait() == 0
    while not all(request.waited for request in requests):
        comm.wait_any(requests)
    return [int(x[0]) for x in got]


def test_receives_are_served_in_the_order_they_were_asked_for(ground):
    assert ground(receives_in_the_order_they_were_asked_for, 3).results[1] == list(range(10))


def any_then_named(comm):
    """The receive from ANY was asked for first and gets rank 2's message; the next is from 2 too,
    though another rank has sent as well."""
    x, y, z = (np.zeros(1, int) for _ in range(3))
    if comm.rank == 0:
        first, second = comm.irecv(x, ANY), comm.irecv(y, 2)
        second.wait()
        comm.recv(z, 1)
        return first.wait(), int(x[0]), int(y[0])
    if comm.rank == 1:
        comm.recv(x, 2, tag=1)
        comm.work(seconds=0.05)
        comm.send(np.array([10]), 0)
    if comm.rank == 2:
        comm.send(np.array([20]), 0)
        comm.send(np.array([1]), 1, tag=1)
        comm.send(np.array([21]), 0)
    return None


def test_a_named_receive_stands_behind_an_older_one_from_any(ground):
    assert ground(any_then_named, 3).results[0] == (2, 20, 21)


def working_off_a_list(comm):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    arrays = {rank: np.zeros(2, int) for rank in others}
    receiving = [comm.irecv(arrays[rank], rank) for rank in others]
    sending = [comm.isend(np.array([comm.rank, rank]), rank) for rank in others]
    requests = sending + receiving
    done = [comm.wait_any(requests) for _ in requests]
    assert sorted(done) == list(range(len(requests)))
    assert all(arrays[rank].tolist() == [rank, comm.rank] for rank in others)
    assert [request.wait() for request in receiving] == others  # a second wait asks nobody
    assert all(request.wait() == comm.rank for request in sending)
    errors = []
    for nothing in ([], requests):
        try:
            comm.wait_any(nothing)
        except ValueError as error:
            errors.append(str(error))
    return errors


def test_wait_any_finishes_each_request_once(ground, ranks):
    for errors in ground(working_off_a_list, ranks).results:
        assert "empty" in errors[0]
        assert ("waited for already" if ranks > 1 else "empty") in errors[1]


def the_first_of_several(comm):
    if comm.rank == 0:
        x, y = np.zeros(1), np.zeros(1)
        requests = [comm.irecv(x, 1), comm.irecv(y, 2)]
        first = comm.wait_any(requests)
        comm.send(np.ones(1), 1, tag=1)  # only now may rank 1 send
        return first, comm.wait_any(requests), x[0], y[0]
    if comm.rank == 1:
        comm.recv(np.zeros(1), 0, tag=1)
    comm.send(np.array([float(comm.rank)]), 0)
    return None


def test_wait_any_returns_what_came_not_what_stands_first(ground):
    assert ground(the_first_of_several, 3).results[0] == (1, 0, 1.0, 2.0)


# -- one program, one ledger ----------------------------------------------------------------


def all_verbs(comm):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = np.arange(1000.0), np.zeros(1000)
    comm.sendrecv(x[:10], right, y[:10], left, tag=9)
    requests = [comm.irecv(y, left), comm.isend(x, right)]
    comm.wait_any(requests)
    comm.wait_any(requests)
    comm.barrier()
    half = comm.split(comm.rank % 2, key=-comm.rank)
    half.sendrecv(x, (half.rank + 1) % half.size, y, (half.rank - 1) % half.size)
    half.barrier()
    comm.split(None if comm.rank else 0)
    comm.sendrecv(Phantom(17), right, Phantom(17), ANY)

    def beside(other):
        other.sendrecv(x, left, y, right, tag=3)
        other.barrier()

    comm.background(beside).wait()
    comm.background(beside).wait()
    if comm.rank == 0:
        for _ in range(comm.size - 1):
            comm.recv(y[:3], ANY, tag=2)
    else:
        comm.send(x[:3], 0, tag=2)


def test_ledgers_are_equal_on_both_grounds(real, ranks):
    measured, simulated = real(all_verbs, ranks), simulate(all_verbs, ranks)
    for rank in range(ranks):
        assert measured.ledger[rank].messages == simulated.ledger[rank].messages
        assert measured.ledger[rank].messages_sent == len(measured.ledger[rank].messages)
    kinds = measured.ledger[0].by_kind()
    assert set(kinds) == {"host", "barrier", "split", "background"} if ranks > 1 else {"host"}


def test_the_timeline_shows_every_message_of_the_ledger(ground, ranks):
    run = ground(all_verbs, ranks)
    sent = sorted(
        (rank, message.peer, message.tag, message.bytes)
        for rank, ledger in enumerate(run.ledger)
        for message in ledger.messages
        if message.kind == "host"
    )
    arrows = run.timeline.messages
    assert sorted((a.source, a.dest, a.tag, a.bytes) for a in arrows) == sent
    assert all(0 <= a.start <= a.end <= run.time for a in arrows)
    barriers = [s for spans in run.timeline.spans for s in spans if s.kind == "barrier"]
    # of the whole, of the half and of each background function
    assert len(barriers) == 4 * ranks
