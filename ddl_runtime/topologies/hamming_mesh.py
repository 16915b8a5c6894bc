"""HammingMesh: boards of hosts in a small mesh; switches join the boards of a row and of a column.

On a board neighbours are joined by short wires. Each line of hosts through the boards of a row has
a switch, on which both its ends on every board hang; so has each line through a column. A ring
along a line has all links to itself, as in a torus, but any board is one switch away. Boards of b
x b need 4 / b switch ports for each host. A fat tree of 3 levels needs 5, and a torus none.
Hoefler et al., "HammingMesh: a network topology for large-scale deep learning", SC 2022.
What to look at: only neighbours have full bandwidth; all else leaves by the boards' edges.
"""

from dataclasses import dataclass
from functools import cached_property
from math import prod

from ddl_runtime.topologies.shared_links import Topology


@dataclass(frozen=True)
class HammingMesh(Topology):
    """`boards` (rows, columns) of `board` (rows, columns) hosts, numbered row by row of hosts."""

    boards: tuple[int, int]
    board: tuple[int, int] = (2, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(*self.boards, *self.board) < 1:
            raise ValueError(f"sizes are 1 at least, not {self.boards} boards of {self.board}")

    @cached_property
    def hosts(self) -> int:
        return prod(self.boards) * prod(self.board)

    @property
    def switch_links(self) -> int:
        return 8 * self.hosts

    def route(self, source: int, dest: int) -> tuple[int, ...]:
        links: list[int] = []
        here, columns = source, self.boards[1] * self.board[1]
        for dimension, stride in ((1, 1), (0, columns)):
            size, lines = self.board[dimension], self.boards[dimension] * self.board[dimension]
            at, to = here // stride % lines, dest // stride % lines
            first = 8 * (here - at * stride) + 4 * dimension
            stops = [(at, to)]
            if at // size != to // size:
                # To the board's nearer edge, over the switch to the nearer one of the other.
                halves = [place % size * 2 >= size for place in (at, to)]
                leave, enter = (
                    place - place % size + (size - 1) * half
                    for place, half in zip((at, to), halves, strict=True)
                )
                stops = [(at, leave), (enter, to)]
                links += (
                    first + 8 * stride * leave + 2 * halves[0],
                    first + 8 * stride * enter + 2 * halves[1] + 1,
                )
            for start, end in stops:
                up = end > start
                places = range(start, end, 1 if up else -1)
                links += [first + 8 * stride * place + 2 * up for place in places]
            here += (to - at) * stride
        return tuple(links)
