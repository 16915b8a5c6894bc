"""The usual mistakes of unit 04, and words of the message that must name each."""

import numpy as np

from ddl_teach import Comm


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def read(words, w, u, *, keep=1, late=False):
    """Right, but for what its arguments say."""
    h, outputs = np.zeros(len(u)), []
    for x in words:
        before, h = h, np.tanh(x @ w + keep * h @ u)
        outputs.append(before if late else h)
    return np.array(outputs)


def _lstm(x, h, c, weight, bias, order=(0, 1, 2, 3), squash=np.tanh, leave_with=np.tanh):
    """A step that is right but for what its arguments say."""
    gates = np.split(np.concatenate([x, h], axis=1) @ weight + bias, 4, axis=1)
    enter, forget, new, leave = (gates[place] for place in order)
    c = sigmoid(forget) * c + sigmoid(enter) * squash(new)
    return sigmoid(leave) * leave_with(c), c


def swapped_results(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, bias)[::-1]


def no_bias(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, 0 * bias)


def forget_first(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, bias, order=(1, 0, 2, 3))


def leave_third(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, bias, order=(0, 1, 3, 2))


def sigmoid_everywhere(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, bias, squash=sigmoid)


def no_tanh_at_the_end(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, bias, leave_with=lambda c: c)


def old_memory(x, h, c, weight, bias):
    _, after = _lstm(x, h, c, weight, bias)
    return _lstm(x, h, c, weight, bias, leave_with=lambda _: np.tanh(c))[0], after


def every_fourth_column(x, h, c, weight, bias):
    both = np.concatenate([x, h], axis=1)
    columns = [slice(place, None, 4) for place in range(4)]
    weight = np.concatenate([weight[:, own] for own in columns], axis=1)
    bias = np.concatenate([bias[own] for own in columns])
    return _lstm(both, h[:, :0], c, weight, bias)


def cut_rows(x, h, c, weight, bias):
    gates = np.concatenate([x, h], axis=1) @ weight + bias
    return gates, gates


def only_h(x, h, c, weight, bias):
    return _lstm(x, h, c, weight, bias)[0]


def nothing_returned(*_):
    return None


def wrong_formula(x, h, c, weight, bias):
    h, c = _lstm(x, h, c, weight, bias)
    return 2 * h, c


def _diagonals(layers, steps):
    return [
        [(layer, turn - layer) for layer in range(layers) if 0 <= turn - layer < steps]
        for turn in range(layers + steps - 1)
    ]


def one_by_one(layers, steps):
    return [[(layer, step)] for layer in range(layers) for step in range(steps)]


def whole_layers(layers, steps):
    return [[(layer, step) for step in range(steps)] for layer in range(layers)]


def turns_of_steps(layers, steps):
    return [[(step, layer) for layer, step in turn] for turn in _diagonals(layers, steps)]


def one_turn_short(layers, steps):
    return _diagonals(layers, steps)[:-1]


def outside_the_grid(layers, steps):
    return [[(layer, turn - layer) for layer in range(layers)]
            for turn in range(layers + steps - 1)]  # fmt: skip


def twice(layers, steps):
    return [turn + turn for turn in _diagonals(layers, steps)]


def empty_turns(layers, steps):
    return [*_diagonals(layers, steps), []]


def slower_diagonals(layers, steps):
    cells = [[(layer, turn - 2 * layer) for layer in range(layers)
              if 0 <= turn - 2 * layer < steps] for turn in range(2 * layers + steps)]  # fmt: skip
    return [turn for turn in cells if turn]


def a_flat_list(layers, steps):
    return [cell for turn in _diagonals(layers, steps) for cell in turn]


def _cell(comm: Comm, now, h, w, u, seconds):
    comm.work(seconds)
    return np.tanh(now @ w + h @ u)


def _layer(comm: Comm, x, w, u, seconds, cell=_cell, pass_on=False, carry=True):
    """A layer on a rank that is right but for what its arguments say."""
    h, outputs = np.zeros((x.shape[1], u.shape[0])), []
    for now in x:
        if comm.rank > 0:
            comm.recv(now, comm.rank - 1)
        own = cell(comm, now, h, w, u, seconds)
        h = own if carry else h
        if comm.rank + 1 < comm.size:
            comm.send(now if pass_on else own, comm.rank + 1)
        outputs.append(own)
    return np.array(outputs)


def layer_after_layer(comm: Comm, x, w, u, seconds):
    if comm.rank > 0:
        for now in x:
            comm.recv(now, comm.rank - 1)
    h, outputs = np.zeros((x.shape[1], u.shape[0])), []
    for now in x:
        h = _cell(comm, now, h, w, u, seconds)
        outputs.append(h)
    if comm.rank + 1 < comm.size:
        for own in outputs:
            comm.send(own, comm.rank + 1)
    return np.array(outputs)


def passes_on_what_came(comm: Comm, x, w, u, seconds):
    return _layer(comm, x, w, u, seconds, pass_on=True)


def forgets(comm: Comm, x, w, u, seconds):
    return _layer(comm, x, w, u, seconds, carry=False)


def last_step_alone(comm: Comm, x, w, u, seconds):
    return _layer(comm, x, w, u, seconds)[-1]


def no_compute(comm: Comm, x, w, u, seconds):
    return _layer(comm, x, w, u, seconds, cell=lambda comm, now, h, w, u, _: np.tanh(
        now @ w + h @ u))  # fmt: skip


def computes_twice(comm: Comm, x, w, u, seconds):
    return _layer(comm, x, w, u, 2 * seconds)


def sends_beyond_the_last(comm: Comm, x, w, u, seconds):
    h, outputs = np.zeros((x.shape[1], u.shape[0])), []
    for now in x:
        if comm.rank > 0:
            comm.recv(now, comm.rank - 1)
        h = _cell(comm, now, h, w, u, seconds)
        comm.send(h, comm.rank + 1)
        outputs.append(h)
    return np.array(outputs)


def everybody_receives(comm: Comm, x, w, u, seconds):
    for now in x:
        comm.recv(now, (comm.rank - 1) % comm.size)
    return x


def one_array(comm: Comm, x, w, u, seconds):
    h, outputs = np.zeros((x.shape[1], u.shape[0])), []
    for now in x:
        if comm.rank > 0:
            comm.recv(now, comm.rank - 1)
        h[:] = _cell(comm, now, h, w, u, seconds)
        if comm.rank + 1 < comm.size:
            comm.send(h, comm.rank + 1)
        outputs.append(h)
    return np.array(outputs)


def nobody_sends(comm: Comm, x, w, u, seconds):
    h, outputs = np.zeros((x.shape[1], u.shape[0])), []
    for now in x:
        h = _cell(comm, now, h, w, u, seconds)
        outputs.append(h)
    return np.array(outputs)


def layers_on_ranks(layers, steps, ranks):
    rows, first = [], 0
    for count in (2, 1, 1, 2):
        own = range(first, first + count)
        rows.append([(layer, at, at + 1) for at in range(steps) for layer in own])
        first += count
    return rows


def one_rank(layers, steps, ranks):
    return [[(layer, 0, steps) for layer in range(layers)]] + [[]] * (ranks - 1)


def top_first(layers, steps, ranks):
    return [row[::-1] for row in layers_on_ranks(layers, steps, ranks)]


def step_then_layer(layers, steps, ranks):
    return [[(first, layer, layer + 1) for layer, first, _ in row]
            for row in layers_on_ranks(layers, steps, ranks)]  # fmt: skip


def last_included(layers, steps, ranks):
    rows = layers_on_ranks(layers, steps, ranks)
    return [[(layer, at, min(at + 2, steps)) for layer, at, _ in row] for row in rows]


def last_left_out(layers, steps, ranks):
    return [row[:-1] for row in layers_on_ranks(layers, steps, ranks)]


def cells_instead(layers, steps, ranks):
    return [[block[:2] for block in row] for row in layers_on_ranks(layers, steps, ranks)]


MISTAKES = [
    ("04.blocks", layers_on_ranks, "The goal is 13.5 ms"),
    ("04.blocks", one_rank, "takes 38.40 ms"),
    ("04.blocks", top_first, "wait for each other"),
    ("04.blocks", step_then_layer, "is not in the grid"),
    ("04.blocks", last_included, "in more than one block"),
    ("04.blocks", last_left_out, "is in no block"),
    ("04.blocks", cells_instead, "of blocks (layer, first, last)"),
    ("04.read", lambda *given: read(*given, keep=0), "as if it were the first"),
    ("04.read", lambda *given: read(*given, late=True), "not before"),
    ("04.read", lambda *given: read(*given)[:1], "only the first word"),
    ("04.read", lambda *given: read(*given)[-1:], "only the last word"),
    ("04.read", lambda words, w, u: None, "Is a `return` missing?"),
    ("04.fused", swapped_results, "h and c are swapped"),
    ("04.fused", no_bias, "The bias is missing"),
    ("04.fused", forget_first, "enter and forget are swapped"),
    ("04.fused", leave_third, "new and leave are swapped"),
    ("04.fused", sigmoid_everywhere, "not through sigmoid"),
    ("04.fused", no_tanh_at_the_end, "the np.tanh is missing"),
    ("04.fused", old_memory, "not from the old one"),
    ("04.fused", every_fourth_column, "not every fourth column"),
    ("04.fused", cut_rows, "should have the shape"),
    ("04.fused", only_h, "return two arrays"),
    ("04.fused", nothing_returned, "Is a `return` missing?"),
    ("04.fused", wrong_formula, "gate by gate"),
    ("04.wavefronts", one_by_one, "Each has a single cell"),
    ("04.wavefronts", whole_layers, "in an earlier turn"),
    ("04.wavefronts", turns_of_steps, "not (step, layer)"),
    ("04.wavefronts", one_turn_short, "never computed"),
    ("04.wavefronts", outside_the_grid, "some layers have no cell"),
    ("04.wavefronts", twice, "and again in"),
    ("04.wavefronts", empty_turns, "Some of them are empty"),
    ("04.wavefronts", slower_diagonals, "as soon as what it needs is there"),
    ("04.wavefronts", a_flat_list, "return a list of turns"),
    ("04.wavefronts", nothing_returned, "Is a `return` missing?"),
    ("04.ranks", layer_after_layer, "send each h at once"),
    ("04.ranks", passes_on_what_came, "not what you received"),
    ("04.ranks", forgets, "h must be passed from step to step"),
    ("04.ranks", last_step_alone, "the last step alone"),
    ("04.ranks", no_compute, "no cell took any time"),
    ("04.ranks", computes_twice, "receive, compute, send"),
    ("04.ranks", sends_beyond_the_last, "the highest has none above"),
    ("04.ranks", everybody_receives, "Rank 0 receives nothing"),
    ("04.ranks", one_array, "not an array that changes later"),
    ("04.ranks", nobody_sends, "one for each step"),
    ("04.ranks", nothing_returned, "Is a `return` missing?"),
]
