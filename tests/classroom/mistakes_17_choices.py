"""The usual mistakes of unit 17's choices, programs and race, and words that must name each."""

import numpy as np

from ddl_teach.training.tasks.perceptron import softmax


def reinforced(logits, drawn, loss, baseline, rate, *, sign=1, less=True, based=True, add=True):
    """Right, but for what the arguments say."""
    slope = np.eye(len(logits))[drawn] - less * softmax(logits)
    move = sign * rate * (baseline * based - loss) * slope
    return logits + move if add else move


def overflowing(logits, drawn, loss, baseline, rate):
    with np.errstate(all="ignore"):
        likely = np.exp(logits) / np.exp(logits).sum()
    return logits + rate * (baseline - loss) * (np.eye(len(logits))[drawn] - likely)


def front(points, worse=lambda other, row: all(other <= row) and any(other < row), out=True):
    return [n for n, row in enumerate(points) if any(worse(o, row) for o in points) != out]


def regrets(questions, seconds, groups, learn, *, seen=False, alone=False, ending=None):
    result = np.empty(len(questions))
    parts = np.arange(len(groups)) if alone else groups
    for group in set(parts.tolist()):
        held = parts == group
        known = held | ~held if seen else ~held
        chosen = learn(questions[known], seconds[known], questions[held])
        times, rows = seconds[held], np.arange(held.sum())
        result[held] = (ending or regret)(times[rows, chosen], times.min(axis=1))
    return result


def regret(chosen, least):
    return chosen / least - 1


def vector(statements, vectors, width, *, scaled=True):
    known = [vectors[text] for text in statements if text in vectors]
    total = np.sum(known, axis=0) if known else np.zeros(width)
    return total / (np.linalg.norm(total) or 1) if scaled else total


def neighbours(vectors, slowdowns, asked, k, *, sign=-1, best=np.argmin):
    return int(best(slowdowns[np.argsort(sign * (vectors @ asked))[:k]].sum(axis=0)))


def place_of_threshold(numbers, slowdowns):
    def cost(rows):
        return slowdowns[rows].sum(axis=0).min()

    return np.argmin([cost(numbers <= at) + cost(numbers > at) for at in numbers])


def by_majority(vectors, slowdowns, asked, k):
    nearest = np.argsort(-(vectors @ asked))[:k]
    return int(np.bincount(slowdowns[nearest].argmin(axis=1)).argmax())


def only_drawn(logits, drawn, loss, baseline, rate):
    new = logits.copy()
    new[drawn] = reinforced(logits, drawn, loss, baseline, rate)[drawn]
    return new


def in_turn(losses, seconds, busy):
    """Each trial to its end, one after another."""
    free = [trial for trial in range(len(losses)) if trial not in busy and len(losses[trial]) < 4]
    return max(free, key=lambda trial: len(losses[trial]))


def halving(losses, seconds, busy):
    """The asynchronous halving of the unit; where nothing can be promoted, any trial."""
    for rung in (2, 1, 0):
        have = [trial for trial in range(len(losses)) if len(losses[trial]) > rung]
        have.sort(key=lambda trial: losses[trial][rung])
        for trial in have[: len(have) // 3]:
            if len(losses[trial]) == rung + 1 and trial not in busy:
                return trial
    new = [trial for trial in range(len(losses)) if not losses[trial] and trial not in busy]
    return new[0] if new else in_turn(losses, seconds, busy)


MISTAKES = [
    ("17.controller", lambda *given: reinforced(*given, sign=-1), "The sign is wrong"),
    ("17.controller", lambda *given: reinforced(*given, less=False), "probabilities are missing"),
    ("17.controller", lambda *given: reinforced(*given, based=False), "The baseline is missing"),
    ("17.controller", lambda *given: reinforced(*given, add=False), "That is the step"),
    ("17.controller", lambda *given: softmax(reinforced(*given)), "return the logits"),
    ("17.controller", lambda z, i, loss, b, rate: reinforced(z, i, loss, b, 1), "rate is missing"),
    (
        "17.controller",
        lambda z, *given: softmax(z) + reinforced(z, *given, add=False),
        "You moved the probabilities",
    ),
    ("17.controller", overflowing, "np.exp(800)"),
    ("17.front", lambda points: front(points, out=False), "the rows that are dominated"),
    ("17.front", lambda points: front(points, lambda o, row: any(o < row)), "in a single column"),
    (
        "17.front",
        lambda points: [
            n for n, row in enumerate(points) if sum(all(o <= row) for o in points) < 2
        ],
        "both stay on the front",
    ),
    (
        "17.front",
        lambda points: front(points, lambda o, row: all(o <= row)),
        "each row is <= itself",
    ),
    ("17.controller", only_drawn, "not the drawn one alone"),
    ("17.threshold", place_of_threshold, "return the number that stands there"),
    ("17.neighbours", by_majority, "that most of them prefer"),
    ("17.front", lambda points: front(points)[:1], "You stop at the first one"),
    ("17.threshold", lambda numbers, _: numbers[0], "take the same choice"),
    ("17.held_out", lambda *given: regrets(*given, seen=True), "leave their group out"),
    ("17.held_out", lambda *given: regrets(*given, alone=True), "all points of a group together"),
    ("17.held_out", lambda *given: regrets(*given) + 1, "subtract 1"),
    (
        "17.held_out",
        lambda *given: regrets(*given, ending=lambda chosen, _: chosen),
        "divide by those of the fastest",
    ),
    ("17.held_out", lambda *given: regrets(*given, ending=np.subtract), "These are seconds lost"),
    ("17.vector", lambda *given: vector(*given, scaled=False), "divide by the length"),
    ("17.vector", lambda lines, *given: vector(set(lines), *given), "counts twice"),
    ("17.vector", lambda lines, vectors, width: vectors[lines[0]] / 2, "length one"),
    ("17.neighbours", lambda *given: neighbours(*given, sign=1), "least similar"),
    ("17.neighbours", lambda *given: neighbours(*given, best=np.argmax), "is the slowest"),
    ("17.neighbours", lambda v, s, a, k: neighbours(v, s, a, len(v)), "only the k nearest"),
    ("17.neighbours", lambda v, s, a, k: neighbours(v, s, a, 1), "slowdowns of all k"),
    ("17.race", in_turn, "The goal is 32 s"),
    ("17.race", halving, "The goal is 32 s"),
    ("17.race", lambda *_: 0, "in training already"),
    ("17.race", lambda *_: None, "after 0 jobs it returns None"),
    ("17.race", lambda *_: 81, "there is no trial 81"),
    ("17.race", lambda losses, *_: losses, "return the number of a trial"),
    (
        "17.race",
        lambda losses, seconds, busy: min(set(range(81)) - set(busy)),
        "A trial whose list of losses is full",
    ),
]
