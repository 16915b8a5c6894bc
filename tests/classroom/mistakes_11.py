"""The usual mistakes of unit 11, and words of the message that must name each."""

import numpy as np

from ddl_runtime.core.arrays import split_evenly
from ddl_teach.collectives.ring import allgather, allreduce, reduce_scatter


def own_of(comm, x):
    return split_evenly(x, comm.size)[comm.rank]


def stage_one(comm, weights, gradient, moment, rate, *, mean=None, hand_out=True, sign=-1):
    """Right but for what its arguments say."""
    if mean is None:
        mean = reduce_scatter(comm, gradient) / comm.size
    moment *= 0.9
    moment += mean
    own = own_of(comm, weights)
    own += sign * rate * moment
    if hand_out:
        allgather(comm, weights)


def the_sum(comm, weights, gradient, moment, rate):
    stage_one(comm, weights, gradient, moment, rate, mean=reduce_scatter(comm, gradient))


def not_handed_out(comm, weights, gradient, moment, rate):
    stage_one(comm, weights, gradient, moment, rate, hand_out=False)


def uphill(comm, weights, gradient, moment, rate):
    stage_one(comm, weights, gradient, moment, rate, sign=1)


def all_reduced(comm, weights, gradient, moment, rate):
    allreduce(comm, gradient)
    stage_one(comm, weights, gradient, moment, rate, mean=own_of(comm, gradient) / comm.size)


def without_moment(comm, weights, gradient, moment, rate):
    own = own_of(comm, weights)
    own -= rate * reduce_scatter(comm, gradient) / comm.size
    allgather(comm, weights)


def moment_not_kept(comm, weights, gradient, moment, rate):
    stage_one(comm, weights, gradient, moment.copy(), rate)


def weights_not_kept(comm, weights, gradient, moment, rate):
    stage_one(comm, weights.copy(), gradient, moment, rate)


def own_gradient(comm, weights, gradient, moment, rate):
    stage_one(comm, weights, gradient, moment, rate, mean=own_of(comm, gradient))


def rate_in_the_moment(comm, weights, gradient, moment, rate):
    mean = rate * reduce_scatter(comm, gradient) / comm.size
    stage_one(comm, weights, gradient, moment, 1, mean=mean)


def half_the_rate(comm, weights, gradient, moment, rate):
    stage_one(comm, weights, gradient, moment, rate / 2)


def each(change):
    def keep_own(comm, gradients):
        for place, gradient in enumerate(gradients):
            gradients[place] = change(comm, gradient)

    return keep_own


def whole_mean(comm, gradient):
    allreduce(comm, gradient)
    return gradient / comm.size


def a_view(comm, gradient):
    gradient /= comm.size
    return reduce_scatter(comm, gradient)


def mean_of_all(comm, gradient):
    allreduce(comm, gradient)
    return own_of(comm, gradient) / comm.size


def neighbours_part(comm, gradient):
    allreduce(comm, gradient)
    return split_evenly(gradient, comm.size)[(comm.rank + 1) % comm.size] / comm.size


def appended(comm, gradients):
    gradients += [reduce_scatter(comm, gradient) / comm.size for gradient in gradients]


def stage_three(comm, parts, x, target, *, again=True, finish=None, order=-1):
    width, outputs, own, whole = x.shape[1], [x], [], []

    def gathered(part):
        flat = np.empty(width * width)
        own_of(comm, flat)[:] = part
        allgather(comm, flat)
        return flat.reshape(width, width)

    for part in parts:
        whole.append(gathered(part))
        outputs.append(np.tanh(outputs[-1] @ whole[-1]))
    error = outputs[-1] - target
    for place in reversed(range(len(parts))):
        weights = gathered(parts[place]) if again else whole[place]
        inner = error * (1 - outputs[place + 1] ** 2)
        gradient = (outputs[place].T @ inner).ravel()
        error = inner @ weights.T
        own.append((finish or averaged)(comm, gradient))
    return own[::order]


def averaged(comm, gradient):
    return reduce_scatter(comm, gradient) / comm.size


def weights_kept(comm, parts, x, target):
    return stage_three(comm, parts, x, target, again=False)


def backward_order(comm, parts, x, target):
    return stage_three(comm, parts, x, target, order=1)


def summed(comm, parts, x, target):
    return stage_three(comm, parts, x, target, finish=reduce_scatter)


def whole_gradients(comm, parts, x, target):
    return stage_three(comm, parts, x, target, finish=whole_mean)


def not_summed(comm, parts, x, target):
    return stage_three(comm, parts, x, target, finish=lambda comm, g: own_of(comm, g).copy())


def gradients_all_reduced(comm, parts, x, target):
    return stage_three(comm, parts, x, target, finish=mean_of_all)


def update(state, weights, gradient, rate):
    state *= 0.9
    state += gradient
    weights -= rate * state


def one_by_one(comm, weights, gradient, moment, bucket, rate, *, back=True, idle=True):
    if comm.rank == 1:
        for start in range(0, len(moment), bucket):
            part = moment[start : start + bucket]
            comm.send(part, 0)
            comm.recv(part if back else part.copy(), 0)
    if comm.rank == 0:
        for start in range(0, len(weights), bucket):
            mine = weights[start : start + bucket]
            state = np.empty(len(mine))
            comm.recv(state, 1)
            update(state, mine, gradient[start : start + bucket], rate)
            comm.send(state, 1)
    if comm.rank > 1 and not idle:
        comm.sendrecv(np.zeros(1), comm.rank, np.zeros(1), comm.rank)


def all_at_once(comm, weights, gradient, moment, bucket, rate):
    one_by_one(comm, weights, gradient, moment, 10**6, rate)


def not_stored(comm, weights, gradient, moment, bucket, rate):
    one_by_one(comm, weights, gradient, moment, bucket, rate, back=False)


def everybody_sends(comm, weights, gradient, moment, bucket, rate):
    one_by_one(comm, weights, gradient, moment, bucket, rate, idle=False)


def gradients_travel(comm, weights, gradient, moment, bucket, rate):
    if comm.rank == 0:
        for start in range(0, len(weights), bucket):
            part = gradient[start : start + bucket]
            comm.send(part, 1)
            new = np.empty(len(part))
            comm.sendrecv(part, 1, new, 1)
            weights[start : start + bucket] -= rate * new
    if comm.rank == 1:
        for start in range(0, len(moment), bucket):
            part = moment[start : start + bucket]
            theirs = np.empty(len(part))
            comm.recv(theirs, 0)
            part *= 0.9
            part += theirs
            comm.sendrecv(part, 0, theirs, 0)


def no_moment(comm, weights, gradient, moment, bucket, rate):
    if comm.rank == 0:
        weights -= rate * gradient


def keep_all(layers):
    return list(range(layers))


def forget_all(layers):
    return [list(range(layers))]


def forget_the_last(layers):
    count = max(1, round(layers**0.5))
    cuts = [layers * k // count for k in range(count + 1)]
    return [list(range(cuts[k], cuts[k + 1])) for k in range(count)]


def halves(layers):
    return [list(range(layers // 2)), *range(layers // 2, layers)]


def nested(layers):
    return [[list(range(layers // 2))], *range(layers // 2, layers)]


def clipped(comm, gradients, limit, *, norm=None, grow=False, keep=False):
    """Right but for what its arguments say."""
    own = sum((part**2).sum() for part in gradients)
    squares = np.array([own])
    allreduce(comm, squares)
    norm = np.sqrt(squares[0]) if norm is None else norm(comm, np.sqrt(own))
    for part in gradients:
        part *= 1 if keep else limit / norm if grow else min(1, limit / norm)
    return float(norm)


def by_own_norm(comm, gradients, limit):
    return clipped(comm, gradients, limit, norm=lambda comm, own: own)


def by_sum_of_norms(comm, gradients, limit):
    def added(comm, own):
        norms = np.array([own])
        allreduce(comm, norms)
        return norms[0]

    return clipped(comm, gradients, limit, norm=added)


def each_by_its_own(comm, gradients, limit):
    for part in gradients:
        part *= min(1, limit / np.sqrt((part**2).sum()))


def makes_longer(comm, gradients, limit):
    return clipped(comm, gradients, limit, grow=True)


def leaves_them(comm, gradients, limit):
    return clipped(comm, gradients, limit, keep=True)


def makes_one_of_them(comm, gradients, limit):
    norm = clipped(comm, gradients, limit)
    gradients[:] = [np.concatenate(gradients)]
    return norm


def adds_one(comm, gradients, limit):
    gradients.append(np.zeros(3))
    return clipped(comm, gradients, limit)


def twice(comm, gradients, limit):
    clipped(comm, gradients, limit)
    return clipped(comm, gradients, limit / 3)


def returns_nothing(comm, gradients, limit):
    clipped(comm, gradients, limit)


def sends_all(comm, gradients, limit):
    squares = np.concatenate(gradients) ** 2
    allreduce(comm, squares)
    norm = float(np.sqrt(squares.sum()))
    for part in gradients:
        part *= min(1, limit / norm)
    return norm


def held_of(kinds, shared, ranks):
    """The bytes of these kinds, the first few of which are shared."""
    return sum(each / ranks if place < shared else each for place, each in enumerate(kinds))


KINDS = (12, 2, 2)  # bytes for each weight


def uniform(*words, many=12):
    """The same words for all layers."""
    return lambda: [words] * many


MISTAKES = [
    ("11.held", lambda w, p, s: 16 * w, "if nothing is shared"),
    ("11.held", lambda w, p, s: 16 * w / p, "Only stage 3 does that"),
    ("11.held", lambda w, p, s: w * held_of(KINDS, s + 1, p), "one stage further"),
    ("11.held", lambda w, p, s: w * held_of(KINDS[::-1], s, p), "The states come first"),
    ("11.held", lambda w, p, s: w * held_of(KINDS, min(s, 1), p), "stands inside the loop"),
    ("11.held", lambda w, p, s: w * held_of(KINDS, s, p) / 1e9, "Return bytes"),
    ("11.held", lambda w, p, s: None, "Is a `return` missing?"),
    ("11.plan", uniform("keep", "whole", "here"), "there is room for"),
    ("11.plan", uniform("again", "shards", "host"), "and the goal"),
    ("11.plan", uniform("again", "sharded", "host"), "is no choice for its weights"),
    ("11.plan", uniform("again", "shards"), "return three words"),
    ("11.plan", uniform("again", "shards", "host", many=11), "12 triples"),
    ("11.clip", by_own_norm, "by the norm of its own parts"),
    ("11.clip", by_sum_of_norms, "norms do not add up"),
    ("11.clip", each_by_its_own, "each part was shortened by its own norm"),
    ("11.clip", makes_longer, "were made longer"),
    ("11.clip", leaves_them, "are unchanged"),
    ("11.clip", twice, "begins with"),
    ("11.clip", makes_one_of_them, "no longer holds the 2 vectors"),
    ("11.clip", adds_one, "no longer holds the 2 vectors"),
    ("11.clip", returns_nothing, "Is a `return` missing?"),
    ("11.clip", lambda *given: np.array([clipped(*given)]), "one number, not ["),
    ("11.clip", lambda *given: clipped(*given) ** 2, "instead of their norm"),
    ("11.clip", sends_all, "One number is enough"),
    ("11.states", the_sum, "You used the sum"),
    ("11.states", not_handed_out, "Send the parts round"),
    ("11.states", uphill, "You added the update"),
    ("11.states", all_reduced, "One all-gather too many"),
    ("11.states", without_moment, "The old moment is missing"),
    ("11.states", moment_not_kept, "moment is not what the next step needs"),
    ("11.states", weights_not_kept, "weights are unchanged"),
    ("11.states", own_gradient, "the rank's own gradient"),
    ("11.states", rate_in_the_moment, "The moment becomes 0.9"),
    ("11.states", half_the_rate, "has wrong weights: number"),
    ("11.gradients", each(whole_mean), "still as long as the whole layer"),
    ("11.gradients", each(a_view), "only a view"),
    ("11.gradients", each(reduce_scatter), "is the sum, and the mean"),
    ("11.gradients", each(own_of), "the rank's own gradient"),
    ("11.gradients", each(lambda comm, g: reduce_scatter(comm, g).copy()), "is the sum"),
    ("11.gradients", each(lambda comm, g: own_of(comm, g).copy()), "the rank's own gradient"),
    ("11.gradients", each(mean_of_all), "One all-gather too many"),
    ("11.gradients", each(neighbours_part), "is not its part of the mean"),
    ("11.gradients", appended, "must keep its three places"),
    ("11.parameters", weights_kept, "you kept a layer's whole weights"),
    ("11.parameters", backward_order, "last layer first"),
    ("11.parameters", lambda comm, parts, x, target: None, "return a list of 3 vectors"),
    ("11.parameters", whole_gradients, "still as long as the whole layer"),
    ("11.parameters", not_summed, "the rank's own gradient"),
    ("11.parameters", gradients_all_reduced, "One all-gather too many"),
    ("11.offload", one_by_one, "idle in one direction"),
    ("11.offload", all_at_once, "room for two buckets"),
    ("11.offload", not_stored, "the host's moment is not updated"),
    ("11.offload", everybody_sends, "sends something"),
    ("11.offload", gradients_travel, "weights and gradients stay"),
    ("11.offload", no_moment, "weights are wrong"),
    ("11.stretches", keep_all, "You keep everything"),
    ("11.stretches", forget_all, "You drop everything"),
    ("11.stretches", forget_the_last, "do not drop the last stretch"),
    ("11.stretches", halves, "take k near the square root"),
    ("11.stretches", nested, "lists in lists"),
    ("11.stretches", lambda layers: [*range(layers - 1)], "layer 8 is not in it"),
    ("11.stretches", lambda layers: 3, "a plan is a list"),
]
