"""The usual mistakes of unit 03, and words of the message that must name each."""

from itertools import pairwise

import numpy as np


def costs(sizes, seconds, workspace, *, room=max, pieces=slice(None)):
    """Right, but for what the arguments say."""
    sizes = sizes[pieces]
    return sum(seconds[size] for size in sizes), room([workspace[size] for size in sizes])


def front(workspace, seconds, strict=True):
    kept, least = [], np.inf
    for place in np.lexsort((seconds, workspace)):
        if seconds[place] < least or (seconds[place] == least and not strict):
            kept.append(int(place))
            least = seconds[place]
    return kept


def everything(workspace, seconds):
    return list(range(len(workspace)))


def equals_twice(workspace, seconds):
    points = list(zip(workspace, seconds, strict=True))
    return [place for kept in front(workspace, seconds) for place in range(len(points))
            if points[place] == points[kept]] * 2  # fmt: skip


def only_the_ends(workspace, seconds):
    kept = front(workspace, seconds)
    return kept[:1] + kept[1:][-1:]


def unsorted(workspace, seconds):
    return front(workspace, seconds)[::-1]


def as_mask(workspace, seconds):
    mask = np.zeros(len(workspace), bool)
    mask[front(workspace, seconds)] = True
    return mask


def as_points(workspace, seconds):
    return [(workspace[place], seconds[place]) for place in front(workspace, seconds)]


def by_order(batch, sizes):
    pieces = []
    for size in sizes:
        pieces += [size] * (batch // size)
        batch %= size
    return pieces


def largest_first(batch, seconds):
    return by_order(batch, sorted(seconds, reverse=True))


def cheapest_first(batch, seconds):
    return by_order(batch, sorted(seconds, key=lambda size: (seconds[size] / size, size)))


def all_equal(batch, seconds):
    equal = [size for size in seconds if batch % size == 0]
    size = min(equal, key=lambda size: batch // size * seconds[size])
    return [size] * (batch // size)


def one_too_few(batch, seconds):
    return by_order(batch, sorted(seconds, reverse=True))[:-1]


def fastest_alone(batch, seconds):
    return [min(seconds, key=seconds.get)]


def halves(batch, seconds):
    return [batch / 2, batch / 2]


def time_instead(batch, seconds):
    return sum(seconds[size] for size in largest_first(batch, seconds))


def without_limit(batch, sizes, seconds, workspace, limit):
    return seconds, sizes[None, :], np.array([batch])


def strictly_below(batch, sizes, seconds, workspace, limit):
    fits = workspace < limit
    return seconds[fits], sizes[fits][None, :], np.array([batch])


def one_piece(batch, sizes, seconds, workspace, limit):
    fits = workspace <= limit
    return seconds[fits], np.ones((1, fits.sum())), np.array([1])


def columns_of_all(batch, sizes, seconds, workspace, limit):
    return seconds[workspace <= limit], sizes[None, :], np.array([batch])


def swapped(batch, sizes, seconds, workspace, limit):
    fits = workspace <= limit
    return sizes[fits], seconds[fits][None, :], np.array([batch])


def two_things(batch, sizes, seconds, workspace, limit):
    return seconds, sizes


def program_of(workspace, seconds, room, *, low=1.0, least=0.0, scale=1.0):
    layers, c = len(workspace), np.concatenate(seconds)
    matrix = np.zeros((layers + 1, len(c)))
    starts = np.cumsum([0, *map(len, workspace)])
    for layer, (first, last) in enumerate(pairwise(starts)):
        matrix[layer, first:last] = 1
    matrix[layers] = np.concatenate(workspace)
    lows, highs = np.full(layers + 1, low), np.ones(layers + 1)
    lows[layers], highs[layers] = least, room * scale
    return c, matrix, lows, highs


def no_room(workspace, seconds, room):
    c, matrix, low, high = program_of(workspace, seconds, room)
    return c, matrix[:-1], low[:-1], high[:-1]


def room_for_each(workspace, seconds, room):
    c, matrix, low, high = program_of(workspace, seconds, room)
    starts = np.cumsum([0, *map(len, workspace)])
    own = np.zeros((len(workspace), len(c)))
    for layer, (first, last) in enumerate(pairwise(starts)):
        own[layer, first:last] = workspace[layer]
    rooms = np.full(len(workspace), room)
    none = np.zeros(len(workspace))
    return (
        c,
        np.vstack([matrix[:-1], own]),
        np.concatenate([low[:-1], none]),
        np.concatenate([high[:-1], rooms]),
    )


def at_most_one(workspace, seconds, room):
    return program_of(workspace, seconds, room, low=0.0)


def filled(workspace, seconds, room):
    return program_of(workspace, seconds, room, least=room)


def not_to_the_last_byte(workspace, seconds, room):
    return program_of(workspace, seconds, room - 1)


def rows_missing(workspace, seconds, room):
    c, matrix, low, high = program_of(workspace, seconds, room)
    return c, matrix, low[:-1], high


def in_halves(workspace, seconds, room):
    """The fastest point that fits into a half, and the jobs dealt out in turns."""
    jobs = []
    for job, rooms in enumerate(workspace):
        jobs.append((job, max(k for k, own in enumerate(rooms) if own <= room / 2)))
    return [jobs[::2], jobs[1::2]]


def fastest(workspace, seconds, room):
    jobs = [(job, len(rooms) - 1) for job, rooms in enumerate(workspace)]
    return [jobs[::2], jobs[1::2]]


def without_points(workspace, seconds, room):
    return [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def one_stream(workspace, seconds, room):
    first, second = in_halves(workspace, seconds, room)
    return [first + second]


def nine_jobs(workspace, seconds, room):
    first, second = in_halves(workspace, seconds, room)
    return [first, second[:-1]]


def a_job_twice(workspace, seconds, room):
    first, second = in_halves(workspace, seconds, room)
    return [first, second + first[:1]]


def from_1(workspace, seconds, room):
    return [
        [(job + 1, point) for job, point in own] for own in in_halves(workspace, seconds, room)
    ]


def points_from_1(workspace, seconds, room):
    return [[(4, len(workspace[4]))], []]


MISTAKES = [
    ("03.streams", in_halves, "The goal is 14 ms"),
    ("03.streams", fastest, "the workspace has 16 MiB"),
    ("03.streams", without_points, "of pairs (job, point)"),
    ("03.streams", one_stream, "one for each stream"),
    ("03.streams", nine_jobs, "are never done"),
    ("03.streams", a_job_twice, "job 0 is done twice"),
    ("03.streams", from_1, "there is no job 10"),
    ("03.streams", points_from_1, "has no point"),
    ("03.costs", lambda *given: costs(*given, room=sum), "Workspaces do not add up"),
    ("03.costs", lambda *given: costs(*given, room=lambda each: each[-1]), "the largest one"),
    ("03.costs", lambda *given: costs(*given, pieces=slice(1)), "only the first piece"),
    ("03.costs", lambda *given: costs(*given, pieces=slice(-1, None)), "only the last piece"),
    ("03.costs", lambda *given: costs(*given)[::-1], "return the time first"),
    ("03.costs", lambda *given: costs(*given)[0], "return the time and the workspace"),
    ("03.pareto", everything, "is no larger and no slower"),
    ("03.pareto", lambda workspace, seconds: front(workspace, seconds, strict=False),
     "twice; one of equals is enough"),
    ("03.pareto", equals_twice, "twice; one of equals is enough"),
    ("03.pareto", only_the_ends, "no other point beats it"),
    ("03.pareto", unsorted, "not by growing workspace"),
    ("03.pareto", as_mask, "not a True or False for each"),
    ("03.pareto", as_points, "return a list of places"),
    ("03.divide", largest_first, "the largest pieces first"),
    ("03.divide", cheapest_first, "the least time for each example first"),
    ("03.divide", all_equal, "All your pieces are equal"),
    ("03.divide", one_too_few, "examples together, and the batch has"),
    ("03.divide", fastest_alone, "examples together, and the batch has"),
    ("03.divide", time_instead, "as a list, not the time"),
    ("03.divide", lambda batch, seconds: [0] * batch, "there is no offer for pieces of 0"),
    ("03.program", without_limit, "the best time without a limit"),
    ("03.program", strictly_below, "exactly the limit fits"),
    ("03.program", one_piece, "only one piece"),
    ("03.program", columns_of_all, "For each unknown c has a number and A a column"),
    ("03.program", swapped, "your program"),
    ("03.program", two_things, "return 3 things, c, A and b"),
    ("03.share", no_room, "the row of all workspaces is missing"),
    ("03.share", room_for_each, "each layer has the whole room"),
    ("03.share", at_most_one, "exactly 1, not at most 1"),
    ("03.share", filled, "which need not be full"),
    ("03.share", not_to_the_last_byte, "may be filled to the last byte"),
    ("03.share", rows_missing, "there must be one for each row"),
]  # fmt: skip
