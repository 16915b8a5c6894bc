"""A cell as plain data: four places, and one operation on each of the six edges between them.

    place 0 = what comes in;    place j = mean over the edges i-j of operation(place i)
    what goes out = place 3

A *genotype* names the operation on each edge, and how the last maps are summed up before the
classifier: `{"0-1": "conv3", ..., "2-3": "same", "head": "quarters"}`. There are 5^6 x 3 = 46,875
of them. Cells of this form are those of Dong and Yang, "NAS-Bench-201", ICLR 2020; that networks
repeat one searched cell comes from Zoph, Vasudevan, Shlens and Le, "Learning transferable
architectures", CVPR 2018.
What to look at: an edge counts only if it lies on a way from place 0 to place 3. Many genotypes
are one network.
"""

from collections.abc import Mapping

from ddl_teach.search.space import Choice, Space

EDGES = ("0-1", "0-2", "1-2", "0-3", "1-3", "2-3")
OPERATIONS = ("none", "same", "mean3", "conv1", "conv3")
HEADS = ("mean", "quarters", "sixteenths")

Genotype = Mapping[str, str]

CELLS = Space({**{edge: Choice(*OPERATIONS) for edge in EDGES}, "head": Choice(*HEADS)})
"""All genotypes."""


def ends(edge: str) -> tuple[int, int]:
    """The places that an edge leads from and to."""
    start, end = edge.split("-")
    return int(start), int(end)


def living(genotype: Genotype) -> tuple[str, ...]:
    """The edges on some way from place 0 to place 3, in the order in which they are computed."""
    for name, options in CELLS.options("a genotype").items():
        if genotype.get(name) not in options:
            raise ValueError(
                f"genotype: {name}={genotype.get(name)!r} is none of {', '.join(options)}; "
                f"it has one entry for each of {', '.join(CELLS.axes)}"
            )
    there = [edge for edge in EDGES if genotype[edge] != "none"]
    reached, useful = {0}, {3}
    for start, end in map(ends, there):  # each edge stands after all that lead to its start
        if start in reached:
            reached.add(end)
    for start, end in map(ends, reversed(there)):
        if end in useful:
            useful.add(start)
    return tuple(edge for edge in there if ends(edge)[0] in reached and ends(edge)[1] in useful)


def text(genotype: Genotype) -> str:
    """What is computed, in a line: living edges and the head."""
    edges = ", ".join(f"{edge} {genotype[edge]}" for edge in living(genotype))
    return f"{edges or 'nothing'}; {genotype['head']}"
