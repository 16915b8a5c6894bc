"""A recurrent layer over a sequence: h_t = tanh(x_t W + b + h_{t-1} U), step after step.

With batch N, T steps, I inputs, H hidden numbers, L(n) = ceil(log2 n):

    forward             N T H (2 I + 2 H + 1)                  depth s_1 + (T - 1) (L(H) + 3),
                        where the first step takes s_1 = max(1 + L(I + 1), 1 + L(H)) + 2
    back through time   N T 3 H  +  N (T - 1) 2 H^2            depth d = 3 + (T - 1) (L(H + 1) + 2)
    input gradient      that and N T I (2 H - 1)               depth d + 1 + L(H)
    parameter gradient  that, 2 N T - 1 for each weight of W and U, N T - 1 for each bias

The products x_t W wait for nobody, so only U's stand in the chain. Gradients come for every
output h_t; of h_0 none is computed. In the parameter gradient each step's terms join the sum when
they are there, and the last ones, of step 1, come at d. What to look at: the depth grows with T
itself; no number of processors shortens that chain. (Elman 1990; Werbos 1990.)
"""

from ddl_teach.theory.work_depth import through_time
from ddl_teach.theory.work_depth.counting import (
    WorkDepth,
    counts,
    matrix_product,
    tree_depth,
)


def forward(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """All inputs' products at once, then one step after another."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    work = batch * steps * hidden * (2 * inputs + 2 * hidden + 1)
    first = max(tree_depth(inputs + 1), tree_depth(hidden)) + 3
    return WorkDepth(work, first + (steps - 1) * (tree_depth(hidden) + 3))


def input_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """Back through time, and from each step's gradient to its inputs."""
    counts(batch=batch, steps=steps, inputs=inputs, hidden=hidden)
    outwards = matrix_product(batch * steps, hidden, inputs)
    return _through_time(batch, steps, hidden).then(outwards)


def parameter_gradient(batch: int, steps: int, inputs: int, hidden: int) -> WorkDepth:
    """Back through time; each weight's sum over batch and steps takes what is ready."""
    sizes = {"batch": batch, "steps": steps, "inputs": inputs, "hidden": hidden}
    back = _through_time(batch, steps, hidden)
    ready = [back.depth - step * _period(hidden) for step in range(steps)]
    return through_time.parameter_gradient(**sizes, gates=1, work=back.work, ready=ready)


def _through_time(batch: int, steps: int, hidden: int) -> WorkDepth:
    """From the last step's gradient before tanh to the first one's."""
    within = 3 * hidden * steps
    between = (steps - 1) * 2 * hidden * hidden
    depth = 3 + (steps - 1) * _period(hidden)
    return WorkDepth(batch * (within + between), depth)


def _period(hidden: int) -> int:
    """From one step's gradient to the one before: the products' sum with g_t, and tanh's slope."""
    return 2 + tree_depth(hidden + 1)
