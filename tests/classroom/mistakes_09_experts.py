"""The usual mistakes with the experts of unit 09, and words of the message that must name each."""

import numpy as np


def places(wanted, experts, room):
    taken, own = [0] * experts, []
    for expert in wanted:
        own.append(taken[expert] if taken[expert] < room else -1)
        taken[expert] += 1
    return own


def from_one(*given):
    return [place + 1 if place >= 0 else -1 for place in places(*given)]


def left_out(*given):
    return [place for place in places(*given) if place >= 0]


def of_all(wanted, experts, room):
    return [token if token < room else -1 for token in range(len(wanted))]


def to_all(into=lambda rank, step, size: (rank - step) % size, whole=False, own=True):
    """The solution, with one thing done in another way."""

    def all_to_all(comm, boxes):
        arrived = np.array(boxes)
        if not own:
            arrived[comm.rank] = 0
        for step in range(1, comm.size):
            above, below = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
            place = into(comm.rank, step, comm.size)
            if whole:
                every = np.empty_like(boxes)
                comm.sendrecv(boxes, above, every, below)
                arrived[place] = every[comm.rank]
            else:
                comm.sendrecv(boxes[above], above, arrived[place], below)
        return arrived

    return all_to_all


def one_after_the_other(comm, boxes):
    arrived = np.array(boxes)
    for rank in range(comm.size):
        if rank != comm.rank:
            comm.send(boxes[rank], rank)
            comm.recv(arrived[rank], rank)
    return arrived


def layer(residual=True, arrives=True, returns=True):
    """The solution, with one thing done in another way."""

    def expert_layer(comm, x, wanted, room, w):
        own, all_to_all = places(wanted, comm.size, room), to_all()
        boxes = np.zeros((comm.size, room, x.shape[1]))
        for token, (expert, place) in enumerate(zip(wanted, own, strict=True)):
            if place >= 0:
                boxes[expert, place] = x[token]
        arrived = all_to_all(comm, boxes)
        answers = np.maximum((arrived if arrives else boxes) @ w, 0)
        answers = all_to_all(comm, answers) if returns else answers
        y = x.copy() if residual else 0 * x
        for token, (expert, place) in enumerate(zip(wanted, own, strict=True)):
            if place >= 0:
                y[token] += answers[expert, place]
        return y

    return expert_layer


def in_order(rows):
    return [[2 * rank, 2 * rank + 1] for rank in range(8)]


MISTAKES = [
    ("09.capacity", lambda wanted, _, room: places(wanted, 4, 99), "You forgot the room"),
    ("09.capacity", from_one, "counted from 0"),
    ("09.capacity", lambda wanted, _, room: [0], "the return stands inside the loop"),
    ("09.capacity", left_out, "is in the list as well, as -1"),
    ("09.capacity", of_all, "Each expert counts its own tokens"),
    ("09.capacity", lambda wanted, _, room: places(wanted, 4, room + 1), "one place too many"),
    ("09.capacity", lambda wanted, _, room: places(wanted, 4, room - 1), "one place too few"),
    ("09.capacity", lambda *_: None, "returns None"),
    ("09.all_to_all", lambda comm, boxes: boxes, "These are the rank's own boxes"),
    (
        "09.all_to_all",
        to_all(lambda rank, step, size: (rank + step) % size),
        "from the rank below",
    ),
    ("09.all_to_all", to_all(own=False), "A rank's box for itself"),
    ("09.all_to_all", to_all(whole=True), "send to each rank its box alone"),
    ("09.all_to_all", one_after_the_other, "Each send needs a receive with the same partner"),
    ("09.all_to_all", lambda comm, boxes: None, "returns None"),
    ("09.experts", layer(residual=False), "The residual path is missing"),
    ("09.experts", layer(arrives=False), "it answers those that arrived"),
    ("09.experts", layer(returns=False), "a second all_to_all sends them back"),
    ("09.experts", lambda comm, x, *_: x, "The tokens are as they were"),
    ("09.experts", lambda *_: None, "returns None"),
    ("09.place", in_order, "A pass takes 6.2 ms, and the goal is 1.9 ms. Rank 2 computes 1448"),
    ("09.place", lambda rows: [[*range(16)]] * 8, "Rank 0 holds 16 experts"),
    ("09.place", lambda rows: [[1, 1]] * 8, "Rank 0 holds an expert twice"),
    ("09.place", lambda rows: [[1, 16]] * 8, "There are experts 0 to 15"),
    ("09.place", lambda rows: [[0, 1, 2]] * 8, "lie nowhere"),
    ("09.place", lambda rows: [[0, 1]] * 7, "return 8 lists"),
    ("09.place", lambda rows: None, "returns None"),
]
