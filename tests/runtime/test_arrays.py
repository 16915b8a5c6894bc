"""What counts as data, and the arithmetic of reductions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.core import arrays
from ddl_teach import Phantom

# What cannot travel, and the word of advice that the error must hold.
UNFIT = {
    "a transpose": (np.zeros((3, 4)).T, r"shape \(4, 3\).*ascontiguousarray"),
    "a strided view": (np.zeros(10)[::2], r"not C-contiguous.*ascontiguousarray"),
    "Fortran order": (np.zeros((2, 3), order="F"), "ascontiguousarray"),
    "foreign byte order": (np.zeros(3, ">f4"), r"foreign byte order: send x.astype\('float32'\)"),
    "objects": (np.array([None]), "element type object"),
    "text": (np.array(["a"]), "element type <U1"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
    "records": (np.zeros(3, [("a", int)]), "element type"),
    "a masked array": (np.ma.zeros(3), r"numpy.asarray\(x\)"),
    "a list": ([1.0, 2.0], r"a list cannot travel.*numpy.array"),
    "a number": (3.5, "a float cannot travel"),
    "a NumPy number": (np.float64(3), "a float64 cannot travel"),
    "nothing": (None, "a NoneType cannot travel"),
    "bytes": (b"abc", "a bytes cannot travel"),
    "a transposed tensor": (torch.zeros(3, 4).T, r"x.contiguous\(\)"),
    "an expanded tensor": (torch.zeros(1).expand(5), r"x.contiguous\(\)"),
    "a tensor elsewhere": (torch.empty(3, device="meta"), r"lives on meta: send x.cpu\(\)"),
    "a sparse tensor": (torch.eye(3).to_sparse(), "sparse"),
    "a compressed tensor": (torch.eye(3).to_sparse_csr(), "sparse"),
    "a conjugate": (torch.tensor([1 + 2j]).conj(), "resolve_conj"),
    "a lazy negation": (torch.tensor([1 + 2j]).conj().imag, "resolve_neg"),
    "an 8-bit float": (torch.zeros(3, dtype=torch.float8_e4m3fn), "float8_e4m3fn"),
}


@pytest.mark.parametrize("what", UNFIT)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_what_cannot_travel_is_refused_with_what_to_do(what):
    x, advice = UNFIT[what]
    with pytest.raises(TypeError, match=advice):
        arrays.describe(x)


def refusals(comm, things):
    """Every verb refuses each of them, and then works as before."""
    verbs = [
        lambda x: comm.send(x, 0),
        lambda x: comm.isend(x, 0),
        lambda x: comm.recv(x, 0),
        lambda x: comm.irecv(x, 0),
        lambda x: comm.sendrecv(x, 0, np.zeros(1), 0),
        lambda x: comm.sendrecv(np.zeros(1), 0, x, 0),
    ]
    texts = []
    for x in things:
        for verb in verbs:
            with pytest.raises(TypeError) as caught:
                verb(x)
            texts.append(str(caught.value))
    y = np.zeros(1)
    comm.sendrecv(np.ones(1), (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
    assert y[0] == 1
    return texts


@pytest.mark.filterwarnings("ignore:Sparse")
def test_every_verb_refuses_them_in_the_same_words(ground):
    things = [np.zeros((3, 4)).T, [1, 2], np.zeros(2, ">i2"), torch.zeros(3, 4).T, None]
    for texts in ground(refusals, 2, things=things).results:
        expected = []
        for x in things:
            with pytest.raises(TypeError) as caught:
                arrays.describe(x)
            expected += [str(caught.value)] * 6
        assert texts == expected


def into_read_only(comm):
    x = np.zeros(3)
    x.flags.writeable = False
    for receive in (comm.recv, comm.irecv):
        for source in (1, -1):
            with pytest.raises(ValueError, match="read-only array: receive into a copy"):
                receive(x, source)
    with pytest.raises(ValueError, match="read-only"):
        comm.sendrecv(np.zeros(3), 1, x, 1)
    y = np.ones(3)
    comm.sendrecv(x, 1 - comm.rank, y, 1 - comm.rank)  # to send it is no harm
    assert not y.any()


def test_nothing_is_received_into_a_read_only_array(ground):
    ground(into_read_only, 2)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0).reshape(2, 3),
        np.array(5, np.int8),
        np.zeros((0, 3), complex),
        np.zeros(5)[::2][:1],
        torch.arange(6).reshape(2, 3),
        torch.tensor(1.5, dtype=torch.bfloat16),
        torch.zeros(0),
        torch.nn.Parameter(torch.ones(3)),
        torch.zeros(4)[::3][:1],
    ],
    ids=repr,
)
def test_as_bytes_shows_the_same_memory(x):
    nbytes, _ = arrays.describe(x)
    raw = arrays.as_bytes(x)
    assert raw.shape == (nbytes,) == (x.nbytes,)
    raw[:] = 0
    assert not (x.detach() if isinstance(x, torch.Tensor) else x).any()


@given(st.integers(0, 300), st.integers(1, 40), st.sampled_from([1, 2, 8]))
def test_split_evenly_gives_neighbours_whose_sizes_differ_by_one(size, parts, itemsize):
    phantoms = arrays.split_evenly(Phantom(size * itemsize, itemsize), parts)
    chunks = arrays.split_evenly(np.arange(size), parts)
    assert [len(chunk) for chunk in phantoms] == [len(chunk) for chunk in chunks]
    assert np.concatenate(chunks).tolist() == list(range(size))
    sizes = {len(chunk) for chunk in chunks}
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(0, 50), st.slices(50))
def test_a_phantom_is_sliced_as_an_array_is(size, part):
    assert len(Phantom(8 * size, 8)[part]) == len(np.zeros(size)[part])


@pytest.mark.parametrize("size", [(-1, 1), (10, 4), (8, 0)])
def test_phantoms_of_impossible_sizes_are_refused(size):
    with pytest.raises(ValueError, match="multiple of `itemsize`"):
        Phantom(*size)
    with pytest.raises(TypeError, match="no elements"):
        Phantom(8)[0]


def combined(comm, op, library):
    a, b = np.array([3, -1, 5]), np.array([2, 4, -6])
    if library == "torch":
        a, b = torch.from_numpy(a), torch.from_numpy(b)
    out = arrays.empty_like(a)
    comm.combine(a, b, out, op)
    comm.combine(a, b, a, op)
    assert a.tolist() == out.tolist()
    return out.tolist()


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("sum", [5, 3, -1]),
        ("max", [3, 4, 5]),
        ("min", [2, -1, -6]),
        ("product", [6, -4, -30]),
        (lambda a, b: a * 2 + b, [8, 2, 4]),
    ],
    ids=["sum", "max", "min", "product", "a function"],
)
def test_combine_works_on_both_grounds_and_in_place(ground, op, expected, library):
    assert ground(combined, 2, op=op, library=library).results == [expected] * 2


def test_operations_that_are_none_are_refused():
    a = np.ones(3)
    with pytest.raises(ValueError, match="no operation is called 'mean': use sum, max"):
        arrays.combine("mean", a, a, a)
    with pytest.raises(ValueError, match="must keep both"):
        arrays.combine(lambda a, b: (a + b)[:2], a, a, a)
    with pytest.raises(ValueError, match="must keep both"):
        arrays.combine(lambda a, b: (a + b).astype(int), a, a, a)


def test_gradients_are_not_touched_by_messages_and_reductions():
    weight = torch.nn.Parameter(torch.ones(3))
    arrays.combine("sum", weight, weight, weight)
    arrays.copy_into(weight, torch.full((3,), 5.0))
    assert weight.tolist() == [5.0] * 3
    assert weight.requires_grad
    assert weight.grad_fn is None
