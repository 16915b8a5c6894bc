"""A layer of long short-term memory over a sequence: four gates, two states.

    i, f, o = sigmoid(x W + b + h U),   g = tanh(the same),   c' = f c + i g,   h' = o tanh(c')

With batch N, T steps, I inputs, H hidden numbers, L(n) = ceil(log2 n):

    forward             N T H (8 I + 8 H + 9)      depth s_1 + (T - 1) (L(H) + 7),
                        where the first step takes s_1 = max(L(I + 1), L(H)) + 7
    back through time   N H (20 T + (T - 1) (8 H + 2))
                        depth d = 5, and from two steps on
                        d = 8 + L(7 H + 1) + (T - 2) (L(13 H + 1) + 2)
    input gradient      that and N T I (8 H - 1)
    parameter gradient  that, 2 N T - 1 for each weight of W and U, N T - 1 for each bias

Backwards all slopes of the gates are ready early; a step then waits for a product and a sum (the
gradient of c'), a product (of a gate), and the sum over the 4 H gates. The o gate is two
operations ahead of the others, hence 13 and not 16. What to look at: four times a plain cell's
work, but the chain per step has grown by 4 operations alone. (Hochreiter & Schmidhuber 1997.)
"""

from ddl_teach.theory.inputs import ceil_log2
from ddl_teach.theory.work_depth import through_time
from ddl_teach.theory.work_depth.counting import WorkDepth, counts, joined, tree_depth

GATES = 4


def forward(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """All inputs' products at once, then one step after another."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    work = batch * steps * hidden * (8 * inputs + 8 * hidden + 9)
    first = max(tree_depth(inputs + 1), tree_depth(hidden)) + 7
    return WorkDepth(work, first + (steps - 1) * (tree_depth(hidden) + 7))


def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """Back through time, and from each step's gates to its inputs."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    work = _work_through_time(batch, steps, hidden)
    work += batch * steps * inputs * (2 * GATES * hidden - 1)
    last = _level(steps, hidden)
    ahead = _level(steps, hidden, ahead=True)
    return WorkDepth(work, joined([(ahead + 1, hidden), (last + 1, 3 * hidden)]))


def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """Back through time; each weight's sum over batch and steps takes what is ready."""
    sizes = {"batch": batch, "steps": steps, "inputs": inputs, "hidden": hidden}
    ready = [_level(place, hidden) for place in range(1, steps + 1)]
    work = _work_through_time(batch, steps, hidden)
    return through_time.parameter_gradient(**sizes, gates=GATES, work=work, ready=ready)


def _level(place: int, hidden: int, ahead: bool = False) -> int:
    """When the gates' gradients are ready at the `place`-th step from the end; o comes `ahead`."""
    if place == 1:
        return 5 - ahead
    period = ceil_log2(13 * hidden + 1) + 2
    return 8 + ceil_log2(7 * hidden + 1) + (place - 2) * period - 2 * ahead


def _work_through_time(batch: int, steps: int, hidden: int) -> int:
    between = (steps - 1) * (2 * GATES * hidden + 2)
    return batch * hidden * (20 * steps + between)
