"""Work and depth of recurrent layers over a sequence: step after step, there and back.

With batch N, T steps, I inputs, H hidden numbers and L(n) = ceil(log2 n). The products x_t W need
no earlier step, so only those with U are in the chain. Gradients come for every output h_t; of h_0
none is computed. Back-propagation reaches the step that is `place` from the end at `level(place,
H)`.

A weight's gradient sums N T terms, those of a step when back-propagation has got there.

What to look at: the depth grows with T itself. An LSTM does four times a plain cell's work on a
chain per step that is 4 operations longer; a GRU does three quarters of it on a *longer* chain,
because r must be there before n can begin. (Elman 1990; Werbos 1990; Hochreiter & Schmidhuber
1997; Cho et al. 2014.)
"""

from collections.abc import Callable

from ddl_teach.theory.work_depth.counting import Learning, WorkDepth, joined, tree_depth

L = tree_depth


def _recurrent(
    gates: int,
    own: int,  # operations of a hidden number in a step, besides the products
    chain: int,  # how many of them stand in the chain of a step
    back: int,  # operations of a hidden number in a step backwards, besides the products
    between: int,  # and from one step to the one before
    level: Callable[[int, int], int],
    into: Callable[[int, int], int],  # the level of the inputs' gradients
) -> Learning:
    def forward(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
        """All inputs' products at once, then one step after another."""
        work = batch * steps * hidden * (2 * gates * (inputs + hidden) + own)
        first = max(L(inputs + 1), L(hidden)) + chain
        return WorkDepth(work, first + (steps - 1) * (L(hidden) + chain))

    def through_time(batch: int, steps: int, hidden: int) -> int:
        return batch * hidden * (back * steps + (steps - 1) * (2 * gates * hidden + between))

    def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
        """Back through time, and from each step's gates to its inputs."""
        work = through_time(batch, steps, hidden)
        work += batch * steps * inputs * (2 * gates * hidden - 1)
        return WorkDepth(work, into(steps, hidden))

    def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
        """Back through time; each weight's sum over batch and steps takes what is ready."""
        terms = batch * steps
        sums = gates * hidden * ((inputs + hidden) * (2 * terms - 1) + terms - 1)
        ready = ((level(place, hidden) + 1, batch) for place in range(1, steps + 1))
        return WorkDepth(through_time(batch, steps, hidden) + sums, joined(ready))

    return Learning(forward, input_gradient, parameter_gradient)


def _of_rnn(place: int, hidden: int) -> int:
    return 3 + (place - 1) * (L(hidden + 1) + 2)


rnn = _recurrent(
    1, own=1, chain=3, back=3, between=0, level=_of_rnn,
    into=lambda place, hidden: _of_rnn(place, hidden) + 1 + L(hidden),
)  # fmt: skip
"""h_t = tanh(x_t W + b + h_{t-1} U)

From one step's gradient to the one before: the products' sum with g_t, and tanh's slope.
"""


def _of_gru(place: int, hidden: int) -> int:
    return 5 + (place - 1) * (L(5 * hidden + 1) + 2)


gru = _recurrent(
    3, own=7, chain=9, back=14, between=2, level=_of_gru,
    into=lambda place, hidden: _of_gru(place, hidden) + L(4 * hidden),
)  # fmt: skip
"""r, z = sigmoid(x W + b + h U),   n = tanh(x W_n + b_n + r (h U_n)),   h' = n + z (h - n)

The form here, with r outside of the product, is that of cuDNN and torch.
"""


def _of_lstm(place: int, hidden: int) -> int:
    if place == 1:
        return 5
    return 8 + L(7 * hidden + 1) + (place - 2) * (L(13 * hidden + 1) + 2)


def _inputs_of_lstm(place: int, hidden: int) -> int:
    last = _of_lstm(place, hidden)
    ahead = last - (1 if place == 1 else 2)  # the o gate
    return joined([(ahead + 1, hidden), (last + 1, 3 * hidden)])


lstm = _recurrent(4, own=9, chain=7, back=20, between=2, level=_of_lstm, into=_inputs_of_lstm)
"""i, f, o = sigmoid(x W + b + h U),   g = tanh(the same),   c' = f c + i g,   h' = o tanh(c')

Backwards all slopes of the gates are ready early; a step then waits for a product and a sum (the
gradient of c'), a product (of a gate), and the sum over the 4 H gates. The o gate is two
operations ahead of the others, hence 13 and not 16.
"""
