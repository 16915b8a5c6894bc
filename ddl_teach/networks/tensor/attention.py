"""Attention split by heads: every rank has some of them, whole, and no head knows of another.

Queries, keys and values are column layers cut between heads, the projection is a row layer cut at
the same places: a column-row pair with attention for its f, which costs one all-reduce forwards
and one backwards. Shoeybi et al., "Megatron-LM", 2019, section 3.
What to look at: the three layers share one entrance, or the backward pass would sum three times.
"""

from torch import Tensor, nn

from ddl_teach.networks.models.gpt import Attention
from ddl_teach.networks.partitions import Region
from ddl_teach.networks.tensor.linear import ColumnLinear, RowLinear


class HeadsAttention(nn.Module):
    """This rank's heads of an attention; `attend` as in the whole one."""

    def __init__(self, region: Region, whole: Attention) -> None:
        super().__init__()
        self.region = region
        self.head_width = whole.queries.out_features // whole.heads
        for name in ("queries", "keys", "values"):
            self.add_module(name, ColumnLinear(region, getattr(whole, name), self.head_width))
        self.projection = RowLinear(region, whole.projection, self.head_width)
        self.attend = whole.attend

    def forward(self, x: Tensor) -> Tensor:
        x = self.region.enter(x)
        queries, keys, values = (
            layer.columns(x).unflatten(2, (-1, self.head_width)).transpose(1, 2)
            for layer in (self.queries, self.keys, self.values)
        )
        return self.projection(self.attend(queries, keys, values).transpose(1, 2).flatten(2))
