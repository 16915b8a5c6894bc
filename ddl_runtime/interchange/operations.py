"""What a rank did, and what each operation had to wait for: a timeline without its times.

An operation depends on another of its rank if it began when that had ended. Only the last of these
are written down: what they depend on, it depends on too. Spans of the program's own are left out,
for they stand around operations. A barrier becomes its messages, by the dissemination that real
and simulated ranks use: round k sends to the rank 2^k places on, and waits for that 2^k back.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ddl_runtime.pictures.activity import Spans

LOCAL = ("work", "reduce")
MESSAGES = ("send", "recv")
BARRIER_TAG = 1 << 20  # a program's own tags are smaller


class RankOperation(NamedTuple):
    """One operation of a rank; `after` has the places in the rank's list of what it waits for."""

    name: str
    kind: str
    start: float
    end: float
    peer: int
    tag: int
    bytes: int
    after: tuple[int, ...]


def operations(timeline: Spans) -> Iterator[list[RankOperation]]:
    """The operations of each rank, in the order in which they began."""
    spans = [timeline.of(rank) for rank in range(timeline.ranks)]
    barriers = [sum(span.kind == "barrier" for span in own) for own in spans]
    if len(set(barriers)) > 1:
        raise ValueError(
            f"some ranks were in {min(barriers)} barriers and others in {max(barriers)}, and a "
            "timeline does not say with which ranks. A run can be written for another simulator "
            "only if all ranks take part in each barrier"
        )
    for rank, own in enumerate(spans):
        yield _of(own, rank, timeline.ranks)


def _of(spans: Iterable[Any], rank: int, ranks: int) -> list[RankOperation]:
    kinds = (*LOCAL, *MESSAGES, "barrier")
    leaves = sorted((s for s in spans if s.kind in kinds), key=lambda s: (s.start, s.end))
    listed: list[RankOperation] = []
    last: list[tuple[float, float, tuple[int, ...]]] = []  # begin, end, positions: may be needed
    barriers = 0
    for span in leaves:
        latest = max((begin for begin, end, _ in last if end <= span.start), default=0.0)
        last = [each for each in last if each[1] > latest or each[0] == latest]
        after = tuple(place for _, end, own in last if end <= span.start for place in own)
        if span.kind == "barrier":
            distance = 1
            while distance < ranks:
                for kind, step in (("send", distance), ("recv", -distance)):
                    peer, tag = (rank + step) % ranks, BARRIER_TAG + barriers
                    listed.append(RankOperation("barrier", kind, 0.0, 0.0, peer, tag, 0, after))
                after = (len(listed) - 2, len(listed) - 1)
                distance *= 2
            barriers += 1
        else:
            name, kind, start, end, peer, tag, size = span
            listed.append(RankOperation(name, kind, start, end, peer, tag, size, after))
            after = (len(listed) - 1,)
        last.append((span.start, span.end, after))
    return listed
