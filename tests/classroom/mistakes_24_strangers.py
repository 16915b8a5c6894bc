"""The usual mistakes without a centre in unit 24, and words of the message for each."""

import numpy as np


def pair(what):
    """Right, but for what is left out or taken instead."""

    def outer_step(comm, weights, slow, velocity, partner, momentum):
        mine = np.stack((weights - slow, slow))
        theirs = np.empty_like(mine)
        if what == "wrong way":
            comm.recv(theirs, partner)
            comm.send(mine, partner)
        comm.sendrecv(mine, partner, theirs, partner)
        change, middle = theirs if what == "theirs" else (mine + theirs) / 2
        pull = 0 if what == "no pull" else middle - slow
        velocity[:] = (1 if what == "no momentum" else momentum) * velocity + change + pull
        if what != "untouched":
            slow += velocity

    return outer_step


def joiner(what):
    def take_over(comm, state, giver, joiner):
        part = state[0] if what == "weights only" else state
        if what == "all take":
            others = [rank for rank in range(comm.size) if rank != giver]
            if comm.rank == giver:
                for rank in others:
                    comm.send(state, rank)
            else:
                comm.recv(state, giver)
        elif what == "both wait":
            comm.recv(state, giver if comm.rank == joiner else joiner)
        elif comm.rank == giver:
            comm.send(part, joiner)
            if what == "twice":
                comm.send(part, joiner)
        elif comm.rank == joiner:
            comm.recv(part, giver)
            if what == "twice":
                comm.recv(part, giver)

    return take_over


def replay(steps=None, worker=None, close=False, always=None, weights_too=False):
    def is_honest(claimed, weights, gradient, rate, number, workers, given):
        mine = weights.copy()
        begun = weights.copy()
        for step in given if steps is None else steps(given):
            mine -= rate * gradient(mine, worker if worker else number, workers, step)
        change = mine if weights_too else mine - begun
        if always is not None:
            return always
        if close == "size":
            return np.allclose(abs(change), abs(claimed))
        return np.allclose(change, claimed) if close else np.array_equal(change, claimed)

    return is_honest


MISTAKES = [
    ("24.pair", lambda *given: None, "slow is as it was"),
    ("24.pair", pair("untouched"), "slow is as it was"),
    ("24.pair", pair("no pull"), "way to the middle is missing"),
    ("24.pair", pair("theirs"), "the partner's numbers"),
    ("24.pair", pair("no momentum"), "slow += momentum * velocity"),
    ("24.pair", pair("wrong way"), "comm.sendrecv does both"),
    ("24.joiner", lambda *given: None, "receive into it"),
    ("24.joiner", joiner("weights only"), "both rows must travel"),
    ("24.joiner", joiner("all take"), "Only the joiner takes it"),
    ("24.joiner", joiner("both wait"), "All ranks wait to receive"),
    ("24.joiner", joiner("twice"), "sends its state once"),
    ("24.median", lambda rows: None, "yours returns None"),
    ("24.median", lambda rows: rows.mean(axis=0), "one liar can move"),
    ("24.median", lambda rows: np.median(rows, axis=1), "along the other axis"),
    ("24.median", lambda rows: np.median(rows), "take it along axis 0"),
    ("24.median", lambda rows: np.sort(rows, axis=0)[len(rows) // 2], "two in the middle"),
    ("24.median", lambda rows: rows[len(rows) // 2], "sort each coordinate first"),
    ("24.median", lambda rows: rows.max(axis=0), "and take the middle"),
    ("24.bears", lambda workers: None, "yours returns None"),
    ("24.bears", lambda workers: workers // 2, "one of the two middle numbers"),
    ("24.bears", lambda workers: (workers - 1) / 2, "round down"),
    ("24.bears", lambda workers: max(0, (workers - 3) // 2), "what Krum bears"),
    ("24.bears", lambda workers: workers, "Fewer than half"),
    ("24.replay", lambda *given: None, "yours returns None"),
    ("24.replay", replay(always=True), "opposite of the change is believed"),
    ("24.replay", replay(always=False), "honest change is refused"),
    ("24.replay", replay(weights_too=True), "honest change is refused"),
    ("24.replay", replay(close="size"), "opposite of the change is believed"),
    ("24.replay", replay(close=True), "last bit is a lie"),
]
