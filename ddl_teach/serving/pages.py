"""Pages: the cache of many requests in blocks of a few tokens, with a table for each request.

A cache in one piece must reserve room for the longest answer. Pages take a block when the last one
is full: nothing is copied as a request grows, and a request wastes less than a block.
Kwon et al., "Efficient memory management for large language model serving with PagedAttention",
SOSP 2023.
What to look at: the blocks of a request lie anywhere. Only its table knows their order.
"""

from ddl_teach.theory.inputs import count


class Pages:
    """A list of free blocks of `size` tokens each, and each request's table and length."""

    def __init__(self, blocks: int, size: int) -> None:
        self.blocks, self.size = count("blocks", blocks), count("size", size)
        self.free = list(range(blocks - 1, -1, -1))
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}

    def grow(self, request: int, tokens: int) -> None:
        """Make room for `tokens` more tokens; the first call for a request begins it."""
        length = self.lengths.get(request, 0) + tokens
        table = self.tables.get(request, [])
        lacking = -(-length // self.size) - len(table)
        if lacking > len(self.free):
            raise MemoryError(
                f"request {request} needs {lacking} more blocks of {self.size} tokens, and "
                f"{len(self.free)} of {self.blocks} are free: release a request first"
            )
        self.tables[request] = table + [self.free.pop() for _ in range(lacking)]
        self.lengths[request] = length

    def cut(self, request: int, length: int) -> None:
        """Forget what stands after `length` tokens, and free the blocks that this empties."""
        table, kept = self.tables[request], -(-length // self.size)
        self.free += table[kept:][::-1]
        self.tables[request], self.lengths[request] = table[:kept], length

    def release(self, request: int) -> None:
        """Free all blocks of a request that has ended."""
        self.cut(request, 0)
        del self.tables[request], self.lengths[request]

    def slots(self, request: int) -> list[int]:
        """Where each token of a request stands: block times size, plus its place in the block."""
        table, length = self.tables[request], self.lengths[request]
        return [self.size * table[at // self.size] + at % self.size for at in range(length)]

    @property
    def empty(self) -> int:
        """Places in taken blocks that hold no token."""
        taken = self.blocks - len(self.free)
        return self.size * taken - sum(self.lengths.values())
