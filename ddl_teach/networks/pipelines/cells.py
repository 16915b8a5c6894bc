"""The words of a schedule as texts, in torch's grammar.

    2F0, 2B0, 2I0, 2W0           a pass of stage 2, or F0, B0, ... of the rank's own
    (0F5;3B2)OVERLAP_F_B         a forward and a backward pass at once
    2SEND_F0, 2RECV_B0, ...      messages, which are read over: the schedule writes its own
    2UNSHARD, 2RESHARD, ...      words of sharded weights, read over as well

The grammar is that of torch.distributed.pipelining's files. What to look at: an error says where a
word stands, and what could stand there.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from ddl_teach.comm import DiagnosedError
from ddl_teach.networks.pipelines import instructions as do
from ddl_teach.networks.pipelines.messages import with_messages
from ddl_teach.networks.pipelines.schedule import Placement, Schedule

KINDS: dict[str, type[do.Instruction]] = {kind.letter: kind for kind in do.Compute}
PASS = re.compile(r"(\d*)([FBIW])(\d+)")
PAIR = re.compile(r"\(([^;()]*);([^;()]*)\)(?:OVERLAP_F_B)?")
READ_OVER = re.compile(r"\d+(?:(?:SEND|RECV)_[FB]\d+|(?:UNSHARD|RESHARD|REDUCE_GRAD)\d*)")
WORDS = (
    "F3 is micro-batch 3 forward, B3 backward, I3 and W3 the halves of a backward pass, 2F3 the "
    "same on stage 2, (0F5;3B2)OVERLAP_F_B a forward and a backward pass at once"
)


@dataclass(frozen=True)
class Cell:
    """One text of a schedule, and where it stands."""

    passes: tuple[do.Instruction, ...]  # none if it was read over, two if they run at once
    place: str


def passes_in(text: object, own_stage: int, place: str) -> tuple[do.Instruction, ...]:
    """The passes of a text; `own_stage` is meant where it names no stage."""
    stripped = text.strip() if isinstance(text, str) else "?"
    if pair := PAIR.fullmatch(stripped):
        forward, backward = (passes_in(half.strip(), own_stage, place) for half in pair.groups())
        kinds = [type(word) for word in (*forward, *backward)]
        if kinds != [do.Forward, do.Backward]:
            raise ValueError(
                f"{place}: {text!r} must pair a forward pass F with a backward pass B"
            )
        return (*forward, *backward)
    if not stripped or READ_OVER.fullmatch(stripped):
        return ()
    if not (match := PASS.fullmatch(stripped)):
        raise ValueError(f"{place}: {text!r} is no pass of a micro-batch. {WORDS}")
    stage, letter, micro_batch = match.groups()
    return (KINDS[letter](int(stage or own_stage), int(micro_batch)),)


def placement_of(rows: Sequence[Iterable[Cell]]) -> Placement:
    """Which rank holds which stage: the one that computes it, which is one rank for each stage."""
    holders: dict[int, tuple[int, str]] = {}
    for rank, row in enumerate(rows):
        for cell in row:
            for word in cell.passes:
                holder, first = holders.setdefault(word.stage, (rank, cell.place))
                if holder != rank:
                    here = (
                        f"{cell.place}: {word} is of stage {word.stage}, which is on another rank"
                    )
                    raise ValueError(f"{here} ({first}). A stage stays on one rank")
    lacking = next(stage for stage in count() if stage not in holders)
    last = max(len(rows) - 1, *holders, 0)
    if lacking <= last:
        has = f"no rank computes stage {lacking}, but there are stages 0 to {last}"
        raise ValueError(f"{has} on {len(rows)} ranks. Is a row missing, or a stage's name wrong?")
    return (tuple(holders[stage][0] for stage in range(lacking)),)


def cells_of(
    texts: Sequence[Sequence[str]], place: Callable[[int, int], str] = "rank {}, word {}".format
) -> list[list[Cell]]:
    """What each rank's texts say. An error names by `place(rank, number)` which one is wrong."""
    return [
        [
            Cell(passes_in(text, rank, place(rank, number)), place(rank, number))
            for number, text in enumerate(words)
        ]
        for rank, words in enumerate(texts)
    ]


def written(name: str, texts: Sequence[Sequence[str]]) -> Schedule:
    """A schedule from what each rank computes. F0, B0, I0, W0 are passes of stage r on rank r; 2F0
    is one of stage 2.

    >>> print(written("mine", [["F0", "B0"], ["F0", "B0"]]))
    mine: 2 ranks, 1 micro-batches
      rank 0  F0  B0
      rank 1  F0  B0
    """
    return schedule_from(name, cells_of(texts))


def schedule_from(name: str, rows: Sequence[Sequence[Cell]]) -> Schedule:
    """The schedule of these cells, a row for each rank."""
    computation = [[word for cell in row for word in cell.passes] for row in rows]
    numbers = [word.micro_batch for order in computation for word in order]
    overlapped = {cell.passes[0] for row in rows for cell in row if len(cell.passes) == 2}
    placement = placement_of(rows)
    return with_messages(name, 1 + max(numbers, default=0), placement, computation, overlapped)


def order_of(schedule: Callable[[int, int], Schedule]) -> Callable[[int, int, int], list[str]]:
    """The order, by rank, ranks and micro-batches, of which `schedule_of` makes this schedule."""
    return lambda rank, *sizes: schedule(*sizes).words(rank)


def schedule_of(
    order: Callable[[int, int, int], Sequence[str]], ranks: int, micro_batches: int
) -> Schedule:
    """The schedule of a function: `order(rank, ranks, micro_batches)` is what a rank computes."""
    try:
        words = [order(rank, ranks, micro_batches) for rank in range(ranks)]
    except NotImplementedError:
        raise DiagnosedError(f"{order.__name__} is not written yet: there is no order.") from None
    return written(order.__name__, words)
