"""A convolution carried out in micro-batches: the same result from the same numbers.

Outputs and input gradients of an example know nothing of the other examples: micro-batches fill
their part of one result. The weight's gradient is a sum over the batch, so theirs are added up:

    y[piece] = x[piece] * w        dw = sum over pieces of  x[piece] correlated with dy[piece]

Only the order of additions changes, and only in that sum. A *recipe* such as "fft:8*3 fft:4*1"
names methods, sizes and how many pieces of them, in order. A batch of another size uses the same
pieces again and again, the last one cut, so that the room never grows. What to look at: a piece's
result is copied and gone before the next one begins; at most one piece's workspace is held.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, groupby

from torch import Tensor

from ddl_teach.operators.convolution.methods import Algorithm, Method, find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.micro_batches.offers import Division

# Which of a method's operators is meant.
Run = Callable[[Algorithm], Callable[[Tensor, Tensor, Convolution], Tensor]]


def recipe(division: Division) -> str:
    """What an operator is told of a division."""
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
        """What computes each piece, its examples and its sizes."""
        return [
            (method.algorithm, piece, replace(problem, batch=piece.stop - piece.start))
            for method, piece in pieces(self.recipe, problem.batch)
        ]

    def _side_by_side(
        self, run: Run, first: Tensor, weight: Tensor, problem: Convolution, shape: Sequence[int]
    ) -> Tensor:
        # Each piece fills the part of the result that belongs to its examples.
        pieces = self.pieces(problem)
        if len(pieces) == 1:
            [(way, _, _)] = pieces
            return run(way)(first, weight, problem).contiguous()
        result = first.new_empty(shape)
        for way, piece, sizes in pieces:
            result[piece] = run(way)(first[piece], weight, sizes)
        return result

    def forward(self, x: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        return self._side_by_side(
            lambda way: way.forward, x, weight, problem, problem.output_shape
        )

    def input_gradient(self, gradient: Tensor, weight: Tensor, problem: Convolution) -> Tensor:
        return self._side_by_side(
            lambda way: way.input_gradient, gradient, weight, problem, problem.x_shape
        )

    def weight_gradient(self, x: Tensor, gradient: Tensor, problem: Convolution) -> Tensor:
        # Those of all pieces added up.
        (way, piece, sizes), *others = self.pieces(problem)
        total = way.weight_gradient(x[piece], gradient[piece], sizes).contiguous()
        for way, piece, sizes in others:
            total += way.weight_gradient(x[piece], gradient[piece], sizes)
        return total
