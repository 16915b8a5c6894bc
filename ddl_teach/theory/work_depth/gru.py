"""A layer of gated recurrent units over a sequence: three gates, one state.

    r, z = sigmoid(x W + b + h U),   n = tanh(x W_n + b_n + r (h U_n)),   h' = n + z (h - n)

With batch N, T steps, I inputs, H hidden numbers, L(n) = ceil(log2 n):

    forward             N T H (6 I + 6 H + 7)      depth s_1 + (T - 1) (L(H) + 9),
                        where the first step takes s_1 = max(L(I + 1), L(H)) + 9
    back through time   N H (14 T + (T - 1) (6 H + 2))
                        depth d = 5 + (T - 1) (L(5 H + 1) + 2)
    input gradient      that and N T I (6 H - 1)   depth d + L(4 H)
    parameter gradient  that, 2 N T - 1 for each weight of W and U, N T - 1 for each bias

What to look at: three quarters of an LSTM's work and a *longer* chain per step, because r must be
there before n can begin. (Cho et al. 2014; the form here, with r outside of the product, is that
of cuDNN and torch.)
"""

from ddl_teach.theory.inputs import ceil_log2
from ddl_teach.theory.work_depth import through_time
from ddl_teach.theory.work_depth.counting import WorkDepth, counts, tree_depth

GATES = 3


def forward(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """All inputs' products at once, then one step after another."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    work = batch * steps * hidden * (6 * inputs + 6 * hidden + 7)
    first = max(tree_depth(inputs + 1), tree_depth(hidden)) + 9
    return WorkDepth(work, first + (steps - 1) * (tree_depth(hidden) + 9))


def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """Back through time, and from each step's gates to its inputs."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    work = _work_through_time(batch, steps, hidden)
    work += batch * steps * inputs * (2 * GATES * hidden - 1)
    return WorkDepth(work, _level(steps, hidden) + tree_depth(4 * hidden))


def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """Back through time; each weight's sum over batch and steps takes what is ready."""
    sizes = {"batch": batch, "steps": steps, "inputs": inputs, "hidden": hidden}
    ready = [_level(place, hidden) for place in range(1, steps + 1)]
    work = _work_through_time(batch, steps, hidden)
    return through_time.parameter_gradient(**sizes, gates=GATES, work=work, ready=ready)


def _level(place: int, hidden: int) -> int:
    """When the last of the gates' gradients is ready at the `place`-th step from the end."""
    return 5 + (place - 1) * (ceil_log2(5 * hidden + 1) + 2)


def _work_through_time(batch: int, steps: int, hidden: int) -> int:
    between = (steps - 1) * (2 * GATES * hidden + 2)
    return batch * hidden * (14 * steps + between)
