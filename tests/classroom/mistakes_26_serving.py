"""The usual mistakes with caches, batches and guesses in unit 26, and words of the message."""

import numpy as np

from ddl_teach.plain.speculative_decoding import draw


def decode(itself=True, scale=True):
    """Right, but for what the arguments say."""

    def of(q, k, v, keys, values):
        if itself:
            keys, values = np.vstack([keys, k]), np.vstack([values, v])
        weights = np.exp(keys @ q / (np.sqrt(len(q)) if scale else 1))
        return weights @ values / weights.sum()

    return of


def enter(change=""):
    """Right, but for what the word says."""

    def into(waiting, running, most, free):
        while waiting and (change == "crowd" or len(running) < most):
            if waiting[0] > free and change != "full":
                break
            free -= waiting[0] if change != "uncounted" else 0
            running.append(waiting.pop(-1 if change == "last" else 0))
        return running, free

    return into


def smaller_first(waiting, running, most, free):
    for need in list(waiting):
        if len(running) < most and need <= free:
            running.append(need)
            free -= need
    return running, free


def accept(keep=False, reject=False, from_p=False, upside_down=False):
    def of(p, q, token, number, second):
        stays = number * p[token] < q[token] if upside_down else number * q[token] < p[token]
        if (stays or keep) and not reject:
            return token
        return draw(p if from_p else np.maximum(p - q, 0), second)

    return of


MISTAKES = [
    ("26.cache_bytes", lambda layers, heads, width, itemsize: None, "yours returns None"),
    ("26.cache_bytes", lambda *sizes: np.prod(sizes), "That is half of it"),
    ("26.cache_bytes", lambda layers, heads, width, size: 2 * heads * width * size, "Each layer"),
    ("26.cache_bytes", lambda layers, heads, width, size: 2 * layers * heads * width, "numbers"),
    ("26.cache_bytes", lambda layers, heads, width, size: 2 * layers * width * size, "Each head"),
    ("26.cache_bytes", lambda *sizes: 12345, "Multiply: two"),
    ("26.decode", lambda q, k, v, keys, values: None, "return the output"),
    ("26.decode", decode(itself=False), "must see itself"),
    ("26.decode", decode(scale=False), "square root"),
    ("26.decode", lambda q, k, v, keys, values: v, "the new value"),
    ("26.decode", lambda q, k, v, keys, values: q, "times the values"),
    ("26.slot", lambda table, size, at: None, "yours returns None"),
    ("26.slot", lambda table, size, at: table[0] * size + at, "one after another"),
    ("26.slot", lambda table, size, at: at, "place in its request"),
    ("26.slot", lambda table, size, at: table[at // size], "number of the block"),
    ("26.slot", lambda table, size, at: table[at // size] * size, "add the place"),
    ("26.slot", lambda table, size, at: table[at // size] + at % size, "times the size"),
    ("26.slot", lambda table, size, at: -3, "plus the rest"),
    ("26.enter", lambda waiting, running, most, free: None, "return running and free"),
    ("26.enter", lambda waiting, running, most, free: (running, free), "was not let in"),
    ("26.enter", enter("crowd"), "more than"),
    ("26.enter", enter("full"), "no room"),
    ("26.enter", enter("last"), "in their order"),
    ("26.enter", smaller_first, "in their order"),
    ("26.enter", enter("uncounted"), "free tokens are wrong"),
    (
        "26.enter",
        lambda waiting, running, most, free: (enter()(waiting, running, most, free)[0], free),
        "free tokens are wrong",
    ),
    ("26.accept", lambda p, q, token, number, second: None, "yours returns None"),
    ("26.accept", accept(keep=True), "you kept it"),
    ("26.accept", accept(reject=True), "This guess is accepted"),
    ("26.accept", accept(from_p=True), "draw the other token from p"),
    ("26.accept", accept(upside_down=True), "This guess"),
    ("26.accept", lambda p, q, token, number, second: 7, "with `second`"),
    ("26.expected", lambda acceptance, guesses: None, "yours returns None"),
    (
        "26.expected",
        lambda acceptance, guesses: sum(acceptance**k for k in range(1, guesses + 1)),
        "adds one token in any case",
    ),
    ("26.expected", lambda acceptance, guesses: guesses * acceptance, "none of the later"),
    ("26.expected", lambda acceptance, guesses: guesses * acceptance + 1, "none of the later"),
    ("26.expected", lambda acceptance, guesses: -1, "one term for each"),
    ("26.serve", lambda cards: None, "return the pools"),
    ("26.serve", lambda cards: ([(8, 1)] * 3, 64, 64), "Give one pool, or two"),
    ("26.serve", lambda cards: ([(8, 0)], 64, 64), "at least 1"),
    ("26.serve", lambda cards: ([(3, 1)], 64, 64), "1, 2, 4 or 8"),
    ("26.serve", lambda cards: ([(8, 2)], 64, 64), "That takes 16 cards"),
    ("26.serve", lambda cards: ([(1, 8)], 64, 10**9), "Nine in ten get a token"),
    ("26.serve", lambda cards: ([(4, 2)], 64, 128), "first token within"),
]
