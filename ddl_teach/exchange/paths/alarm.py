"""An alarm: how a server that waits for requests notices that nobody speaks any more.

A message that never comes wakes nobody. So a function in the background sleeps and is done, again
and again, and the server waits for a message or for that, whichever is first.
What to look at: `Server(patience=1.0)` and the `events` of its shift.
"""

from __future__ import annotations

import math

from ddl_teach.comm import Comm, Request


def check_patience(seconds: float) -> None:
    """Refuse what is no time to wait."""
    plain = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not (plain and 0 < seconds < math.inf):
        raise ValueError(f"patience must be a positive number of seconds, not {seconds!r}")


class Alarm:
    """Rings again and again, so that a server looks up from waiting for requests."""

    def __init__(self, alone: Comm, seconds: float) -> None:
        self._alone = alone  # of this rank only: a background function meets nobody then
        self.seconds = seconds
        self._ringing: Request | None = None

    def or_done(self, comm: Comm, coming: Request) -> bool:
        """Wait for a message, or for the alarm; whether the message is there."""
        if self._ringing is None:
            # Twice as often as anybody may be silent, so that the dead are noticed not much later.
            self._ringing = self._alone.background(_sleep, self.seconds / 2)
        if comm.wait_any([coming, self._ringing]) == 0:
            return True
        self._ringing = None
        return False


def _sleep(comm: Comm, seconds: float) -> None:
    comm.work(seconds)
