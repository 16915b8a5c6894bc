"""A learner's program on ranks: what it left, and why it could not go on.

A table of causes has what to say of an error, and a predicate on the error's data.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeGuard

from ddl_class.exercises.exercise import NO_BUFFERS, ProgramOutcome, ProgramRunner, Wrong
from ddl_class.exercises.kit.holds import most_at_once
from ddl_class.exercises.kit.texts import Texts, read
from ddl_class.exercises.translation import translated
from ddl_runtime.diagnosis.deadlock import Deadlock, DiagnosedError, Unreceived
from ddl_runtime.diagnosis.waits import SENDS
from ddl_runtime.pictures.words import size_text
from ddl_runtime.records.ledger import Ledger, Message
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_runtime.topologies.shared_links import Topology
from ddl_teach import simulate

SAYS = Texts(read(__package__, "says.toml"))
LONG = 9_001  # numbers: more than what an MPI library sends before a receive
HOUR = 3600.0  # a latency that no real network has: so virtual times are known for what they are

Causes = dict[str, Callable[[DiagnosedError], Any]]


def run(
    stage: ProgramRunner,
    count: int,
    given: Sequence[tuple[Any, ...]],
    message: str,
    causes: Causes = {},  # noqa: B006, it is never changed
    network: Uniform | Topology = Uniform(),
) -> ProgramOutcome:
    """The program's outcome on `count` ranks; a failure becomes `Wrong` with its usual cause."""
    try:
        return stage.run(count, given, network=network)
    except DiagnosedError as error:
        for words, applies in causes.items():
            if applies(error):
                kind = error.mismatch.sent[1] if error.mismatch else ""
                raise Wrong(f"{words.replace('{type}', kind)}\n\n{message}:\n{error}") from error
        raise


# -- what a failure is, by its data ------------------------------------------------------------


def stuck(error: DiagnosedError) -> TypeGuard[Deadlock]:
    """Whether ranks wait for ever."""
    return isinstance(error, Deadlock)


def some_send(error: DiagnosedError) -> bool:
    """Whether some of the ranks that wait for ever wait in a send."""
    return stuck(error) and any(wait.verb in SENDS for wait in error.waits)


def stuck_or_lost(error: DiagnosedError) -> bool:
    """Whether the numbers of sends and receives differ."""
    return isinstance(error, Deadlock | Unreceived)


def mismatch(error: DiagnosedError) -> bool:
    """Whether a message does not fit the array that should take it."""
    return error.exception == "MessageMismatch"


def no_such_rank(error: DiagnosedError) -> bool:
    """Whether a message was for a rank that does not exist."""
    return error.exception == "NoSuchRank"


PLAYERS = SAYS.each(
    two_play=lambda error: stuck(error) and all(wait.rank >= 2 for wait in error.waits)
)


def general(advice: str) -> Causes:
    """What usually is behind a failure of any exchange; {type} is that of a message's elements."""

    def all_wait(error: DiagnosedError, verbs: Collection[str]) -> bool:
        return stuck(error) and all(wait.verb in verbs for wait in error.waits)

    return SAYS.each(
        {"advice": advice, "type": "{type}"},
        unasked=lambda error: stuck(error) and error.unasked,
        itself=lambda error: stuck(error) and any(w.peers == (w.rank,) for w in error.waits),
        all_receive=lambda error: all_wait(error, ("recv",)) and error.cycle,
        lost=lambda error: (
            isinstance(error, Unreceived) or (all_wait(error, SENDS) and not error.cycle)
        ),
        all_send=lambda error: all_wait(error, SENDS),
        stuck=stuck,
        other_type=lambda error: error.mismatch is not None and not error.mismatch.same_type,
        other_length=mismatch,
        no_such_rank=no_such_rank,
    )


# -- what was done ------------------------------------------------------------------------------


def lent(outcome: ProgramOutcome) -> dict[str, str]:
    """The sentence `holds` of a puzzle with messages; nothing where no timeline was kept."""
    if outcome.timeline is None:
        return {}
    held = [
        most_at_once((span.start, span.end, span.bytes) for span in spans if span.peer >= 0)
        for spans in outcome.timeline.spans
    ]
    return {"holds": SAYS("lent", rank=held.index(max(held)), most=size_text(max(held)))}


def sent(ledger: Ledger) -> list[Message]:
    """The messages that a rank sent by itself, from the host's memory."""
    return [message for message in ledger.messages if message.kind == "host"]


def judge_sent(
    setting: str, outcome: ProgramOutcome, enough: Sequence[int], advice: str, of: str = "messages"
) -> None:
    """Raise `Wrong` if a rank sent more messages, or bytes, than are `enough` for it."""
    for rank, (ledger, most) in enumerate(zip(outcome.ledger, enough, strict=True)):
        count = ledger.bytes_sent if of == "bytes" else ledger.messages_sent
        if count > most:
            values = {"setting": setting, "rank": rank, "count": count, "of": of, "most": most}
            raise Wrong(SAYS("too_much", advice=advice, **values))


def judge_players(outcome: ProgramOutcome, often: int, turn: str, call: str) -> None:
    """Raise `Wrong` unless ranks 0 and 1 sent a ball `often` times, once in each turn, and no
    other rank sent anything."""
    balls = [len(sent(ledger)) for ledger in outcome.ledger]
    for player in (0, 1):
        values = {"call": call, "player": player, "sent": balls[player], "often": often}
        SAYS.refuse_if(
            values | {"turn": turn}, silent=not balls[player], other_number=balls[player] != often
        )
    SAYS.refuse_if({"call": call}, others=any(balls[2:]))


def seconds(
    program: Callable[..., Any], count: int, network: Uniform = Uniform(), **given: Any
) -> float:
    """How long a program takes on simulated ranks, whose sends wait as on a stage."""
    run = simulate(program, count, network=network, machine=NO_BUFFERS, trace=False, **given)
    return run.time


def virtual(outcome: ProgramOutcome, again: Callable[[], ProgramOutcome]) -> bool:
    """Whether time is simulated: then it takes the same the next time, to the last digit."""
    return again().time == outcome.time


def last(count: int, ranks: Iterable[int]) -> list[int]:
    """These numbers of ranks, `count` last: there most mistakes look alike."""
    return sorted(ranks, key=lambda size: size == count)


def first(count: int, ranks: Iterable[int]) -> list[int]:
    """These numbers of ranks, `count` first: with fewer most mistakes look alike."""
    return sorted(set(ranks), key=lambda size: (size != count, size))


def listed(ranks: Iterable[int]) -> str:
    """Ranks as one says them: `rank 3`, `ranks 0, 1 and 2`."""
    names = [str(rank) for rank in sorted(ranks)]
    if len(names) == 1:
        return translated("rank {rank}", rank=names[0])
    return translated("ranks {first} and {last}", first=", ".join(names[:-1]), last=names[-1])
