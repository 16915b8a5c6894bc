"""Where even the chain of steps is not sequential: linear recurrences.

    h_t = a_t * h_(t-1) + b_t            (element by element, from h = 0)

Two steps in a row are again such a step: first (a, b), then (a', b') is (a' a, a' b + b'). That is
associative, so brackets may stand anywhere, and all h_t come from a *prefix sum* of pairs:

    `in_order`     T steps deep,          T combinations
    `doubling`     log2 T deep,           T log2 T combinations      (Hillis and Steele, 1986)
    `sweeps`       2 log2 T deep,         2 T combinations           (Blelloch, 1990)

With a tanh between the steps what two of them do is no longer one step. So many models keep the
recurrence linear and put the nonlinearity between layers (Martin and Cundy, "Parallelizing linear
recurrent neural nets over sequence length", ICLR 2018). Others scan several times, with tangents
in place of the tanh: Newton's method (Lim et al. 2024). Arrays are (steps, ...), of NumPy or
torch; autograd passes through all three.
"""

from ddl_teach.operators.arrays import Array, library


def in_order(a: Array, b: Array) -> Array:
    """All states, one step after another."""
    _check(a, b)
    states = [b[0]]
    for decay, more in zip(a[1:], b[1:], strict=True):
        states.append(decay * states[-1] + more)
    return library(b).stack(states)


def doubling(a: Array, b: Array) -> Array:
    """All states: in round k every step takes in those that end 2^k steps before it."""
    return doubling_pairs(a, b)[1]


def doubling_pairs(a: Array, b: Array) -> tuple[Array, Array]:
    """For every step the pair that stands for all steps up to it: products of a, and states."""
    _check(a, b)
    join, distance = library(b).concatenate, 1
    while distance < len(b):
        later, earlier = slice(distance, None), slice(None, -distance)
        b = join([b[:distance], a[later] * b[earlier] + b[later]])
        a = join([a[:distance], a[later] * a[earlier]])
        distance *= 2
    return a, b


def sweeps(a: Array, b: Array) -> Array:
    """All states: neighbours become one step, half as many steps are solved, and from their states
    come those between."""
    _check(a, b)
    if len(b) == 1:
        return b
    first, second, between = slice(0, len(b) // 2 * 2, 2), slice(1, None, 2), slice(2, None, 2)
    solved = sweeps(a[second] * a[first], a[second] * b[first] + b[second])
    states = library(b).empty_like(b)
    states[0], states[second] = b[0], solved
    states[between] = a[between] * solved[: (len(b) - 1) // 2] + b[between]
    return states


def gradients(a: Array, states: Array, of_states: Array) -> tuple[Array, Array]:
    """The gradients of a and b: again a linear recurrence, backwards, with the next step's a."""
    numbers = library(a)
    next_a = numbers.concatenate([a[1:], a[:1]])  # the last step's is never used
    of_b = numbers.flip(doubling(numbers.flip(next_a, (0,)), numbers.flip(of_states, (0,))), (0,))
    before = numbers.concatenate([0 * states[:1], states[:-1]])
    return of_b * before, of_b


def _check(a: Array, b: Array) -> None:
    if a.shape != b.shape or not len(b):
        shapes = f"a of shape {tuple(a.shape)} and b of shape {tuple(b.shape)}"
        raise ValueError(f"{shapes}: both need one shape (steps, ...), with at least one step")
