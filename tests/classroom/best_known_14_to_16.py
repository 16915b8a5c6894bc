"""The puzzles of units 14 to 16: how the house reached the best that it knows."""

import numpy as np

# Where the best sum of four workers cuts 2^17 numbers: a fifth goes round the ring, in two halves
# of six steps each, and at each of the first eleven of them a piece of the rest goes to the spare
# machines. A search began with equal pieces, and kept each change that was faster.
TO_THE_RING, HALVES, PIECES = 27_500, 2, (*[1.0] * 9, 0.96, 0.875)


def best_spares(comm, x):
    """The solution's two ways, but piece by piece with the steps of the ring."""
    cut = TO_THE_RING * len(x) // 2**17
    own, rest = x[:cut], x[cut:]
    step_by_step, under_way = _ring_steps(comm, own), []
    for turn in range(12):
        arriving = np.zeros((4, 0))
        if comm.rank < 4:
            for server in range(3):
                if turn < 11:
                    under_way.append(comm.isend(_piece(rest, server, turn), 4 + server))
                if turn > 0:
                    under_way.append(comm.irecv(_piece(rest, server, turn - 1), 4 + server))
            under_way += next(step_by_step)
        else:
            if turn < 11:
                arriving = np.empty((4, len(_piece(rest, comm.rank - 4, turn))))
                under_way += [comm.irecv(arriving[rank], rank) for rank in range(4)]
            if turn > 0:
                mine = _piece(rest, comm.rank - 4, turn - 1)
                under_way += [comm.isend(mine, rank) for rank in range(4)]
        while under_way:
            under_way.pop(0).wait()
        if arriving.size:
            _piece(rest, comm.rank - 4, turn)[...] = arriving.sum(axis=0)
    assert comm.rank >= 4 or next(step_by_step, None) is None  # the ring is through


def _piece(rest, server, number):
    """A piece of a server's third."""
    third = np.array_split(rest, 3)[server]
    cuts = np.round(np.cumsum([0, *PIECES]) / sum(PIECES) * len(third)).astype(int)
    return third[cuts[number] : cuts[number + 1]]


def _ring_steps(comm, x):
    """The requests of each step of the workers' ring, which are waited for outside."""
    for part in np.array_split(x, HALVES):
        chunks = np.array_split(part, 4)
        for step in range(6):
            adds = step < 3
            shift = step if adds else step - 4
            outgoing, incoming = (comm.rank - shift) % 4, (comm.rank - shift - 1) % 4
            into = np.empty_like(chunks[incoming]) if adds else chunks[incoming]
            left, right = (comm.rank - 1) % 4, (comm.rank + 1) % 4
            yield [comm.irecv(into, left), comm.isend(chunks[outgoing], right)]
            if adds:
                chunks[incoming] += into


def best_on_the_link(totals, step):
    """The solution, with numbers from a search that began there and kept what was faster: a few
    more entries from step to step, and a rate that grows a little."""
    arrived = np.zeros_like(totals)
    for row, total in zip(arrived, totals, strict=True):
        places = np.argsort(-np.abs(total))[: int(ENTRIES * (1 + 0.007 * step))]
        row[places] = SHARE * np.sign(total[places]) * np.abs(total[places]).mean()
    return arrived, 1.68 / (1 - 0.005 * step)


ENTRIES, SHARE = 38.4, 0.99


def best_plan(seconds):
    """Three rounds, and in the last most of the steps: of all ways to part steps into up to three
    rounds, each with its best rates, the one with the fewest steps."""
    return [(rate, [most] * 7 + [most // 5]) for rate, most in PLAN]


PLAN = (1.95, 13), (0.682, 21), (0.171, 60)
BEST = {"14.plan": best_plan, "15.spares": best_spares, "16.link": best_on_the_link}
