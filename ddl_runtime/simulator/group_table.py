"""Groups of simulated ranks: who belongs to which communicator, and how messages tell them apart.

What a communicator was made from names it: the split of which communicator, and the colour. Ranks
that name the same get the same number, the context, and it is part of what must match.
"""

from collections.abc import Sequence


class GroupTable:
    """All groups of a simulation."""

    def __init__(self) -> None:
        self.members: dict[int, Sequence[int]] = {}  # of every group, by its context
        self._wishes: dict[tuple[int, int], dict[int, tuple[int | None, int]]] = {}
        self._split: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = {}
        self._contexts: dict[tuple[object, ...], int] = {}

    def context(self, origin: tuple[object, ...]) -> int:
        """A number for the group and channel that `origin` names."""
        return self._contexts.setdefault(origin, len(self._contexts) + 1)

    def announce(self, split: tuple[int, int], rank: int, wish: tuple[int | None, int]) -> None:
        """A rank says which colour and key it has in a split of a context."""
        self._wishes.setdefault(split, {})[rank] = wish

    def of_split(self, split: tuple[int, int]) -> dict[int, list[tuple[int, int]]]:
        """Key and rank of all in each group, in order, by colour; made when the first rank asks,
        as all have announced by then."""
        if split not in self._split:
            by_colour: dict[int, list[tuple[int, int]]] = {}
            for rank, (colour, key) in self._wishes.pop(split).items():
                if colour is not None:
                    by_colour.setdefault(colour, []).append((key, rank))
            self._split[split] = {colour: sorted(group) for colour, group in by_colour.items()}
        return self._split[split]
