"""What to try after a deadlock, chosen by who waits for whom, and in which call."""

from collections.abc import Sequence

from ddl_runtime.diagnosis.waits import RECEIVES, SENDS, Wait

SHOWN = 8  # ranks that are named


def advice(waits: Sequence[Wait], cycle: Sequence[int]) -> str:
    """What a learner should try, given all waits and the ring among them, if there is one."""
    ring = [wait.call for wait in waits if not cycle or wait.rank in cycle]
    verbs = {wait.verb for wait in waits if not cycle or wait.rank in cycle}
    meetings = sorted(call for call in ring if call.endswith("()") and call != "background()")
    if any(wait.unasked for wait in waits):
        return "compare source, tag and element type of the send and the receive named above."
    if meetings:
        return (
            f"every rank must call {meetings[0]}; here some wait in another call, or have "
            "returned without it."
        )
    if len(cycle) == 1:
        return "a rank can send to itself, but must begin with isend or irecv: use sendrecv."
    if serving := _serving(waits):
        return serving
    if cycle and verbs == {"irecv"}:
        return (
            "the receives are there, and what they wait for was never sent. Follow the ring: one "
            "of these ranks must send before it waits."
        )
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


def _serving(waits: Sequence[Wait]) -> str:
    """The advice if some rank receives from ANY while others wait to receive from it alone."""
    for server in (wait for wait in waits if wait.anyone):
        clients = [
            wait.rank
            for wait in waits
            if wait.peers == (server.rank,) and not wait.anyone and wait.verb in RECEIVES
        ]
        if clients:
            shown = ", ".join(map(str, clients[:SHOWN])) + (" ..." if clients[SHOWN:] else "")
            who = f"ranks {shown} wait" if clients[1:] else f"rank {shown} waits"
            return (
                f"rank {server.rank} waits for a request of any rank, and {who} for its answer. "
                f"Does rank {server.rank} answer every request? Does its loop count the requests "
                "right?"
            )
    return ""
