"""The usual mistakes of unit 08, and words of the message that must name each."""

import numpy as np

from ddl_teach import Comm
from ddl_teach.collectives import ring
from ddl_teach.networks.data_parallel import arrays
from ddl_teach.theory.data_parallel import bucket_groups, last_first

Arrays = list[np.ndarray]
Groups = list[list[int]]


def step(comm, weights, x, y, rate, *, add=True, divide=True, add_weights=False, new=False):
    """Right, but for what the arguments say."""
    gradient = 2 * x.T @ (x @ weights - y) / len(y)
    if add_weights:
        ring.allreduce(comm, weights)
    if add:
        ring.allreduce(comm, gradient)
    gradient /= comm.size if divide else 1
    if new:
        weights = weights - rate * gradient
    else:
        weights -= rate * gradient


def only_sum(comm: Comm, gradients: Arrays) -> None:
    for gradient in gradients:
        ring.allreduce(comm, gradient)


def divided_twice(comm: Comm, gradients: Arrays) -> None:
    arrays.average(comm, gradients)
    for gradient in gradients:
        gradient /= comm.size


def only_divided(comm: Comm, gradients: Arrays) -> None:
    for gradient in gradients:
        gradient /= comm.size


def only_the_first(comm: Comm, gradients: Arrays) -> None:
    arrays.average(comm, gradients[:1])


def returned(comm: Comm, gradients: Arrays) -> Arrays:
    mine = [gradient.copy() for gradient in gradients]
    arrays.average(comm, mine)
    return mine


def under_another_name(comm: Comm, gradients: Arrays) -> None:
    for gradient in gradients:
        gradient = gradient / comm.size
        ring.allreduce(comm, gradient)


def all_samples(comm: Comm, samples: int) -> float:
    everybodys = np.array([float(samples)])
    ring.allreduce(comm, everybodys)
    return everybodys[0]


def plain(comm: Comm, gradients: Arrays, samples: int) -> None:
    arrays.average(comm, gradients)


def weighted_and_divided(comm: Comm, gradients: Arrays, samples: int) -> None:
    arrays.weighted(comm, gradients, samples)
    for gradient in gradients:
        gradient /= comm.size


def times(comm: Comm, gradients: Arrays, factor: float) -> None:
    for gradient in gradients:
        gradient *= factor
        ring.allreduce(comm, gradient)


def not_divided(comm: Comm, gradients: Arrays, samples: int) -> None:
    times(comm, gradients, samples)


def divided_by_ranks(comm: Comm, gradients: Arrays, samples: int) -> None:
    times(comm, gradients, samples / comm.size)


def not_multiplied(comm: Comm, gradients: Arrays, samples: int) -> None:
    times(comm, gradients, 1 / all_samples(comm, samples))


def strictly_below(sizes: list[int], limit: float) -> Groups:
    return last_first(sizes, limit - 0.5)


def without_the_large(sizes: list[int], limit: float) -> Groups:
    groups = last_first(sizes, limit)
    return [group for group in groups if max(sizes[index] for index in group) <= limit]


# -- overlap: the notebook's helpers, and what is usually wrong with what is made of them ------


def backward(comm: Comm, gradients: Arrays, hook) -> None:
    for index in reversed(range(len(gradients))):
        comm.work(seconds=1e-5 * gradients[index].size)
        hook(index)


def begin(comm: Comm, flat: np.ndarray, tag: int) -> tuple:
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    parts = [flat.copy() for _ in range(comm.size)]
    requests = [comm.irecv(parts[rank], rank, tag) for rank in others]
    return parts, requests + [comm.isend(flat, rank, tag) for rank in others]


def finish(under_way: tuple) -> np.ndarray:
    parts, requests = under_way
    for request in requests:
        request.wait()
    return sum(parts)


def put(flat: np.ndarray, gradients: Arrays, group: list[int]) -> None:
    for index in group:
        size = gradients[index].size
        gradients[index][...] = flat[:size].reshape(gradients[index].shape)
        flat = flat[size:]


def overlapped(
    comm: Comm,
    gradients: Arrays,
    groups: Groups,
    when: str = "full",
    divide: bool = True,
    put_back: int = 99,
) -> None:
    """Right, but for what the arguments say."""
    missing, under_way = [set(group) for group in groups], []

    def leave(number: int) -> None:
        flat = np.concatenate([gradients[index].ravel() for index in groups[number]])
        under_way.append((number, begin(comm, flat, number)))

    def hook(index: int) -> None:
        for number, group in enumerate(missing):
            if index in group:
                group.remove(index)
                if not group and when != "end":
                    leave(number)
                    if when == "waiting":
                        for request in under_way[-1][1][1]:
                            request.wait()

    backward(comm, gradients, hook)
    if when == "end":
        for number in range(len(groups)):
            leave(number)
    for number, one in under_way:
        total = finish(one)
        if number < put_back:
            put(total / comm.size if divide else total, gradients, groups[number])


def at_the_end(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, groups, when="end")


def waiting_in_the_hook(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, groups, when="waiting")


def summed(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, groups, divide=False)


def not_put_back(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, groups, put_back=0)


def one_put_back(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, groups, put_back=1)


def each_alone(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, [[index] for group in groups for index in group])


def all_as_one(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, [[index for group in groups for index in group]])


def not_at_all(comm: Comm, gradients: Arrays, groups: Groups) -> None:
    arrays.average(comm, gradients)


def closed(comm, weights, gradients, groups, *, updates="each", average=True):
    """Right, but for what the arguments say."""
    if updates == "own":
        update(comm, weights, gradients, [index for group in groups for index in group])
    missing, under_way = [set(group) for group in groups], []

    def hook(index: int) -> None:
        for number, group in enumerate(missing):
            if index in group:
                group.remove(index)
                if not group:
                    flat = np.concatenate([gradients[index].ravel() for index in groups[number]])
                    under_way.append((number, begin(comm, flat, number)))

    backward(comm, gradients, hook)
    for number, begun in under_way[::-1] if updates == "turned" else under_way:
        put(finish(begun) / (comm.size if average else 1), gradients, groups[number])
        if updates in ("each", "turned"):
            update(comm, weights, gradients, groups[number])
    for group in {"end": groups, "one": groups[:1]}.get(updates, []):
        update(comm, weights, gradients, group)


def update(comm: Comm, weights: Arrays, gradients: Arrays, group: list[int]) -> None:
    for index in group:
        comm.work(seconds=5e-6 * gradients[index].size)
        weights[index] -= 0.1 * gradients[index]


def closed_at_the_end(comm: Comm, weights: Arrays, gradients: Arrays, groups: Groups) -> None:
    overlapped(comm, gradients, groups, when="end")
    for group in groups:
        update(comm, weights, gradients, group)


def gap_but(spans, kinds=("work",), latest=max, key=None, best=max, turned=False):
    """Right, but for what the arguments say."""
    work = [(begin, end) for kind, begin, end in spans if kind in kinds]
    work.sort(key=key) if key else work.sort()
    gaps, last = [], work[0][1]
    for begin, end in work[1:]:
        gaps.append((last, begin))
        last = latest(last, end)
    gaps = [gap for gap in gaps if best is max or gap[1] > gap[0]]
    gap = best(gaps, key=lambda gap: gap[1] - gap[0])
    return gap[::-1] if turned else gap


MISTAKES = [
    ("08.gap", lambda spans: gap_but(spans, ("work", "send", "span")), "computes nothing. Keep"),
    ("08.gap", lambda spans: gap_but(spans, latest=lambda _, end: end), "the latest end so far"),
    ("08.gap", lambda spans: gap_but(spans, key=lambda span: span[1]), "sort them by their begin"),
    ("08.gap", lambda spans: gap_but(spans, best=lambda gaps, key: gaps[0]), "the first gap"),
    ("08.gap", lambda spans: gap_but([("work", 0, 0), *spans]), "no gap between two"),
    ("08.gap", lambda spans: gap_but(spans, turned=True), "begin of the gap comes first"),
    ("08.gap", lambda spans: gap_but(spans, best=min), "which of these is longest"),
    ("08.gap", lambda spans: np.ptp(gap_but(spans)), "return two numbers"),
    ("08.close", lambda *given: closed(*given, updates="end"), "That is the gap"),
    (
        "08.close",
        lambda *given: closed(*given, updates="turned"),
        "in the order in which they left",
    ),
    ("08.close", closed_at_the_end, "as in your overlapped"),
    ("08.close", lambda *given: closed(*given, updates="own"), "this rank's own gradient"),
    ("08.close", lambda *given: closed(*given, average=False), "step with the sum"),
    ("08.close", lambda *given: closed(*given, updates="one"), "Only one bucket's weights"),
    ("08.close", lambda *given: closed(*given, updates="no"), "call update for each bucket"),
    ("08.step", lambda *given: step(*given, new=True), "`weights -= ...` changes this one"),
    ("08.step", lambda *given: step(*given, add=False, divide=False), "ranks drift apart"),
    ("08.step", lambda *given: step(*given, divide=False), "the sum of the gradients"),
    ("08.step", lambda *given: step(*given, add=False), "added nothing up"),
    ("08.step", lambda *given: step(*given, add=False, add_weights=True), "never travel"),
    ("08.average", only_sum, "divide it by comm.size"),
    ("08.average", divided_twice, "divided twice"),
    ("08.average", only_divided, "added nothing up"),
    ("08.average", only_the_first, "Only the first array"),
    ("08.average", returned, "what you return is not used"),
    ("08.average", under_another_name, "only gives a name to something new"),
    ("08.weighted", plain, "That is the plain average"),
    ("08.weighted", weighted_and_divided, "do not divide by comm.size as well"),
    ("08.weighted", not_divided, "divide by the samples of all ranks together"),
    ("08.weighted", divided_by_ranks, "not by the number of ranks"),
    ("08.weighted", not_multiplied, "Multiply by this rank's own samples"),
    ("08.fill", bucket_groups, "You begin with the first parameter"),
    ("08.fill", lambda sizes, limit: last_first(sizes, limit)[::-1], "in the wrong order"),
    (
        "08.fill",
        lambda sizes, limit: [group[::-1] for group in last_first(sizes, limit)],
        "in each of them the last parameter comes first",
    ),
    ("08.fill", strictly_below, "filled to the last byte is allowed"),
    ("08.fill", without_the_large, "yours loses it"),
    ("08.fill", lambda sizes, limit: last_first(sizes, 0), "Each has a bucket of its own"),
    ("08.fill", lambda sizes, limit: last_first(sizes, limit)[:-1], "The last bucket is missing"),
    ("08.fill", lambda sizes, limit: [[], *last_first(sizes, limit)], "The first bucket is empty"),
    ("08.fill", lambda sizes, limit: last_first(sizes, 2 * limit), "stay within the limit"),
    ("08.fill", lambda sizes, limit: [0], "a list of buckets, each a list"),
    ("08.fill", lambda sizes, limit: None, "yours returns None"),
    (
        "08.order",
        lambda *given: last_first(given[2], 20),
        "in the order in which they become ready",
    ),
    ("08.order", lambda *_: [[layer] for layer in range(12)], "which they are needed. Layer 0"),
    ("08.order", lambda *_: [[11], [*range(11)]], "waits longest before layer 0: 99.4 ms"),
    ("08.order", lambda *_: [[11], [], [*range(11)]], "a bucket is empty"),
    ("08.order", lambda *_: [[12], [*range(12)]], "layers are 0 to 11"),
    ("08.order", lambda *_: [[*range(2, 12)]], "layers [0, 1] never travel"),
    ("08.order", lambda *_: [[0], [*range(12)]], "layers [0] travel twice"),
    ("08.order", lambda *_: [11, 10], "each a list of layers"),
    ("08.order", lambda *_: None, "yours returns None"),
    ("08.overlap", at_the_end, "Nothing leaves before the backward pass is over"),
    ("08.overlap", waiting_in_the_hook, "The hook waits"),
    ("08.overlap", summed, "That is the sum: divide"),
    ("08.overlap", not_put_back, "must be put into them, with unpack"),
    ("08.overlap", one_put_back, "Only one bucket comes back"),
    ("08.overlap", each_alone, "every gradient travelled alone"),
    ("08.overlap", all_as_one, "everything travelled in one piece"),
    ("08.overlap", not_at_all, "begin each bucket once"),
]
