"""From messages in time to steps: in one step a rank sends one message and receives one.

A message belongs to the first step after all that its sender had sent and received before it, and
after what its receiver took before it. So the steps do not depend on how long messages are under
way, and P-1 messages to one rank are P-1 steps, as its one port takes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ddl_runtime.records.timeline import Arrow


def rounds(messages: Sequence[Arrow]) -> list[int]:
    """The step of each message; the first is 1."""
    sent_after = [_before_sending(message, messages) for message in messages]
    taken_after = [_before_taking(place, messages) for place in range(len(messages))]
    found: dict[int, int] = {}
    waiting = sorted(range(len(messages)), key=lambda place: messages[place].start)
    while waiting:
        able = [k for k in waiting if found.keys() >= sent_after[k]]
        # Who takes an early message late may have answered later ones first: then the order in
        # which it was sent counts, which has no circles.
        place = next((k for k in able if found.keys() >= taken_after[k]), able[0])
        waiting.remove(place)
        causes = (sent_after[place] | taken_after[place]) & found.keys()
        found[place] = 1 + max((found[cause] for cause in causes), default=0)
    return [found[place] for place in range(len(messages))]


def _before_sending(message: Arrow, messages: Sequence[Arrow]) -> set[int]:
    """What the sender had sent and received, by its own clock, when this message left."""
    return {
        place
        for place, other in enumerate(messages)
        if (other.source == message.source and other.start < message.start)
        or (other.dest == message.source and other.end <= message.start)
    }


def _before_taking(place: int, messages: Sequence[Arrow]) -> set[int]:
    """What the receiver had taken before it took this message."""
    message = messages[place]
    return {
        k
        for k, other in enumerate(messages)
        if other.dest == message.dest and (other.end, k) < (message.end, place)
    }
