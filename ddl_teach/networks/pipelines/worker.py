"""The worker: it executes any schedule, one instruction after the other.

It knows no schedule and no network: an instruction is a method here, and a stage computes. So the
same worker trains with torch on real ranks and lets virtual time pass on a thousand simulated
ones. A message is one activation or one gradient, sent without waiting.
What to look at: `_run_arrived` is all that a message-driven pipeline needs instead of an order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ddl_runtime.core.arrays import Array
from ddl_runtime.core.checks import HIGHEST_TAG
from ddl_runtime.core.memory import Held
from ddl_teach.comm import Comm, Request
from ddl_teach.networks.pipelines import instructions as do
from ddl_teach.networks.pipelines.schedule import ARRIVES, LEAVES, Schedule, Slip

MOST_SENDS = 8


class Stage(Protocol):
    """What the worker asks of a stage. The first gets None for its input, the last for the
    gradient of its output, and keeps its loss."""

    @abstractmethod
    def forward(self, micro_batch: int, x: Array | None) -> Array | None:
        """The output of the stage; what the backward pass needs is kept."""

    def backward(self, micro_batch: int, gradient: Array | None) -> Array | None:
        """The gradient of the input; that of the weights is added to what there is of it."""

    @abstractmethod
    def backward_input(self, micro_batch: int, gradient: Array | None) -> Array | None:
        """The gradient of the input alone; the weights' half is kept for later."""

    @abstractmethod
    def backward_weight(self, micro_batch: int) -> None:
        """Add the gradients of the weights to what there is, after that of the input."""

    def kept_bytes(self, micro_batch: int) -> int:
        """What stays from the forward pass to the backward pass, asked for after the forward pass
        and only where what ranks hold is counted."""

    # Arrays to receive the input and the gradient of the output into.
    def room_for_input(self, micro_batch: int) -> Array: ...
    def room_for_gradient(self, micro_batch: int) -> Array: ...

    # All gradients of the weights in one array, zeros where no micro-batch has come by.
    def weight_gradients(self) -> Array: ...
    def set_weight_gradients(self, gradients: Array) -> None: ...


@dataclass(frozen=True)
class Passed:
    """What one step was like on one rank."""

    computed: tuple[do.Instruction, ...]  # in the order in which it came about
    peak: int  # the most micro-batches that one after another were kept at once, over all stages


class PipelineWorker:
    """One rank of a pipeline: `stages[replica, stage]` is what the schedule says it holds."""

    def __init__(
        self,
        comm: Comm,
        schedule: Schedule,
        stages: Mapping[tuple[int, int], Stage],
        update: Callable[[], Any] = lambda: None,
    ) -> None:
        if comm.size != schedule.ranks:
            wanted = f"the schedule {schedule.name} is for {schedule.ranks} ranks"
            raise ValueError(f"rank {comm.rank}: {wanted}, but there are {comm.size}")
        held = schedule.held_by(comm.rank)
        if set(stages) != set(held):
            places = f"{held} as (replica, stage) in {schedule.name}"
            raise ValueError(f"rank {comm.rank} holds {places}, and was given {sorted(stages)}")
        self.comm, self.schedule, self.stages, self.update = comm, schedule, stages, update
        self._most_held = 1 + max(schedule.places.values())
        most = (HIGHEST_TAG + 1) // (2 * self._most_held)
        if schedule.micro_batches > most:
            many = f"{schedule.micro_batches} micro-batches are more than tags can tell apart"
            raise ValueError(f"{many}: at most {most} with {self._most_held} stages a rank")

    def step(self) -> Passed:
        self._there: dict[Slip, Array] = {}  # what stages need, and what is to be sent
        self._sends: list[Request] = []
        self._computed: list[do.Instruction] = []
        self._kept: dict[tuple[int, int], Held | None] = {}  # from forward to backward
        self._peak = 0
        for word in self.schedule.orders[self.comm.rank]:
            self.METHODS[type(word)](self, word)
        for request in self._sends:
            request.wait()
        return Passed(tuple(self._computed), self._peak)

    # -- computation ------------------------------------------------------------------------

    def _compute(self, word: do.Instruction, way: Callable[..., Any], *arguments: Any) -> Any:
        with self.comm.span(str(word), "work"):
            result = way(word.micro_batch, *arguments)
        self._computed.append(word)
        return result

    def _forward(self, word: do.Forward) -> None:
        key, stage = (word.stage, word.micro_batch), self._stage(word)
        self._kept[key] = None
        self._peak = max(self._peak, len(self._kept))
        x = self._there.pop(("input", *key), None)
        result = self._compute(word, stage.forward, x)
        if self.comm.counts_memory:
            kept = stage.kept_bytes(word.micro_batch)
            self._kept[key] = self.comm.hold(kept, "activations")
        self._pass_on(1, word, result)

    def _backward(self, word: do.Backward | do.BackwardInput) -> None:
        key = word.stage, word.micro_batch
        stage, whole = self._stage(word), isinstance(word, do.Backward)
        way = stage.backward if whole else stage.backward_input
        gradient = self._compute(word, way, self._there.pop(("gradient", *key), None))
        if whole:
            self._let_go(key)
        self._pass_on(-1, word, gradient)

    def _backward_weight(self, word: do.BackwardWeight) -> None:
        self._compute(word, self._stage(word).backward_weight)
        self._let_go((word.stage, word.micro_batch))

    def _let_go(self, key: tuple[int, int]) -> None:
        if held := self._kept.pop(key):
            held.release()

    def _stage(self, word: do.Instruction) -> Stage:
        return self.stages[self.schedule.replica(word.micro_batch), word.stage]

    def _pass_on(self, towards: int, word: do.Instruction, result: Array) -> None:
        """Lay a result where the neighbouring stage, or the message to it, will find it."""
        if slip := self.schedule.passed_on(towards, word.stage, word.micro_batch):
            self._there[slip] = result

    # -- messages ---------------------------------------------------------------------------

    def _send(self, word: do.SendActivation | do.SendGradient) -> None:
        x = self._there.pop((LEAVES[word.towards], word.stage, word.micro_batch))
        to = self.schedule.rank_of(word.other, word.micro_batch)
        self._sends.append(self.comm.isend(x, to, self._tag(word)))

    def _ask_for(self, word: do.ReceiveActivation | do.ReceiveGradient) -> Request:
        stage = self._stage(word)
        make = stage.room_for_input if word.towards > 0 else stage.room_for_gradient
        room = make(word.micro_batch)
        self._there[ARRIVES[word.towards], word.stage, word.micro_batch] = room
        source = self.schedule.rank_of(word.other, word.micro_batch)
        request = self.comm.irecv(room, source, self._tag(word))
        way = "forward" if word.towards > 0 else "backward"
        # What a diagnosis says instead of this line, should the message never come.
        before = f"before micro-batch {word.micro_batch} goes {way} here"
        request.purpose = f"{before}, for what stage {word.other} sends of it"
        return request

    def _wait_for(self, *requests: Request) -> int:
        """Which of these messages came first. Of many sends those that have ended are let go,
        with what they sent: else every activation would stay to the end."""
        if len(requests) == 1 and len(self._sends) < MOST_SENDS:
            requests[0].wait()
            return 0
        while True:
            done = self.comm.wait_any([*self._sends, *requests]) - len(self._sends)
            if done >= 0:
                return done
            del self._sends[done]

    def _tag(self, word: do.Instruction) -> int:
        """Tells apart all that one rank sends to another: what, of which micro-batch, and at
        which cut, which is known by the stage before it."""
        before = min(word.stage, word.other)
        cut = self.schedule.places[self.schedule.replica(word.micro_batch), before]
        return (word.micro_batch * self._most_held + cut) * 2 + (word.towards < 0)

    # -- whatever has arrived ---------------------------------------------------------------

    def _run_arrived(self, word: do.RunArrived) -> None:
        stage, everything = word.stage, self.schedule.micro_batches
        first, last = stage == 0, stage == self.schedule.stages - 1
        entered = returned = 0
        asked: dict[type[do.Instruction], Request] = {}
        while returned < everything:
            may_enter = entered < everything and entered - returned < word.in_flight
            if first and may_enter:
                arrived: type[do.Instruction] = do.Forward
            else:
                # Neighbours work in the order of the micro-batches, so the next one is known.
                if not last and returned < entered and do.Backward not in asked:
                    asked[do.Backward] = self._ask_for(do.ReceiveGradient(stage, returned))
                if may_enter and do.Forward not in asked:
                    asked[do.Forward] = self._ask_for(do.ReceiveActivation(stage, entered))
                arrived = list(asked)[self._wait_for(*asked.values())]
                del asked[arrived]
            if arrived is do.Forward:
                self._forward(do.Forward(stage, entered))
                if not last:
                    self._send(do.SendActivation(stage, entered))
                entered += 1
            if arrived is do.Backward or last:
                self._backward(do.Backward(stage, returned))
                if not first:
                    self._send(do.SendGradient(stage, returned))
                returned += 1

    # -- at the end of a step ---------------------------------------------------------------

    def _sum_replicas(self, word: do.SumReplicas) -> None:
        """Both replicas add the two gradients in the same order, so they stay the same."""
        ranks = [holders[word.stage] for holders in self.schedule.placement]
        own = [replica for replica, rank in enumerate(ranks) if rank == self.comm.rank]
        held = [replica if replica in own else own[0] for replica in (0, 1)]
        gradients = [self.stages[replica, word.stage].weight_gradients() for replica in held]
        if len(own) == 1:
            [mine], other = own, 1 - own[0]
            self.comm.sendrecv(gradients[mine], ranks[other], gradients[other], ranks[other])
        total = gradients[0]
        self.comm.combine(*gradients, out=total)
        for replica in own:
            self.stages[replica, word.stage].set_weight_gradients(total)

    METHODS: ClassVar[Mapping[type, Callable[[PipelineWorker, Any], Any]]] = {
        do.Forward: _forward,
        do.Backward: _backward,
        do.BackwardInput: _backward,
        do.BackwardWeight: _backward_weight,
        do.SendActivation: _send,
        do.ReceiveActivation: lambda self, word: self._wait_for(self._ask_for(word)),
        do.SendGradient: _send,
        do.ReceiveGradient: lambda self, word: self._wait_for(self._ask_for(word)),
        do.RunArrived: _run_arrived,
        do.SumReplicas: _sum_replicas,
        do.ApplyUpdate: lambda self, _: self.update(),
    }
