"""Diagnosis of deadlocks and failures: data first, then a text that a learner can act on.

A rank that waits for one other is stuck when that one is stuck or has returned; a rank that waits
for any of several is stuck when all of them are. `stuck` finds such ranks, `find_cycle` the ring
of waits among them, and the errors below describe them, for simulated and for real ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ddl_runtime.diagnosis.page import paragraphs
from ddl_runtime.diagnosis.shortage import ADVICE, Shortage
from ddl_runtime.diagnosis.waits import RECEIVES, SENDS, Lost, Mismatch, Wait

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
SHOWN = 12  # ranks listed one by one before the rest is only counted
NAMED = 8  # ranks named in a sentence
DATA = {"mismatch": Mismatch, "shortage": Shortage}  # of exceptions, by attribute


class DiagnosedEnd(BaseException):
    """An ending whose text is a diagnosis."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook the diagnosis stands alone, without the frames of what found it."""
        return paragraphs(str(self)).splitlines()


class DiagnosedError(DiagnosedEnd, RuntimeError):
    """An error whose text is a diagnosis; `run` carries the results so far, if there are any.

    Programs read its data: of a function that raised, `exception` is the name of the exception's
    type, `reason` its text and `mismatch` the message that did not fit. `cut_cable` is the node
    whose cable was out, if one was.
    """

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


class OutOfMemory(RankFailed):
    """A rank asked to hold more than it had left; `shortage` says when, and what it held."""

    shortage: Shortage | None = None


class Deadlock(DiagnosedError):
    """Ranks wait for messages that can never come. `waits` has every wait, `cycle` the ring of
    ranks."""

    # What pickle calls has the text alone; the rest comes after it.
    def __init__(self, text: str, waits: Sequence[Wait] = (), cycle: Sequence[int] = ()) -> None:
        super().__init__(text)
        self.waits = list(waits)
        self.cycle = list(cycle)

    @property
    def unasked(self) -> bool:
        return any(wait.unasked for wait in self.waits)

    def plot(self) -> Figure:
        """The waits as a picture: ranks in a circle, an arrow to each rank that is waited for."""
        from ddl_runtime.pictures.waits import plot_waits

        return plot_waits(self.waits, self.cycle)


class TimedOut(DiagnosedError, TimeoutError):
    """The time was up; the text says where every rank was. Ranks that are `frozen` were stopped
    from outside (SIGSTOP); in those in `background` a function runs that they began."""

    frozen: Sequence[int] = ()
    background: Sequence[int] = ()


class Unreceived(DiagnosedError):
    """All ranks returned, but messages were not received; `lost` has all of them."""

    def __init__(self, text: str, lost: Sequence[Lost] = ()) -> None:
        super().__init__(text)
        self.lost = list(lost)


class CollectiveMismatch(DiagnosedError):
    """All ranks returned, but they did not call the same collectives."""


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
    """A wait's call as the learner wrote it: `recv(source=1, tag=0) of 400 bytes float32`. In a
    group of `group` ranks the numbers are the group's."""
    word = "to" if call in SENDS else "source"
    where = f" in a group of {group}" if group else ""
    return f"{call}({word}={peer}, tag={tag}) of {nbytes} bytes {type_name}{where}"


def together(waits: Sequence[Wait]) -> Wait:
    """The waits of one rank's program and of its background functions as one wait, which ends when
    any of them does. A background function's own wait is more precise than the wait for that
    function."""
    telling = [wait for wait in waits if not wait.call.startswith("background")] or list(waits)
    peers = dict.fromkeys(peer for wait in telling for peer in wait.peers)
    unasked = next((wait.unasked for wait in telling if wait.unasked), None)
    misfit = next((wait.misfit for wait in telling if wait.misfit), None)
    anyone = any(wait.anyone for wait in telling)
    purpose = " or ".join(dict.fromkeys(wait.purpose for wait in telling if wait.purpose))
    return replace(
        telling[0], peers=tuple(peers), unasked=unasked, misfit=misfit, anyone=anyone,
        purpose=purpose,
    )  # fmt: skip


def any_of(waits: Sequence[Wait]) -> Wait:
    """The wait for whichever of several requests is done first."""
    if len(waits) == 1:
        return waits[0]
    return replace(together(waits), call=f"wait_any of {len(waits)} requests", tag=None)


def stuck(waits: Mapping[int, Wait], active: Collection[int]) -> list[Wait]:
    """The waits that can never end while only the `active` ranks still run. A rank that neither
    waits nor is active has returned."""
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
    """A ring of ranks each of which waits for the next; empty if all wait for returned ranks. A
    rank that receives from any other is in no ring."""
    waiting = {wait.rank: wait for wait in waits if not wait.anyone}
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
    """The error for these waits; `absent` are ranks that were not asked to run."""
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
            awaited = f"rank {gone[0]}, which has" if len(gone) == 1 else "ranks that all have"
            return _line(wait, f"{awaited} already returned")
        not_asked = ", not asked to run this" if set(wait.peers) <= set(absent) else ""
        any_of_them = "any of " if len(wait.peers) > 1 else ""
        return _line(wait, any_of_them + _some(wait.peers) + not_asked)

    if not cycle and (serving := _serving(waits)):
        server, clients = serving
        wait_for = "waits" if len(clients) == 1 else "wait"
        head = (
            f"rank {server} waits for any rank, and {_some(clients)} {wait_for} for rank {server}"
        )
    elif not cycle:
        head = "ranks wait for messages that can never come"
    elif len(cycle) == 1:
        head = f"rank {cycle[0]} waits for itself, so it can never go on"
    else:
        head = f"{len(cycle)} ranks wait for each other in a ring, so none of them can go on"
    lines = [f"Deadlock: {head}.", "", *_listed(cycle, in_the_ring, " ranks in the ring")]
    lines += ["", "Behind them wait:"] if cycle and others else []
    lines += [*_listed(others, behind, " ranks"), "", "What to try: " + advice(waits, cycle)]
    return Deadlock("\n".join(lines), waits, cycle)


def advice(waits: Sequence[Wait], cycle: Sequence[int]) -> str:
    """What a learner should try, given all waits and the ring among them, if there is one."""
    ring = [wait for wait in waits if not cycle or wait.rank in cycle]
    verbs = {wait.verb for wait in ring}
    meetings = sorted({wait.call for wait in ring if wait.call.endswith("()")} - {"background()"})
    if any(wait.unasked for wait in waits):
        return "compare source, tag and element type of the send and the receive named above."
    if meetings:
        return (
            f"every rank must call {meetings[0]}; here some wait in another call, or have "
            "returned without it."
        )
    if len(cycle) == 1:
        return "a rank can send to itself, but must begin with isend or irecv: use sendrecv."
    if not cycle and (serving := _serving(waits)):
        server, clients = serving
        wait_for = "waits for an answer" if len(clients) == 1 else "wait for answers"
        return (
            f"{_some(clients)} {wait_for}, and rank {server} for a request. Does rank {server} "
            "answer every request? Does it count the requests right? A source of -1 means ANY."
        )
    waiting = {wait.rank for wait in waits}
    if lonely := [wait.rank for wait in waits if wait.anyone and not waiting & {*wait.peers}]:
        return (
            f"rank {lonely[0]} receives from ANY, and all others have returned: it waits for more "
            "messages than were sent to it. How many does each rank send, and how many does "
            f"rank {lonely[0]} receive?"
        )
    if cycle and all(wait.purpose for wait in ring):
        return (
            "each rank in the ring waits for what the next one does later. Change the order in "
            "which one of them works."
        )
    if cycle and verbs == {"irecv"}:
        return (
            "the receives are there, and what they wait for was never sent. Follow the ring: one "
            "of these ranks must send before it waits."
        )
    if verbs <= {"recv", "irecv"} and (cycle or all(wait.anyone for wait in waits)):
        return (
            "every rank receives before any rank sends. Use sendrecv, post the receive with irecv "
            "first, or let every second rank send first."
        )
    if cycle and verbs <= set(SENDS):
        return (
            "every rank sends before any rank receives, and a long send waits for its receiver. "
            "Use sendrecv or isend."
        )
    if cycle:
        return "follow the ring: one rank must send, or call a collective, before it waits."
    if verbs <= set(SENDS):
        return "a receive is missing, or a rank returned too early."
    return (
        "a send is missing, or a rank returned too early: check that every receive has its "
        "send, also for the first and the last rank."
    )


def _serving(waits: Sequence[Wait]) -> tuple[int, list[int]] | None:
    """A rank that receives from ANY, and those that wait to receive from it alone, if any do."""
    for server in (wait for wait in waits if wait.anyone):
        clients = [
            wait.rank
            for wait in waits
            if wait.peers == (server.rank,) and not wait.anyone and wait.verb in RECEIVES
        ]
        if clients:
            return server.rank, clients
    return None


def _some(ranks: Sequence[int]) -> str:
    """Ranks by their names: `rank 3`, `ranks 1, 2, 3`."""
    shown = ", ".join(map(str, ranks[:NAMED]))
    more = f" and {len(ranks) - NAMED} more" if len(ranks) > NAMED else ""
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}{more}"


def _line(wait: Wait, awaited: str) -> str:
    place = wait.purpose or (wait.where and f"at {wait.where}")
    where = f"\n       | {place}" if place else ""
    unasked = f"\n       ! {wait.unasked}" if wait.unasked else ""
    return f"  rank {wait.rank}  {wait.call}{where}{unasked}\n       | waits for {awaited}"


def _listed(items: Sequence[T], tell: Callable[[T], str], what: str = "") -> list[str]:
    """A line for each of the first few, and how many more there are."""
    more = [f"  ... and {len(items) - SHOWN} more{what}"] if len(items) > SHOWN else []
    return [*map(tell, items[:SHOWN]), *more]


def tell_positions(headline: str, positions: Mapping[int, str]) -> str:
    """A headline and where every rank was."""
    places = _listed(sorted(positions), lambda rank: f"  rank {rank}  {positions[rank]}", " ranks")
    return "\n".join([headline, "", *places])


def details(error: BaseException | None) -> dict[str, Any]:
    """What an exception of a rank says as data, for `tell_failure`."""
    data = {name: getattr(error, name, None) for name in DATA}
    return {name: value for name, value in data.items() if isinstance(value, DATA[name])}


def tell_failure(
    rank: int, what: str, traceback_text: str, alike: Sequence[int] = (), others: bool = True,
    held: Mapping[int, str] | None = None, mismatch: Mismatch | None = None,
    shortage: Shortage | None = None,
) -> RankFailed:  # fmt: skip
    """The error for the first rank that raised: the exception first, its traceback below. The
    ranks `alike` raised the same, any `others` were stopped, those `held` at a line by force."""
    ends = []
    if alike:
        some = ", ".join(map(str, alike[:SHOWN])) + (" and others" if len(alike) > SHOWN else "")
        ends.append(f"The same happened on {'ranks' if len(alike) > 1 else 'rank'} {some}.")
    if others:
        ends.append("The other ranks were stopped.")
    head = str(shortage) if shortage else f"rank {rank} raised {what}"
    parts = [head, traceback_text.rstrip(), " ".join(ends)]
    if held:
        headline = "Where they were stopped, in MPI's own or in other compiled code:"
        parts.append(tell_positions(headline, held))
    parts += [f"What to try: {ADVICE}"] if shortage else []
    text = "\n\n".join(filter(None, parts))
    failure = OutOfMemory(text, rank) if shortage else RankFailed(text, rank)
    if isinstance(failure, OutOfMemory):
        failure.shortage = shortage
    failure.note_exception(what, mismatch)
    return failure


def tell_raised(who: str, what: str, traceback_text: str) -> DiagnosedError:
    """The error for an exception of what runs on no ranks: the exception first."""
    error = DiagnosedError(f"{who} raised {what}\n\n{traceback_text}".rstrip())
    error.note_exception(what)
    return error


def tell_unreceived(left: Sequence[Lost], run: Any) -> Unreceived:
    """The error for messages that were received by no rank; it carries the run."""

    def line(lost: Lost) -> str:
        what = f"{lost.nbytes} bytes to rank {lost.dest} with tag {lost.tag}"
        return f"  rank {lost.source} sent {what}"

    head = "All ranks returned, but a message was sent that no rank received:"
    end = "What to try: add the missing recv or wait() of an irecv, or remove the send."
    error = Unreceived("\n".join([head, "", *_listed(left, line), "", end]), left)
    error.run = run
    return error
