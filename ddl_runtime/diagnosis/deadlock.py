"""No hang without a story: who waits for whom, told so that a learner can mend it.

A rank that waits for one other is stuck when that other is stuck or has returned; one that waits
for any of several is stuck when all of them are. `stuck` finds the ranks for which nothing can
change any more, `find_cycle` the ring of waits among them, and the errors below put it into words.
Plain data in, text out: simulated and real ranks tell their stories through the same functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ddl_teach.comm.page import paragraphs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SENDS = ("send", "isend")  # sendrecv, when it waits, waits for its receive
SHOWN = 12  # ranks listed one by one before the rest is only counted


class Story(BaseException):
    """Whatever ends with a story for its text."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook the story stands alone, without the frames of whoever told it."""
        return paragraphs(str(self)).splitlines()


class StoryError(Story, RuntimeError):
    """An error whose text is the whole story; `run` carries what was finished, if anything was."""

    run = None


class RankFailed(StoryError):
    """A rank raised, exited or was killed; `rank` is the one that came first."""

    def __init__(self, text: str, rank: int) -> None:
        super().__init__(text)
        self.rank = rank


class Deadlock(StoryError):
    """Ranks wait for what can never come; `waits` says for what, `cycle` is the ring of ranks."""

    def __init__(self, text: str, waits: list[Wait], cycle: list[int]) -> None:
        super().__init__(text)
        self.waits = waits
        self.cycle = cycle

    def plot(self) -> Figure:
        """The waits as a picture: ranks in a circle, arrows from each to whom it waits for."""
        from ddl_teach.plots.waits import plot_waits

        return plot_waits(self.waits, self.cycle)


class TimedOut(StoryError, TimeoutError):
    """The time was up; the text says where every rank was."""


class Unreceived(StoryError):
    """All ranks returned, but a message was sent that nobody received."""


class Interrupted(Story, KeyboardInterrupt):
    """Ctrl-C; the text says where every rank was."""


class MessageMismatch(ValueError):
    """A message came that does not fit the array it was to be received into."""


@dataclass(frozen=True)
class Wait:
    """One rank's wait. `peers` are ranks of the whole program; one of them is enough."""

    rank: int
    call: str
    peers: tuple[int, ...]
    where: str = ""
    note: str = ""
    misfit: str = ""  # the error to raise instead, when it is certain that nothing else will come


def call_text(
    call: str, peer: object, tag: int, nbytes: int, type_name: str, group: int = 0
) -> str:
    """A wait's call as the learner wrote it: `recv(source=1, tag=0) of 400 bytes float32`.

    On a communicator of only some ranks, `group` of them, the numbers in it are that one's.
    """
    word = "to" if call in SENDS else "source"
    where = f" in a group of {group}" if group else ""
    return f"{call}({word}={peer}, tag={tag}) of {nbytes} bytes {type_name}{where}"


def together(waits: Sequence[Wait]) -> Wait:
    """The waits of one rank's program and of what it runs in the background, as one wait: it
    goes on when any of them does. What a background function waits for says more than that
    somebody waits for the function."""
    telling = [wait for wait in waits if not wait.call.startswith("background")] or list(waits)
    peers = dict.fromkeys(peer for wait in telling for peer in wait.peers)
    note = next((wait.note for wait in telling if wait.note), "")
    return replace(telling[0], peers=tuple(peers), note=note)


def mismatch_text(
    rank: int, source: int, tag: int, sent: tuple[int, str], wanted: tuple[int, str]
) -> str:
    """The error text for a message that does not fit."""
    return (
        f"rank {rank} received a message from rank {source} (tag {tag}) that does not fit: "
        f"{sent[0]} bytes of {sent[1]} were sent, the receiving array holds {wanted[0]} bytes of "
        f"{wanted[1]}. Sender and receiver must use the same number of elements and the same type."
    )


def unasked_text(source: int, tag: int) -> str:
    """The note for a receive beside which lies a message that it did not ask for."""
    return f"a message from rank {source} with tag {tag} lies here that nobody asked for"


def stuck(waits: Mapping[int, Wait], active: Collection[int]) -> list[Wait]:
    """The waits that can never end, given that the `active` ranks still run.

    Ranks that are neither waiting nor active have returned and will send nothing more.
    """
    free = set(active)
    waiting_on: dict[int, list[int]] = {}
    for wait in waits.values():
        for peer in wait.peers:
            waiting_on.setdefault(peer, []).append(wait.rank)
    frontier = list(free)
    while frontier:
        for rank in waiting_on.get(frontier.pop(), ()):
            if rank not in free:
                free.add(rank)
                frontier.append(rank)
    return [waits[rank] for rank in sorted(waits) if rank not in free]


def find_cycle(waits: Collection[Wait]) -> list[int]:
    """A ring of ranks each waiting for the next, or nothing where all wait for returned ranks."""
    waiting = {wait.rank: wait for wait in waits}
    done: set[int] = set()
    for start in waiting:
        path: dict[int, int] = {}
        rank = start
        while rank in waiting and rank not in done and rank not in path:
            path[rank] = len(path)
            rank = next((p for p in waiting[rank].peers if p in waiting), -1)
        if rank in path:
            return list(path)[path[rank] :]
        done.update(path)
    return []


def tell_deadlock(
    waits: list[Wait], returned: Collection[int], absent: Collection[int] = ()
) -> Deadlock:
    """The error that draws who waits for whom; `absent` are ranks that were not asked to run."""
    cycle = find_cycle(waits)
    by_rank = {wait.rank: wait for wait in waits}
    lines = []
    if cycle:
        count = len(cycle)
        head = (
            f"{count} ranks wait for each other in a ring, so none of them can go on"
            if count > 1
            else f"rank {cycle[0]} waits for itself, so it can never go on"
        )
        lines += [f"Deadlock: {head}.", ""]
        for position, rank in enumerate(cycle[:SHOWN]):
            following = cycle[(position + 1) % count]
            closes = "   <- and the ring is closed" if position == count - 1 else ""
            lines += [_line(by_rank[rank]), f"       | waits for rank {following}{closes}"]
        if count > SHOWN:
            lines.append(f"  ... and {count - SHOWN} more ranks in the ring")
    else:
        lines += ["Deadlock: ranks wait for messages that can never come.", ""]
    others = [wait for wait in waits if wait.rank not in set(cycle)]
    if cycle and others:
        lines += ["", "Behind them wait:"]
    for wait in others[:SHOWN]:
        gone = [peer for peer in wait.peers if peer in returned]
        lines.append(_line(wait))
        if gone and len(gone) == len(wait.peers):
            who = f"rank {gone[0]}, which has" if len(gone) == 1 else "ranks that all have"
            lines.append(f"       | waits for {who} already returned")
        elif set(wait.peers) <= set(absent):
            lines.append(f"       | waits for {_ranks(wait.peers)}, not asked to run this")
        else:
            lines.append(f"       | waits for {_ranks(wait.peers)}")
    if len(others) > SHOWN:
        lines.append(f"  ... and {len(others) - SHOWN} more ranks")
    lines += ["", "What to try: " + _advice(waits, cycle)]
    return Deadlock("\n".join(lines), waits, cycle)


def _line(wait: Wait) -> str:
    text = f"  rank {wait.rank}  {wait.call}"
    if wait.where:
        text += f"\n       | at {wait.where}"
    return text + (f"\n       ! {wait.note}" if wait.note else "")


def _ranks(ranks: Collection[int]) -> str:
    shown = ", ".join(map(str, list(ranks)[:8]))
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"rank {shown}" if len(ranks) == 1 else f"any of ranks {shown}{more}"


def _advice(waits: list[Wait], cycle: list[int]) -> str:
    ring = [wait.call for wait in waits if not cycle or wait.rank in cycle]
    verbs = {call.split("(")[0] for call in ring}
    meetings = sorted(call for call in ring if call.endswith("()") and call != "background()")
    if any(wait.note for wait in waits):
        return "compare source, tag and element type of the send and the receive named above."
    if meetings:
        return (
            f"every rank must call {meetings[0]}; here some wait in another call, or have "
            "returned without it."
        )
    if len(cycle) == 1:
        return "a rank can send to itself, but must begin with isend or irecv: use sendrecv."
    if cycle and verbs <= {"recv", "irecv"}:
        return (
            "everybody receives before anybody sends. Use sendrecv, post the receive with irecv "
            "first, or let every second rank send first."
        )
    if cycle and verbs <= set(SENDS):
        return (
            "everybody sends before anybody receives, and a long send waits for its receiver. Use "
            "sendrecv or isend."
        )
    if not cycle and verbs <= set(SENDS):
        return "a receive is missing, or a rank returned too early."
    if not cycle:
        return (
            "a send is missing, or a rank returned too early: check that every receive has its "
            "send, also for the first and the last rank."
        )
    return "follow the ring: one of these ranks must send before it waits."


def tell_positions(headline: str, positions: Mapping[int, str]) -> str:
    """A headline and where every rank was."""
    lines = [headline, ""]
    lines += [f"  rank {rank}  {positions[rank]}" for rank in sorted(positions)[:SHOWN]]
    if len(positions) > SHOWN:
        lines.append(f"  ... and {len(positions) - SHOWN} more ranks")
    return "\n".join(lines)


def tell_failure(
    rank: int,
    what: str,
    traceback_text: str,
    alike: Sequence[int] = (),
    others: bool = True,
    held: Mapping[int, str] | None = None,
) -> RankFailed:
    """The error for the first rank that raised: the exception first, its traceback below. The
    ranks `alike` raised the same, any `others` were stopped, those `held` at a line by force."""
    text = f"rank {rank} raised {what}"
    if traceback_text:
        text += f"\n\n{traceback_text.rstrip()}"
    ends = []
    if alike:
        some = ", ".join(map(str, alike[:SHOWN])) + (" and others" if len(alike) > SHOWN else "")
        ends.append(f"The same happened on {'ranks' if len(alike) > 1 else 'rank'} {some}.")
    if others:
        ends.append("The other ranks were stopped.")
    if ends:
        text += f"\n\n{' '.join(ends)}"
    if held:
        headline = "\n\nWhere they sat, in MPI's own or in other compiled code:"
        text += tell_positions(headline, held)
    return RankFailed(text, rank)


def tell_unreceived(left: list[tuple[int, int, int, int]]) -> Unreceived:
    """The error for messages `(source, dest, tag, nbytes)` that nobody took."""
    lines = ["All ranks returned, but a message was sent that nobody received:", ""]
    for source, dest, tag, nbytes in left[:SHOWN]:
        lines.append(f"  rank {source} sent {nbytes} bytes to rank {dest} with tag {tag}")
    if len(left) > SHOWN:
        lines.append(f"  ... and {len(left) - SHOWN} more")
    lines += ["", "What to try: add the missing recv or wait() of an irecv, or remove the send."]
    return Unreceived("\n".join(lines))
