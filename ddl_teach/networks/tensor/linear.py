"""A fully connected layer split by columns, and one split by rows: together they need one sum.

    y = f(x A) B        rank r holds some columns of A and the same rows of B

It computes f(x A_r) B_r on its own, for any f that works number by number: x A_r is a part of the
columns of x A, each of them complete. Only y is a sum over ranks. The other way round, rows first,
f would need the sum already: f(a + b) is not f(a) + f(b).

For y of n bytes an all-reduce forwards (of y) and one backwards (of x's gradient) send 2 (P-1)/P n
bytes a rank each. Shoeybi et al., "Megatron-LM", 2019, section 3.
What to look at: torch keeps the transpose. Columns of A are rows of `weight`.
"""

from torch import Tensor, nn
from torch.nn.functional import linear

from ddl_teach.networks.partitions import Region
from ddl_teach.networks.tensor.split import SplitModule


class ColumnLinear(SplitModule):
    """Every rank computes some of the outputs, from all inputs."""

    def __init__(self, region: Region, whole: nn.Linear, unit: int = 1) -> None:
        super().__init__(region.comm)
        self.region = region
        self.keep("weight", whole.weight, 0, unit)
        self.keep("bias", whole.bias, 0, unit)

    def forward(self, x: Tensor) -> Tensor:
        return self.columns(self.region.enter(x))

    def columns(self, x: Tensor) -> Tensor:
        """This rank's outputs for an x that has entered split work already."""
        return linear(x, self.weight, self.bias)


class RowLinear(SplitModule):
    """Every rank takes some of the inputs, and adds to all outputs."""

    def __init__(self, region: Region, whole: nn.Linear, unit: int = 1) -> None:
        super().__init__(region.comm)
        self.region = region
        self.keep("weight", whole.weight, 1, unit)
        self.bias = whole.bias
        region.complete([self.bias])

    def forward(self, x: Tensor) -> Tensor:
        """All outputs, from this rank's inputs; the bias is added once, after the sum."""
        y = self.region.leave(linear(x, self.weight))
        return y if self.bias is None else y + self.bias
