"""Any source, any request, and the ledger of them all, on both grounds."""

import numpy as np

from ddl_teach import ANY, Phantom, simulate

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
    """The receive from ANY was asked for first and gets the message that comes first; the next
    one is from 2, though another rank has sent as well."""
    x, y, z = (np.zeros(1, int) for _ in range(3))
    if comm.rank == 0:
        first, second = comm.irecv(x, ANY), comm.irecv(y, 2)
        second.wait()
        comm.recv(z, ANY)
        return first.wait(), int(x[0]), int(y[0]), int(z[0])
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
    found = ground(any_then_named, 3).results[0]
    # Real ranks may find both first messages there, and then take either for the first.
    assert found == (2, 20, 21, 10) or (ground is not simulate and found == (1, 10, 20, 21))


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
