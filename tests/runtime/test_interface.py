"""Wrong arguments: refused at once, in the same words on both grounds, and nothing is harmed."""

import numpy as np
import pytest

from ddl_teach import ANY, simulate

X = np.zeros(1)

WRONG = {
    "send(x, 3)": (lambda comm: comm.send(X, 3), ValueError, "rank 3 does not exist.*0 to 2"),
    "send(x, ANY)": (lambda comm: comm.send(X, ANY), ValueError, "ANY is for receives"),
    "isend(x, -2)": (lambda comm: comm.isend(X, -2), ValueError, "rank -2 does not exist"),
    "recv(x, 3)": (lambda comm: comm.recv(X, 3), ValueError, "0 to 2, or ANY"),
    "irecv(x, 9)": (lambda comm: comm.irecv(X, 9), ValueError, "irecv: rank 9.*or ANY"),
    "sendrecv to 3": (lambda comm: comm.sendrecv(X, 3, X, 0), ValueError, "rank 3 does not"),
    "sendrecv from 4": (lambda comm: comm.sendrecv(X, 0, X, 4), ValueError, "rank 4 does not"),
    "rank 1.0": (lambda comm: comm.send(X, 1.0), TypeError, "a rank must be a whole number"),
    "rank True": (lambda comm: comm.recv(X, True), TypeError, "a rank must be a whole number"),
    "rank '1'": (lambda comm: comm.irecv(X, "1"), TypeError, "a rank must be.*not '1'"),
    "rank None": (lambda comm: comm.isend(X, None), TypeError, "a rank must be.*not None"),
    "tag -1": (lambda comm: comm.send(X, 0, -1), ValueError, "tag -1 is outside 0 to 32767"),
    "tag 32768": (lambda comm: comm.irecv(X, 0, 32768), ValueError, "tag 32768 is outside"),
    "tag of ANY": (lambda comm: comm.recv(X, ANY, -1), ValueError, "tag -1 is outside"),
    "tag 2.0": (lambda comm: comm.isend(X, 0, 2.0), TypeError, "a tag must be a whole number"),
    "no requests": (lambda comm: comm.wait_any([]), ValueError, "list of requests is empty"),
    "no function": (lambda comm: comm.background(3), TypeError, "a function is needed, not 3"),
    "work(-1)": (lambda comm: comm.work(-1), ValueError, "seconds must be zero or more"),
    "work(nan)": (lambda comm: comm.work(flops=float("nan")), ValueError, "flops must be"),
    "work('1')": (lambda comm: comm.work("1"), TypeError, "seconds is a number, not '1'"),
}


def each_of_them(comm):
    texts = {}
    for name, (call, kind, _) in WRONG.items():
        with pytest.raises(kind) as caught:
            call(comm)
        texts[name] = str(caught.value)
    y = np.zeros(1)
    comm.sendrecv(np.ones(1), (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)
    assert y[0] == 1
    return texts, comm.ledger.messages_sent


def test_wrong_arguments_are_refused_in_the_same_words_on_both_grounds(real):
    for texts, sent in [*real(each_of_them, 3).results, *simulate(each_of_them, 3).results]:
        assert sent == 1
        for name, (_, kind, pattern) in WRONG.items():
            with pytest.raises(kind, match=pattern):
                raise kind(texts[name])
    assert real(each_of_them, 3).results == simulate(each_of_them, 3).results


def numbers_of_other_kinds(comm):
    right, left = np.int64((comm.rank + 1) % comm.size), np.uint8((comm.rank - 1) % comm.size)
    y = np.zeros(1)
    assert comm.sendrecv(np.ones(1), right, y, left, tag=np.int16(30000)) == left
    requests = [comm.irecv(y, left, np.int8(5)), comm.isend(np.ones(1), right, np.int8(5))]
    assert [request.wait() for request in requests] == [left, comm.rank]
    return comm.ledger.messages


def test_whole_numbers_of_numpy_are_as_good_as_pythons(real, ranks):
    messages = real(numbers_of_other_kinds, ranks).results
    assert messages == simulate(numbers_of_other_kinds, ranks).results
    assert all(type(field) is int for message in messages[0] for field in message[:3])


def highest_tags(comm):
    for tag in (0, 1, 32766, 32767):
        y = np.zeros(1, np.complex64)  # the type and the tag share MPI's tag
        comm.sendrecv(np.ones_like(y), comm.rank, y, comm.rank, tag)
        assert y[0] == 1


def test_every_tag_up_to_the_highest_works(ground):
    ground(highest_tags, 2)


def spans_of_a_program(comm):
    with comm.span("outer"):
        comm.work(seconds=0.01)
        with comm.span("inner", kind="reduce"):
            comm.work(flops=1e6)
    return comm.now(), comm.node, comm.size


def test_spans_are_nested_and_in_order(ground, ranks):
    run = ground(spans_of_a_program, ranks)
    for rank, spans in enumerate(run.timeline.spans):
        assert [(s.name, s.kind) for s in spans] == [
            ("work", "work"), ("work", "work"), ("inner", "reduce"), ("outer", "span"),
        ]  # fmt: skip
        first, second, inner, outer = spans
        assert 0 <= outer.start <= first.start <= first.end <= inner.start <= second.start
        assert second.end <= inner.end <= outer.end <= run.results[rank][0] <= run.time
        assert first.end - first.start >= 0.01
    assert run.ranks == ranks == len(run.ledger) == run.timeline.ranks


def test_without_trace_nothing_is_recorded(ground, ranks):
    run = ground(spans_of_a_program, ranks, trace=False)
    assert run.timeline.spans == [[]] * ranks
    assert [size for _, _, size in run.results] == [ranks] * ranks
