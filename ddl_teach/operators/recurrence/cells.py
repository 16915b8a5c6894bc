"""Every cell by itself: in any order that keeps the two dependencies, and on several threads.

The cells of a group run at once, one group after another; the groups are the wavefronts unless
others are given. In any order the results agree to the last bit. torch lets go of Python's lock
while it multiplies; but cells must be large, or handing them out costs more than computing them.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn.functional import linear

from ddl_teach.operators.recurrence.cell import States, Weights
from ddl_teach.operators.recurrence.stack import Stack, no_gradients, stacked
from ddl_teach.operators.recurrence.through_time import weight_gradients
from ddl_teach.theory.wavefront import fronts

Place = tuple[int, int]  # layer, step
Groups = Iterable[Sequence[Place]]


class CellGrid:
    """The cells of one forward pass, and of the backward pass after it."""

    def __init__(self, stack: Stack, x: Tensor, states: States | None = None) -> None:
        self.stack, self.x = stack, x
        begun = stack.begin(x, states)
        before = {(layer, -1): own for layer, own in enumerate(zip(*begun, strict=True))}
        self.states: dict[Place, States] = before
        self.kept: dict[Place, tuple] = {}
        self.of_products: dict[Place, tuple[Tensor, Tensor]] = {}
        self.of_states: dict[Place, States] = {}

    def below(self, place: Place) -> Tensor:
        layer, step = place
        return self.states[layer - 1, step][0] if layer else self.x[step]

    def forward(self, place: Place) -> None:
        """Compute one cell; the two it depends on must be there."""
        layer, step = place
        weights, before = self.stack.layers[layer], self.states[layer, step - 1]
        from_input = linear(self.below(place), weights.input, weights.input_bias)
        from_hidden = linear(before[0], weights.hidden, weights.hidden_bias)
        self.states[place], self.kept[place] = self.stack.cell.step(
            from_input, from_hidden, before
        )

    def backward(self, place: Place, of_outputs: Tensor) -> None:
        """Compute the gradients of one cell; the two that depend on it must have theirs."""
        layer, step = place
        of_hidden, *others = self.of_states[layer, step + 1]
        if layer + 1 < len(self.stack):
            of_above, _ = self.of_products[layer + 1, step]
            of_hidden = of_hidden + of_above @ self.stack.layers[layer + 1].input
        else:
            of_hidden = of_hidden + of_outputs[step]
        of_input, of_product, (past, *rest) = self.stack.cell.step_gradients(
            self.kept[place], (of_hidden, *others)
        )
        self.of_products[place] = of_input, of_product
        self.of_states[place] = (past + of_product @ self.stack.layers[layer].hidden, *rest)


def wavefront_cells(layers: int, steps: int) -> list[list[Place]]:
    """The wavefronts, each as the list of its cells (layer, step)."""
    numbered = enumerate(fronts(layers, steps))
    return [[(layer, front - layer) for layer in active] for front, active in numbered]


def forward(
    stack: Stack, x: Tensor, states: States | None = None, *, threads: int = 2,
    groups: Groups | None = None,
) -> tuple[Tensor, States, CellGrid]:  # fmt: skip
    """What `layer_by_layer.forward` computes, a cell at a time on each thread."""
    grid, layers, steps = CellGrid(stack, x, states), len(stack), len(x)
    _in_groups(grid.forward, groups or wavefront_cells(layers, steps), threads)
    outputs = torch.stack([grid.states[layers - 1, step][0] for step in range(steps)])
    return outputs, stacked([grid.states[layer, steps - 1] for layer in range(layers)]), grid


@torch.no_grad()
def gradients(
    grid: CellGrid, of_outputs: Tensor, of_states: States | None = None, *, threads: int = 2
) -> tuple[Tensor, States, list[Weights]]:
    """What `layer_by_layer.gradients` computes, with the wavefronts in reverse."""
    stack, layers, steps = grid.stack, len(grid.stack), len(grid.x)
    after = no_gradients(stack, of_outputs) if of_states is None else of_states
    for layer, own in enumerate(zip(*after, strict=True)):
        grid.of_states[layer, steps] = own
    groups = reversed(wavefront_cells(layers, steps))
    _in_groups(lambda place: grid.backward(place, of_outputs), groups, threads)
    of_weights = []
    for layer in range(layers):
        row = [(layer, step) for step in range(steps)]
        of_products = zip(*(grid.of_products[place] for place in row), strict=True)
        below = torch.stack([grid.below(place) for place in row])
        before = torch.stack([grid.states[layer, step - 1][0] for _, step in row])
        of_input, of_hidden = map(torch.stack, of_products)
        of_weights.append(weight_gradients(of_input, of_hidden, below, before))
    of_x = torch.stack([grid.of_products[0, step][0] for step in range(steps)])
    begun = stacked([grid.of_states[layer, 0] for layer in range(layers)])
    return of_x @ stack.layers[0].input, begun, of_weights


def _in_groups(compute: Callable[[Place], None], groups: Groups, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for group in groups:
            list(pool.map(compute, group))  # a list, so that an error in a cell comes out here
