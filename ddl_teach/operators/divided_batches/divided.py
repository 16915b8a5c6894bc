"""A convolution carried out in pieces: the same result from the same numbers.

Outputs and input gradients of an example do not depend on the others: each piece fills its part
of one result. The weight's gradient is a sum over the batch, so theirs are added up:

    y[piece] = x[piece] * w        dw = sum over pieces of  x[piece] correlated with dy[piece]

A *recipe* such as "fft:8*3 fft:4*1" names methods, sizes and how many pieces of them, in order. A
batch of another size uses the same pieces again and again, the last one cut. `convolve` is the
same as an operator of torch; its `recipes` say how each pass is divided, for instance

    forward fft:8*2; input_gradient im2col:16*1; weight_gradient im2col:4*2 im2col:8*1

What to look at: a piece's result is copied and gone before the next one begins.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby

from torch import Tensor

from ddl_teach.operators.convolution.methods import Algorithm, Method, find
from ddl_teach.operators.convolution.operator import admitted
from ddl_teach.operators.convolution.three_operators import three_operators
from ddl_teach.operators.divided_batches.offers import Division
from ddl_teach.theory.convolution_sizes import Convolution, pair

PASSES = ("forward", "input_gradient", "weight_gradient")


def recipe(division: Division) -> str:
    """The division as text, as an operator takes it."""
    return " ".join(
        f"{part.method}:{part.size}*{len([*same])}" for part, same in groupby(division.parts)
    )


def pieces(recipe: str, batch: int) -> Iterator[tuple[Method, slice]]:
    """The methods and the examples that each of them does, until all `batch` are done."""
    done = 0
    for part in cycle(recipe.split()):
        method, size, count = part.replace("*", ":").split(":")
        for _ in range(int(count)):
            if done >= batch:
                return
            until = min(done + int(size), batch)
            yield find(method), slice(done, until)
            done = until


@dataclass(frozen=True)
class Divided:
    """The three passes of a convolution by a recipe, piece by piece."""

    recipe: str

    def pieces(self, problem: Convolution) -> list[tuple[Algorithm, slice, Convolution]]:
        return [
            (method.algorithm, piece, replace(problem, batch=piece.stop - piece.start))
            for method, piece in pieces(self.recipe, problem.batch)
        ]

    def _side_by_side(
        self,
        direction: str,
        first: Tensor,
        weight: Tensor,
        problem: Convolution,
        shape: Sequence[int],
    ) -> Tensor:
        # Each piece fills the part of the result that belongs to its examples.
        pieces = self.pieces(problem)
        if len(pieces) == 1:
            return getattr(pieces[0][0], direction)(first, weight, problem).contiguous()
        result = first.new_empty(shape)
        for way, piece, sizes in pieces:
            result[piece] = getattr(way, direction)(first[piece], weight, sizes)
        return result

    def forward(self, x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        return self._side_by_side("forward", x, weight, problem, problem.output_shape)

    def input_gradient(self, gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        return self._side_by_side("input_gradient", gradient, weight, problem, problem.x_shape)

    def weight_gradient(self, x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor:
        # A part is gone before the next one is computed.
        (way, piece, sizes), *others = self.pieces(problem)
        total = way.weight_gradient(x[piece], gradient[piece], sizes).contiguous()
        for way, piece, sizes in others:
            total += way.weight_gradient(x[piece], gradient[piece], sizes)
        return total


def recipes_of(divisions: Mapping[str, Division]) -> str:
    """The operator's `recipes`; a gradient that has no division has the forward pass's."""
    return "; ".join(
        f"{name} {recipe(divisions.get(name, divisions['forward']))}" for name in PASSES
    )


def convolve(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: int | Sequence[int],
    padding: int | Sequence[int], groups: int, recipes: str,
) -> Tensor:  # fmt: skip
    """The convolution of `x` and `weight` in pieces, with `bias` added. `recipes` says how
    each pass is divided. Autograd can differentiate it."""
    stride, padding = pair(stride, "stride", 1), pair(padding, "padding", 0)
    output = convolution(x, weight, stride, padding, groups, recipes, None)
    # In place: a second result beside the first would be room that no plan knows of.
    return output if bias is None else output.add_(bias[:, None, None])


def by_recipe(
    direction: str, problem: Convolution, like: Tensor, recipes: str, limit: int | None
) -> Divided:
    """One pass by its recipe, if its methods can do their pieces in the memory that is free."""
    own = dict(part.strip().split(" ", 1) for part in recipes.split(";"))[direction]
    sizes = {(method.name, part.stop - part.start) for method, part in pieces(own, problem.batch)}
    for name, size in dict(sorted(sizes)).items():  # the largest piece of each method
        admitted(direction, replace(problem, batch=size), like, name, limit, problem)
    return Divided(own)


convolution, input_gradient, weight_gradient = three_operators("divided_convolution", by_recipe)
