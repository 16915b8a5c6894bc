"""No hang without a story: who waits for whom, told so that a learner can mend it.

A rank that waits for one other is stuck when that other is stuck or has returned; one that waits
for any of several is stuck when all of them are. `stuck` finds the ranks for which nothing can
change any more, `find_cycle` the ring of waits among them, and the errors below put it into words.
Plain data in, text out: simulated and real ranks tell their stories through the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ddl_runtime.diagnosis.advice import advice
from ddl_runtime.diagnosis.page import paragraphs
from ddl_runtime.diagnosis.waits import SENDS, Lost, Mismatch, Wait

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
SHOWN = 12  # ranks listed one by one before the rest is only counted


class DiagnosedEnd(BaseException):
    """Whatever ends with a story for its text."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook the story stands alone, without the frames of whoever told it."""
        return paragraphs(str(self)).splitlines()


class DiagnosedError(DiagnosedEnd, RuntimeError):
    """An error whose text is the whole story; `run` carries what was finished, if anything was.

    What a program needs of it is data: of a function that raised, `exception` is the name of the
    exception's type, `reason` its text, and `mismatch` the message that did not fit. Of ranks on
    nodes, `cut_cable` is the node whose cable was out, None if none was."""

    run: Any = None
    exception = ""
    reason = ""
    mismatch: Mismatch | None = None
    cut_cable: str | None = None

    def note_exception(self, what: str, mismatch: Mismatch | None = None) -> None:
        """Note the exception, given as `frames.error_text` writes it."""
        self.exception, _, self.reason = what.partition(": ")
        self.mismatch = mismatch


class RankFailed(DiagnosedError):
    """A rank raised, exited or was killed; `rank` is the one that came first."""

    def __init__(self, text: str, rank: int = 0) -> None:
        super().__init__(text)
        self.rank = rank


class Deadlock(DiagnosedError):
    """Ranks wait for what can never come; `waits` says for what, `cycle` is the ring of ranks."""

    # What pickle calls has the text alone; the rest comes after it.
    def __init__(self, text: str, waits: Sequence[Wait] = (), cycle: Sequence[int] = ()) -> None:
        super().__init__(text)
        self.waits = list(waits)
        self.cycle = list(cycle)

    @property
    def unasked(self) -> bool:
        """Whether beside a wait lies a message that nobody asked for."""
        return any(wait.unasked for wait in self.waits)

    def plot(self) -> Figure:
        """The waits as a picture: ranks in a circle, arrows from each to whom it waits for."""
        from ddl_runtime.pictures.waits import plot_waits

        return plot_waits(self.waits, self.cycle)


class TimedOut(DiagnosedError, TimeoutError):
    """The time was up; the text says where every rank was."""


class Unreceived(DiagnosedError):
    """All ranks returned, but a message was sent that nobody received; `lost` has all of them."""

    def __init__(self, text: str, lost: Sequence[Lost] = ()) -> None:
        super().__init__(text)
        self.lost = list(lost)


class Interrupted(DiagnosedEnd, KeyboardInterrupt):
    """Ctrl-C; the text says where every rank was."""


class MessageMismatch(ValueError):
    """A message came that does not fit the array it was to be received into."""

    def __init__(self, mismatch: Mismatch | str) -> None:
        super().__init__(str(mismatch))
        self.mismatch = mismatch if isinstance(mismatch, Mismatch) else None


class NoSuchRank(ValueError):
    """A message is for a rank that does not exist, or from one."""


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
    unasked = next((wait.unasked for wait in telling if wait.unasked), None)
    misfit = next((wait.misfit for wait in telling if wait.misfit), None)
    anyone = any(wait.anyone for wait in telling)
    return replace(telling[0], peers=tuple(peers), unasked=unasked, misfit=misfit, anyone=anyone)


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
    following = dict(zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
    others = [wait for wait in waits if wait.rank not in following]

    def in_the_ring(rank: int) -> str:
        closes = "   <- and the ring is closed" if rank == cycle[-1] else ""
        return _line(by_rank[rank], f"rank {following[rank]}{closes}")

    def behind(wait: Wait) -> str:
        gone = [peer for peer in wait.peers if peer in returned]
        if gone and len(gone) == len(wait.peers):
            who = f"rank {gone[0]}, which has" if len(gone) == 1 else "ranks that all have"
            return _line(wait, f"{who} already returned")
        not_asked = ", not asked to run this" if set(wait.peers) <= set(absent) else ""
        return _line(wait, _ranks(wait.peers) + not_asked)

    if not cycle:
        head = "ranks wait for messages that can never come"
    elif len(cycle) == 1:
        head = f"rank {cycle[0]} waits for itself, so it can never go on"
    else:
        head = f"{len(cycle)} ranks wait for each other in a ring, so none of them can go on"
    lines = [f"Deadlock: {head}.", "", *_listed(cycle, in_the_ring, " ranks in the ring")]
    lines += ["", "Behind them wait:"] if cycle and others else []
    lines += [*_listed(others, behind, " ranks"), "", "What to try: " + advice(waits, cycle)]
    return Deadlock("\n".join(lines), waits, cycle)


def _line(wait: Wait, awaited: str) -> str:
    where = f"\n       | at {wait.where}" if wait.where else ""
    unasked = f"\n       ! {wait.unasked}" if wait.unasked else ""
    return f"  rank {wait.rank}  {wait.call}{where}{unasked}\n       | waits for {awaited}"


def _listed(items: Sequence[T], tell: Callable[[T], str], what: str = "") -> list[str]:
    """The first ones in words, and how many more there are."""
    more = [f"  ... and {len(items) - SHOWN} more{what}"] if len(items) > SHOWN else []
    return [*map(tell, items[:SHOWN]), *more]


def _ranks(ranks: Collection[int]) -> str:
    shown = ", ".join(map(str, list(ranks)[:8]))
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"rank {shown}" if len(ranks) == 1 else f"any of ranks {shown}{more}"


def tell_positions(headline: str, positions: Mapping[int, str]) -> str:
    """A headline and where every rank was."""
    places = _listed(sorted(positions), lambda rank: f"  rank {rank}  {positions[rank]}", " ranks")
    return "\n".join([headline, "", *places])


def tell_failure(
    rank: int,
    what: str,
    traceback_text: str,
    alike: Sequence[int] = (),
    others: bool = True,
    held: Mapping[int, str] | None = None,
    mismatch: Mismatch | None = None,
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
    failure = RankFailed(text, rank)
    failure.note_exception(what, mismatch)
    return failure


def tell_raised(who: str, what: str, traceback_text: str) -> DiagnosedError:
    """The error for an exception of what runs on no ranks: the exception first."""
    error = DiagnosedError(f"{who} raised {what}\n\n{traceback_text}".rstrip())
    error.note_exception(what)
    return error


def tell_unreceived(left: list[Lost]) -> Unreceived:
    """The error for messages that nobody took."""

    def line(lost: Lost) -> str:
        route = f"  rank {lost.source} sent {lost.nbytes} bytes to rank {lost.dest}"
        return f"{route} with tag {lost.tag}"

    head = "All ranks returned, but a message was sent that nobody received:"
    end = "What to try: add the missing recv or wait() of an irecv, or remove the send."
    return Unreceived("\n".join([head, "", *_listed(left, line), "", end]), left)
