"""Watching one program on real ranks: which rank printed, raised, died, or waits for which.

A deadlock is declared only when it is certain. The reports of long waits say which ranks are
stuck; these are then asked again, several times. Each answers after looking for its message once
more, so one under way between them would have arrived; where they are on several nodes, once
nothing moves on any cable.
"""

import contextlib
import os
import pickle
import subprocess
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import wait
from typing import Any

from ddl_runtime.core.collective_log import CollectiveLog
from ddl_runtime.diagnosis import deadlock
from ddl_runtime.diagnosis.frames import dumped_line
from ddl_runtime.diagnosis.waits import Wait
from ddl_runtime.launcher import mpiexec as processes
from ddl_runtime.launcher.mpiexec import SharedHosts
from ddl_runtime.launcher.pipe import RankPipe
from ddl_runtime.records.run import Logs, Run, concluded

ANSWER_LIMIT = 0.5  # seconds a rank may take to say where it is
STACK_LIMIT = 2.0  # ... if its stack must show it: the machine is busy, then
ALIKE_WITHIN = 0.05  # seconds in which others may raise the same
QUESTIONS = 3  # how often stuck ranks are asked whether they still are
CERTAIN_AFTER = 0.15  # seconds that they must have been
LOOK_EVERY = 0.25  # seconds between two questions for what far nodes' cards have sent


class Watchdog:
    """Watches one program, from the order to run it until every rank has stopped."""

    survivors = False  # whether ranks may die one by one
    stop_limit = 0.8  # seconds a rank may take to stop when ordered to
    afterwards = "New processes will be started for the next program."
    advice = "What to try: give it more time (timeout=...), or fewer steps, or find the loop."

    def __init__(
        self,
        lines: list[RankPipe],
        mpiexec: subprocess.Popen,
        timeout: float,
        place: SharedHosts | None = None,
    ) -> None:
        self.lines = lines
        self._place = place
        self._mpiexec = mpiexec
        self._timeout = timeout
        self._running = {line.rank: line for line in lines}
        self._talking = {line.output: line for line in lines}
        self._returned: dict[int, tuple] = {}
        self._raised: list[tuple[float, int, str, str, bytes | None]] = []
        self._dead: list[int] = []
        self._waits: dict[int, tuple[Wait, int]] = {}
        self._answers: dict[int, int] = {}
        self._sent: dict[int, int] = {}  # by the network cards of a rank's node
        self._positions: dict[int, str] = {}
        self._frozen: list[int] = []
        self._background: dict[int, list[str]] = {}  # where functions in the background are
        self._suspects: dict[int, int] = {}
        self._suspected_since = 0.0
        self._question = self._asked = 0
        self._asked_at = 0.0
        self.held: list[int] = []  # ranks that could not be stopped
        self._called: dict[int, list[CollectiveLog]] = {}  # by ranks that did not return
        self.changed: dict[int, list[str]] = {}  # what of a rank's process could not be put back

    def until_the_end(self) -> Run:
        """Wait until all ranks have returned, and return their run; raises the diagnosis if they
        do not."""
        deadline = time.monotonic() + self._timeout
        try:
            while self._running and not self._raised and not self._dead:
                left = deadline - time.monotonic()
                if left <= 0:
                    late = f"{len(self._running)} of {len(self.lines)} ranks had not returned"
                    head = f"The time was up: {self._timeout:g} s, and {late}. Where they were:"
                    raise self._late(deadlock.tell_positions(head, self._locate()))
                orphaned = self._mpiexec.poll() is not None
                self._listen(min(left, 0.02 if self._suspects else 1.0))
                if orphaned and self._running and not self._dead:
                    how = "was ended by somebody else" if self._place is None else "has ended"
                    raise deadlock.DiagnosedError(
                        f"mpiexec, which holds the ranks together, {how}. "
                        f"{self._last_words()}{self._troubles()}{self.afterwards}"
                    )
                self._look_for_deadlock()
        except KeyboardInterrupt:
            text = deadlock.tell_positions("Interrupted. Where the ranks were:", self._locate())
            raise deadlock.Interrupted(text) from None
        if self._dead or self._raised:
            raise self._failure()
        for line in self._talking.values():
            line.drain_output()
        return self.conclude()

    def quiet(self) -> bool:
        """Stop the ranks that still run; True if all are ready for another program, each as if it
        were the first."""
        if not self.held:
            for line in self._running.values():
                line.tell("stop")
            self._listen_while(
                lambda: self._running.keys() - self._frozen and not self._dead, self.stop_limit
            )
            self.held = [] if self._dead else sorted(self._running)
        for line in self._talking.values():
            line.drain_output()
        return not self._running and not self._dead and not self.changed

    def _listen(self, patience: float) -> None:
        """Take what the ranks say within the next moment."""
        controls = {line.control: line for line in self._running.values()}
        for line in self._talking.values():
            if line.unseen_since is not None:
                patience = min(patience, line.preview_after)
        for ready in wait([*controls, *self._talking], timeout=patience):
            if ready in controls:
                self._hear(controls[ready])
            elif not self._talking[ready].read_output():
                del self._talking[ready]
        for line in self._talking.values():
            line.preview()

    def _listen_while(self, unfinished: Callable[[], object], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while unfinished() and (left := deadline - time.monotonic()) > 0:
            self._listen(left)

    def _hear(self, line: RankPipe) -> None:
        try:
            kind, *parts = pickle.loads(line.control.recv_bytes())
        except Exception:  # it has ended, or Ctrl-C came in the middle of its words
            self._dead.append(line.rank)
            del self._running[line.rank]
            self._waits.pop(line.rank, None)
            return
        self.take(line, kind, parts)

    def take(self, line: RankPipe, kind: str, parts: list) -> None:
        if kind == "wait":
            report, serial, asked, self._sent[line.rank] = parts
            self._answers[line.rank] = asked
            self._waits[line.rank] = report, serial
            if report is None:
                del self._waits[line.rank]
        elif kind == "where":
            self._positions[line.rank], self._background[line.rank] = parts
        elif kind == "called":
            self._called[line.rank] = parts[0]
        elif kind == "changed":
            self.changed[line.rank] = parts[0]
        else:
            self._running.pop(line.rank)
            self._waits.pop(line.rank, None)
            if kind == "returned":
                self._returned[line.rank] = tuple(parts)
            elif kind == "raised":
                self._raised.append((parts[0], line.rank, *parts[1:]))

    # -- deadlock ---------------------------------------------------------------------------

    def _look_for_deadlock(self) -> None:
        waits = {rank: report for rank, (report, _) in self._waits.items()}
        hopeless = deadlock.stuck(waits, self._running.keys() - waits.keys()) if waits else []
        suspects = {wait.rank: self._waits[wait.rank][1] for wait in hopeless}
        if suspects != self._suspects:
            self._suspects = suspects
            self._suspected_since = time.monotonic()
            self._asked = 0
        elif not suspects or any(self._answers.get(r, 0) < self._question for r in suspects):
            return
        elif self._asked >= QUESTIONS and time.monotonic() > self._suspected_since + CERTAIN_AFTER:
            if self._place is not None and self._place.moving(sum(self._sent.values())):
                far = self._place.listens_at is not None
                if far and time.monotonic() > self._asked_at + LOOK_EVERY:
                    self._ask(suspects)  # whose answers say what their cards have sent meanwhile
                return
            for report in hopeless:
                if report.misfit:
                    what, at = f"MessageMismatch: {report.misfit}", f"It waits at {report.where}."
                    raise deadlock.tell_failure(report.rank, what, at, mismatch=report.misfit)
            absent = {peer for report in hopeless for peer in report.peers}
            absent -= {line.rank for line in self.lines}
            raise deadlock.tell_deadlock(hopeless, self._returned.keys(), absent)
        if suspects:
            self._ask(suspects)

    def _ask(self, suspects: Iterable[int]) -> None:
        """Have them look once more for what they wait for."""
        self._question += 1
        self._asked += 1
        self._asked_at = time.monotonic()
        for rank in suspects:
            self._running[rank].tell("ask", self._question)

    # -- ends -------------------------------------------------------------------------------

    def _locate(self) -> dict[int, str]:
        """The place of every rank in its program, as text."""
        self._positions.clear()
        for line in self._running.values():
            line.tell("where")
        self._listen_while(lambda: len(self._positions) < len(self._running), ANSWER_LIMIT)
        silent = [line for rank, line in self._running.items() if rank not in self._positions]
        self._frozen = [line.rank for line in silent if line.frozen]
        silent = [line for line in silent if line.rank not in self._frozen]
        for line in silent:
            line.ask_for_stack()
        for line in silent:
            self._positions[line.rank] = dumped_line(line.read_stack(STACK_LIMIT))
        places = {}
        for rank in (line.rank for line in self.lines):
            if rank in self._waits:
                report = self._waits[rank][0]
                places[rank] = f"waiting in {report.call}\n       | at {report.where}"
            elif rank in self._frozen:
                places[rank] = "is frozen: something has stopped its process (SIGSTOP)"
            elif rank in self._running:
                lines = [self._positions.get(rank) or "an unknown line"]
                lines += self._background.get(rank, [])
                places[rank] = "at " + "\n       | and in the background at ".join(lines)
            else:
                places[rank] = "had returned" if rank in self._returned else "had ended"
        return places

    def _late(self, text: str) -> deadlock.TimedOut:
        """The error for the end of the time; `text` says where the ranks are."""
        working = sorted(rank for rank, lines in self._background.items() if lines)
        if troubles := self._troubles().rstrip():
            advice = troubles
        elif self._frozen:
            advice = "What to try: run it again, for a frozen process is no fault of a loop. What "
            advice += "freezes one is a signal: kill -STOP, a debugger, or the program itself."
        elif len(working) == len(self._running):
            advice = "What to try: a function that the ranks began with comm.background has not "
            advice += "returned. Does its loop end? Or give it more time (timeout=...)."
        else:
            advice = self.advice
        error = deadlock.TimedOut(f"{text}\n\n{advice}")
        error.frozen, error.background = list(self._frozen), working
        return error

    def _troubles(self) -> str:
        """Sentences for an error: what is wrong with the nodes and cables of the ranks, as far as
        it is known; else an empty text."""
        if self._place is None or not (known := self._place.troubles()):
            return ""
        return f"What is wrong there: {'; '.join(known)}. Mend it first: {self._place.cure}\n"

    def _last_words(self) -> str:
        """What the starter of ranks on far nodes said last: of a job, why it is over."""
        if self._place is None or self._place.listens_at is None:
            return ""
        output = self._said().strip()
        return f"It said:\n\n{output}\n\n" if output else ""

    def _said(self) -> str:
        """What mpiexec has said, where it has ended."""
        ended = self._mpiexec.poll() is not None
        output = os.read(self._mpiexec.stdout.fileno(), 1 << 16) if ended else b""
        return output.decode(errors="replace")

    def _failure(self) -> deadlock.RankFailed:
        """The error for the rank that failed first."""
        if self._raised:
            self._listen_while(lambda: self._running, ALIKE_WITHIN)
            self.quiet()
            _, rank, what, traceback, shipped = min(self._raised)
            alike = sorted(r for _, r, same, *_ in self._raised if same == what and r != rank)
            places = self._locate() if self.held else {}
            held = {rank: places[rank] for rank in self.held}
            others = len(alike) + 1 < len(self.lines)
            cause: BaseException | None = None
            with contextlib.suppress(Exception):  # its type may not exist here
                cause = pickle.loads(shipped) if shipped else None
            data = deadlock.details(cause)
            failure = deadlock.tell_failure(rank, what, traceback, alike, others, held, **data)
            failure.__cause__ = cause
            return failure
        self.quiet()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._mpiexec.wait(timeout=2)
        rank_of_pid = {line.pid: line.rank for line in self.lines}
        noticed = self._dead[0]
        rank, how = processes.cause_of_death(self._said(), rank_of_pid, noticed)
        for line in self.lines:
            if line.rank == rank and (where := dumped_line(line.read_stack(0.1))):
                how += f" at {where}"
        return deadlock.RankFailed(
            f"rank {rank} died: {how}. The other ranks were stopped.\n\nWhat it printed last, if "
            f"anything, stands above. {self._troubles()}{self.afterwards}".rstrip(),
            rank,
        )

    def logs(self) -> Logs:
        """The collectives of a program's ranks, of those too that have not returned."""
        ended = {rank: ending[1][-1] for rank, ending in self._returned.items() if ending[1:]}
        return sorted((self._called | ended).items())

    def conclude(self) -> Any:
        """What comes of the program now that all ranks have returned, or all that live."""
        for line in self.lines:
            line.tell("free")
        endings = [self._returned.get(line.rank) for line in self.lines]
        endings = [ending and (*ending[:2], pickle.loads(ending[2])) for ending in endings]
        return concluded(endings, self.survivors)


class SurvivorsWatchdog(Watchdog):
    """Watches a program in which ranks may die: it is over when all living ranks have returned.
    The result of a dead rank is None."""

    survivors = True

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self._lost: list[int] = []

    def _hear(self, line: RankPipe) -> None:
        super()._hear(line)
        self._lost += self._dead
        self._dead.clear()

    def _look_for_deadlock(self) -> None:
        if not self._lost:  # a rank that waits for a dead one gets RankLost soon
            super()._look_for_deadlock()

    def quiet(self) -> bool:
        return super().quiet() and not self._lost

    def conclude(self) -> Any:
        if not self._returned:
            raise deadlock.RankFailed(
                "All ranks have died: nobody was left to go on.", self._lost[0]
            )
        return super().conclude()
