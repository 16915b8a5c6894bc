"""The bytes that a kernel moves between a device's large memory and its small, fast one.

A kernel on a device with little fast memory loads tiles, computes with them there, and stores what
it has to keep. `MemoryTraffic` counts both. Dao et al., "FlashAttention", 2022.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass
class MemoryTraffic:
    """Bytes read from and written to the large memory, and the largest amount held in the fast
    one."""

    read: int = 0
    written: int = 0
    held: int = 0

    @property
    def moved(self) -> int:
        return self.read + self.written

    def load(self, *tiles: Tensor) -> None:
        self.read += sum(map(_nbytes, tiles))

    def store(self, *tiles: Tensor) -> None:
        self.written += sum(map(_nbytes, tiles))

    def hold(self, *tiles: Tensor) -> None:
        """Count tiles that are in the fast memory at the same time."""
        self.held = max(self.held, sum(map(_nbytes, tiles)))


def _nbytes(tile: Tensor) -> int:
    return tile.numel() * tile.element_size()
