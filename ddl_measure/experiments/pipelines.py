"""A stage that only takes time: for pipelines on more ranks than a laptop can run.

It computes nothing. It lets the seconds pass that a real stage would need, and counts the bytes
that one would hold. It hands on Phantoms of as many bytes. On real ranks it sleeps, as a rank
whose accelerator computes does, and the bytes are real. Cost: a step on P ranks with m
micro-batches is 2 m (P-1) messages and 2 m P pieces of work of the simulator.
What to look at: the timeline of 256 ranks, and where it is white.
"""

from dataclasses import dataclass

from ddl_teach.comm import Comm, Phantom
from ddl_teach.networks.pipelines.schedule import Schedule
from ddl_teach.networks.pipelines.worker import Passed, PipelineWorker


@dataclass(frozen=True)
class PassSeconds:
    """Seconds that each pass of one stage takes for one micro-batch, and what passes a cut."""

    forward: float = 1.0
    backward_input: float = 1.0
    backward_weight: float = 1.0
    activation_bytes: int = 0
    weight_bytes: int = 0  # of the gradients, where replicas sum them
    kept_bytes: int | None = None  # of a micro-batch; as many as pass a cut unless given

    @property
    def backward(self) -> float:
        return self.backward_input + self.backward_weight


class PhantomStage:
    """A stage of a pipeline, as `worker.Stage` asks for."""

    def __init__(self, comm: Comm, costs: PassSeconds) -> None:
        self._comm, self._costs = comm, costs

    def _after(self, seconds: float) -> Phantom:
        self._comm.work(seconds=seconds)
        return Phantom(self._costs.activation_bytes)

    def forward(self, micro_batch: int, x: Phantom | None) -> Phantom:
        return self._after(self._costs.forward)

    def backward(self, micro_batch: int, gradient: Phantom | None) -> Phantom:
        return self._after(self._costs.backward)

    def backward_input(self, micro_batch: int, gradient: Phantom | None) -> Phantom:
        return self._after(self._costs.backward_input)

    def backward_weight(self, micro_batch: int) -> None:
        self._after(self._costs.backward_weight)

    def kept_bytes(self, micro_batch: int) -> int:
        costs = self._costs
        return costs.activation_bytes if costs.kept_bytes is None else costs.kept_bytes

    def room_for_input(self, micro_batch: int) -> Phantom:
        return Phantom(self._costs.activation_bytes)

    room_for_gradient = room_for_input

    def weight_gradients(self) -> Phantom:
        """What replicas sum."""
        return Phantom(self._costs.weight_bytes)

    def set_weight_gradients(self, gradients: Phantom) -> None:
        """There are no numbers to keep."""


def timed(
    comm: Comm, schedule: Schedule, costs: PassSeconds = PassSeconds(), steps: int = 1
) -> Passed:
    """A rank program: steps of a schedule whose stages only take time. Returns the times of the
    last step.

    No rank waits for the others after a step: it updates its weights and begins the next.

    >>> simulate(timed, 4, schedule=gpipe(4, 8)).time          # doctest: +SKIP
    """
    stages = {place: PhantomStage(comm, costs) for place in schedule.held_by(comm.rank)}
    worker = PipelineWorker(comm, schedule, stages)
    for _ in range(steps - 1):
        worker.step()
    return worker.step()
