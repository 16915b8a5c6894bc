"""First come, first served: ANY and wait_any in the causal order of virtual time.

The reference is the plainest simulation there is: of all that the ranks could do next, what
happens first is done first. It looks at every rank before every step, so nothing can mislead it
about who was earlier, whereas the simulator runs each rank as far ahead as it goes.
"""

import random
from collections import defaultdict, deque

from hypothesis import given, settings
from hypothesis import strategies as st

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import ANY, Phantom, simulate

# A rank is a generator that yields what it does and is told how it went:
#     ("work", seconds)   ("send", to) -> a number   ("recv",) -> from whom
#     ("first", what) -> index: wait_any over numbers of sends and ("from", rank) for receives


def client(dice, plan):
    """Asks several servers at once and takes their answers as they come."""
    seen = []
    for servers in plan:
        yield "work", dice.uniform(0, 30)
        waiting = []
        for server in servers:
            waiting.append((yield "send", server))
        waiting += [("from", server) for server in servers]
        while waiting:
            chosen = yield "first", tuple(waiting)
            seen.append((chosen, waiting.pop(chosen)))
    return seen


def server(dice, requests):
    """Serves whoever comes first; sometimes it lies idle, sometimes a crowd waits."""
    seen = []
    yield "work", 1.0
    for _ in range(requests):
        source = yield ("recv",)
        seen.append(source)
        yield "work", dice.uniform(0, 12)
        yield "send", source
    return seen


def ranks_of(seed, servers, clients, rounds):
    """The generators of all ranks, servers and clients mixed."""
    dice = random.Random(seed)
    order = dice.sample(range(servers + clients), servers + clients)
    serving = order[:servers]
    plans = {
        rank: [dice.sample(serving, dice.randint(1, servers)) for _ in range(rounds)]
        for rank in order[servers:]
    }
    asked = [server for plan in plans.values() for servers in plan for server in servers]
    return [
        client(random.Random(f"{seed} {rank}"), plans[rank])
        if rank in plans
        else server(random.Random(f"{seed} {rank}"), asked.count(rank))
        for rank in range(servers + clients)
    ]


def in_order_of_time(ranks, latency, per_byte, nbytes):
    """What each rank has seen, and when it ended."""
    clock, out_free = [0.0] * len(ranks), [0.0] * len(ranks)
    cost = nbytes * per_byte
    came_in = [[] for _ in ranks]  # when each in-port was busy
    under_way = defaultdict(deque)  # by source and destination: when the head is there
    sent = [[] for _ in ranks]  # when each send had left
    actions = {rank: next(ranks[rank]) for rank in range(len(ranks))}
    seen = [None] * len(ranks)

    def choices(rank):
        """The moments from which this rank can go on, each with what it would be told."""
        verb, *rest = actions[rank]
        if verb in ("work", "send"):
            return [(clock[rank], 0, None)]
        wanted = [("from", other) for other in range(len(ranks))] if verb == "recv" else rest[0]
        found = []
        for position, what in enumerate(wanted):
            if isinstance(what, int):
                found.append((sent[rank][what], position, None))
            elif under_way[what[1], rank]:
                found.append((under_way[what[1], rank][0] + cost, position, what[1]))
        return sorted(found, key=lambda choice: choice[:2])[:1]

    while actions:
        _, rank, (_, position, source) = min(
            (max(clock[rank], choice[0]), rank, choice)
            for rank in actions
            for choice in choices(rank)
        )
        told = position
        verb, *rest = actions[rank]
        told = {"recv": source, "first": position}.get(verb)
        if verb == "work":
            clock[rank] += rest[0]
        elif verb == "send":
            told = len(sent[rank])
            start = max(clock[rank], out_free[rank])
            out_free[rank] = start + cost
            sent[rank].append(start + cost)
            under_way[rank, rest[0]].append(start + latency)
        elif source is None:
            clock[rank] = max(clock[rank], sent[rank][rest[0][position]])
        else:
            start = under_way[source, rank].popleft()
            for begin, end in sorted(came_in[rank]):
                if begin < start + cost and start < end:
                    start = end
            came_in[rank].append((start, start + cost))
            clock[rank] = max(clock[rank], start + cost)
        try:
            actions[rank] = ranks[rank].send(told)
        except StopIteration as end:
            seen[rank] = end.value
            del actions[rank]
    return seen, clock


def play(comm, seed, nbytes, **counts):
    """The same on a communicator."""
    me = ranks_of(seed, **counts)[comm.rank]
    sends, receives, told = [], {}, None
    while True:
        try:
            verb, *rest = me.send(told)
        except StopIteration as end:
            return end.value, comm.now()
        if verb == "work":
            comm.work(seconds=rest[0])
        elif verb == "send":
            told = len(sends)
            sends.append(comm.isend(Phantom(nbytes), rest[0]))
        elif verb == "recv":
            told = comm.recv(Phantom(nbytes), ANY)
        else:
            for what in rest[0]:
                if not isinstance(what, int) and what not in receives:
                    receives[what] = comm.irecv(Phantom(nbytes), what[1])
            told = comm.wait_any(
                [sends[what] if isinstance(what, int) else receives[what] for what in rest[0]]
            )
            receives.pop(rest[0][told], None)


@given(
    seed=st.integers(0, 2**32),
    servers=st.integers(1, 4),
    clients=st.integers(1, 6),
    rounds=st.integers(1, 5),
    latency=st.sampled_from([0.5, 5.0, 50.0]),
    nbytes=st.sampled_from([0, 1, 7]),
)
@settings(max_examples=150)
def test_whoever_comes_first_in_virtual_time_is_served_first(
    seed, latency, nbytes, servers, clients, rounds
):
    counts = {"servers": servers, "clients": clients, "rounds": rounds}
    seen, clocks = in_order_of_time(ranks_of(seed, **counts), latency, 1.0, nbytes)
    run = simulate(
        play, servers + clients, network=Uniform(latency, 1.0), seed=seed, nbytes=nbytes, **counts
    )
    assert [result for result, _ in run.results] == seen
    assert [clock for _, clock in run.results] == clocks


def the_late_one_is_simulated_first(comm):
    """Rank 1 runs before rank 2, yet sends later; rank 3 must wait for 4, and is the earliest."""
    if comm.rank == 0:
        return [comm.recv(Phantom(1), ANY) for _ in range(3)]
    if comm.rank == 3:
        comm.recv(Phantom(1), 4, tag=1)
    comm.work(seconds={1: 100.0, 2: 50.0}.get(comm.rank, 0.0))
    comm.send(*((Phantom(1), 3, 1) if comm.rank == 4 else (Phantom(1), 0)))
    return None


def test_who_is_simulated_first_need_not_be_first():
    run = simulate(the_late_one_is_simulated_first, 5, network=Uniform(1.0, 1.0))
    assert run.results[0] == [3, 2, 1]
