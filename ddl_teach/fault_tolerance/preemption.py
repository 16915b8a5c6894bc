"""Pre-empted: asked to go, with seconds to spare, because others need the nodes.

A batch system's signal may reach one rank a moment before the others. So each rank only notes it,
all ask each other at the next step, and if any has been asked all save and go. The exit status
says that there is more to do.

    with Preemption() as preemption:
        for step in range(done, steps):
            ...                                              # one step
            if preemption.agreed(comm):                      # log2 P messages of 8 bytes
                kept.save(step + 1, state)
                break
    sys.exit(preemption.status)                              # 0, or AGAIN

What to look at: with the flag of one rank alone, that one is in `save` and the others in the next
step's all-reduce. They wait for each other for ever.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

import numpy as np

from ddl_teach.collectives import recursive_doubling
from ddl_teach.comm import Comm

AGAIN = os.EX_TEMPFAIL  # 75, "try again later"
SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Preemption:
    """Notes whether this rank, or any, has been asked to stop. Use it on the main thread, where
    signals arrive."""

    def __init__(self) -> None:
        self.asked = False  # this rank
        self._agreed = False
        self.inside = False  # of its `with` block
        self._earlier: dict[int, object] = {}

    def __enter__(self) -> Preemption:
        self.inside = True
        for number in SIGNALS:
            self._earlier[number] = signal.getsignal(number)  # before the first one can come
            signal.signal(number, self)
        return self

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: note it, and call the handler that was there before."""
        self.asked = self.asked or self.inside
        earlier = self._earlier[number]
        if callable(earlier):
            earlier(number, frame)

    def __exit__(self, *_: object) -> None:
        self.inside = False
        for number in SIGNALS:
            # Simulated ranks leave in another order than they came.
            while isinstance(last := signal.getsignal(number), Preemption) and not last.inside:
                signal.signal(number, last.successor(number))

    def successor(self, number: int) -> Any:
        """What handles a signal after this: what did before, unless it would kill a rank that ends
        in agreement, whose status would be another one."""
        earlier = self._earlier[number]
        return signal.SIG_IGN if self._agreed and earlier == signal.SIG_DFL else earlier

    def agreed(self, comm: Comm) -> bool:
        """Whether any rank has been asked to stop. All ranks must call it, and get the same
        answer."""
        if not self._agreed:
            votes = np.array([int(self.asked)])
            recursive_doubling.allreduce(comm, votes, op="max")
            self._agreed = bool(votes[0])
        return self._agreed

    @property
    def status(self) -> int:
        return AGAIN if self._agreed else 0
