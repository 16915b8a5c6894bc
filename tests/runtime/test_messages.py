"""What is sent is what is received, on both grounds: every type, shape, size and verb."""

import warnings

import numpy as np
import pytest
import torch

from ddl_teach import ANY, Phantom

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


@pytest.mark.slow
@pytest.mark.sampled(9)
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


@pytest.mark.slow
@pytest.mark.parametrize("nbytes", [4096, 65_536, 300_000, 20_000_000])
@pytest.mark.sampled(4)
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
