"""The words of a schedule: each is one thing that a rank does, as plain data.

A stage is a stretch of layers, numbered from the input; a micro-batch is a part of the batch. An
activation passes from stage s to s + 1, and a gradient back. A schedule of such words can be
printed, drawn, checked and simulated before anything is computed. The idea: ShallowSpeed (Boehm,
2022). What to look at: which words hold memory (`Forward` begins to) and which let it go.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Instruction:
    """Something to do for one micro-batch on one stage."""

    stage: int
    micro_batch: int

    letter: ClassVar[str] = "?"
    towards: ClassVar[int] = 0  # a message: 1 to the next stage, -1 to the one before
    sends: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()  # of its stage and micro-batch, used up by it
    makes: ClassVar[tuple[str, ...]] = ()

    @property
    def other(self) -> int:
        return self.stage + (self.towards if self.sends else -self.towards)

    def __str__(self) -> str:
        return f"{self.stage}{self.letter}{self.micro_batch}"


class Forward(Instruction):
    """Compute the stage's output, and keep what the backward pass will need."""

    letter, needs, makes = "F", ("input",), ("activations", "output")


class Backward(Instruction):
    """Compute both gradients, of the input and of the weights, and let go what was kept."""

    letter, needs, makes = "B", ("activations", "gradient"), ("gradient of the input", "done")


class BackwardInput(Instruction):
    """Compute the gradient of the input alone: the stage before waits for nothing else."""

    letter, needs = "I", ("activations", "gradient")
    makes = ("gradient of the input", "gradients inside")


class BackwardWeight(Instruction):
    """Compute the gradient of the weights, which no stage waits for, and let go what was kept."""

    letter, needs, makes = "W", ("gradients inside",), ("done",)


class SendActivation(Instruction):
    """Send the output of this stage to the next one; returns at once."""

    letter, towards, sends, needs = "SA", 1, True, ("output",)


class ReceiveActivation(Instruction):
    """Wait for the input of this stage, from the stage before."""

    letter, towards, makes = "RA", 1, ("input",)


class SendGradient(Instruction):
    """Send the gradient of this stage's input to the stage before; returns at once."""

    letter, towards, sends, needs = "SG", -1, True, ("gradient of the input",)


class ReceiveGradient(Instruction):
    """Wait for the gradient of this stage's output, from the next stage."""

    letter, towards, makes = "RG", -1, ("gradient",)


@dataclass(frozen=True, slots=True)
class RunArrived:
    """Run forward or backward whatever has arrived, until every micro-batch has been through. Of
    this stage's micro-batches at most `in_flight` are forward and not yet backward."""

    stage: int
    in_flight: int

    def __str__(self) -> str:
        return f"{self.stage}ARRIVED(in flight {self.in_flight})"


@dataclass(frozen=True, slots=True)
class SumReplicas:
    """Add up the gradients of a stage's weights over its replicas, on the ranks that hold one."""

    stage: int

    def __str__(self) -> str:
        return f"{self.stage}SUM"


@dataclass(frozen=True, slots=True)
class ApplyUpdate:
    """The gradients of all this rank's stages are complete: let the optimizer use them."""

    def __str__(self) -> str:
        return "UPDATE"


Compute = (Forward, Backward, BackwardInput, BackwardWeight)
Word = Instruction | RunArrived | SumReplicas | ApplyUpdate
