"""The validator: follow a schedule without computing anything, and refuse it where it goes wrong.

Every rank follows its instructions on slips of paper: "input of stage 2, micro-batch 0" and the
like. An instruction that needs a slip which is not there is refused; a receive waits for its send;
and when nobody can go on although somebody is not done, that is a deadlock. Cost: one step an
instruction. Sends never block, which is what the worker does too.
What to look at: take one send out of a schedule, or swap two receives, and read the message.
"""

from collections.abc import Iterator

from ddl_teach.networks.pipelines.instructions import (
    Backward,
    BackwardInput,
    BackwardWeight,
    Forward,
    Instruction,
    ReceiveActivation,
    ReceiveGradient,
    RunArrived,
    SendActivation,
    SendGradient,
    SumReplicas,
    Word,
)
from ddl_teach.networks.pipelines.schedule import LEAVES, Schedule, Slip

NEEDS = {
    Forward: ("input",),
    Backward: ("activations", "gradient"),
    BackwardInput: ("activations", "gradient"),
    BackwardWeight: ("gradients inside",),
    SendActivation: ("output",),
    SendGradient: ("gradient of the input",),
}
MAKES = {
    Forward: ("activations", "output"),
    Backward: ("gradient of the input", "done"),
    BackwardInput: ("gradient of the input", "gradients inside"),
    BackwardWeight: ("done",),
    ReceiveActivation: ("input",),
    ReceiveGradient: ("gradient",),
}


class InvalidSchedule(ValueError):
    """A schedule that cannot be carried out: which rank, which instruction, and why."""


def refusal(schedule: Schedule) -> str:
    """Why `validate` refuses a schedule, in words; none if it does not."""
    try:
        validate(schedule)
    except InvalidSchedule as refused:
        return str(refused)
    return ""


def validate(schedule: Schedule) -> None:
    """Return if every rank can follow its instructions to the end; else raise InvalidSchedule."""
    _Play(schedule).play()


class _Play:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.at = [0] * schedule.ranks  # the instruction that each rank has come to
        # What there is. Which rank has it, stage and micro-batch say.
        self.slips: set[Slip] = set()
        self.under_way: dict[Slip, int] = {}  # message: who sent it
        self.forward: set[tuple[int, int]] = set()
        self.summed: set[tuple[int, int]] = set()  # rank and stage
        self.updated: set[int] = set()
        self.followed = 0  # how much has been done by anybody: if it stands still, nobody can

    def word(self, rank: int) -> Word | None:
        """The rank's next instruction."""
        order = self.schedule.orders[rank]
        return order[self.at[rank]] if self.at[rank] < len(order) else None

    def refused(self, rank: int, reason: str) -> InvalidSchedule:
        word = self.word(rank) or "at its end"
        return InvalidSchedule(f"rank {rank}, instruction {self.at[rank]}, {word}: {reason}")

    def play(self) -> None:
        before, ranks = -1, range(self.schedule.ranks)
        while before < self.followed:
            before = self.followed
            for rank in ranks:
                while (word := self.word(rank)) is not None and self._follow(rank, word):
                    self.at[rank] += 1
        if stuck := [rank for rank in ranks if self.word(rank) is not None]:
            raise self._deadlock(stuck)
        for (what, stage, micro_batch), sender in self.under_way.items():
            raise InvalidSchedule(
                f"rank {sender} sends the {what} of micro-batch {micro_batch} to stage {stage}, "
                f"and rank {self.schedule.rank_of(stage, micro_batch)} never receives it: it "
                "would lie in the network, and the next step would find it"
            )
        for rank in ranks:
            if rank not in self.updated:
                raise self.refused(rank, "there was no Update: its weights stay as they are")

    def _follow(self, rank: int, word: Word) -> bool:
        """Whether the instruction could be followed; False if it has to wait."""
        if isinstance(word, Instruction):
            return self._follow_instruction(rank, word)
        if isinstance(word, RunArrived):
            return self._run_arrived(rank, word)
        if missing := next(self._missing(rank, getattr(word, "stage", None)), None):
            raise self.refused(rank, missing)
        if isinstance(word, SumReplicas):
            return self._sum(rank, word.stage)
        self.updated.add(rank)
        return True

    def _follow_instruction(self, rank: int, word: Instruction) -> bool:
        schedule, stage, micro_batch = self.schedule, word.stage, word.micro_batch
        if not (0 <= stage < schedule.stages and 0 <= micro_batch < schedule.micro_batches):
            raise self.refused(
                rank,
                f"there are stages 0 to {schedule.stages - 1} and micro-batches 0 to "
                f"{schedule.micro_batches - 1}",
            )
        holder = schedule.rank_of(stage, micro_batch)
        if holder != rank:
            raise self.refused(
                rank, f"stage {stage} of micro-batch {micro_batch} is on rank {holder}"
            )
        if isinstance(word, Forward) and (stage, micro_batch) in self.forward:
            raise self.refused(
                rank, f"micro-batch {micro_batch} has been forward through it already"
            )
        message = self._message(rank, word) if word.towards else None
        if message and not word.sends and self.under_way.pop(message, None) is None:
            return False
        self._take(rank, word)
        if message and word.sends:
            self.under_way[message] = rank
        self._make(word)
        self.followed += 1
        return True

    def _message(self, rank: int, word: Instruction) -> Slip:
        """What is sent or received: named by the stage that it goes to."""
        if not 0 <= word.other < self.schedule.stages:
            raise self.refused(rank, f"there is no stage {word.other} to exchange anything with")
        if self.schedule.rank_of(word.other, word.micro_batch) == rank:
            raise self.refused(
                rank, f"stage {word.other} is on the same rank: nothing is to be sent"
            )
        what = "activation" if word.towards > 0 else "gradient"
        return what, word.other if word.sends else word.stage, word.micro_batch

    def _take(self, rank: int, word: Instruction) -> None:
        """Use up what the instruction needs; the ends of the network have batch and loss."""
        at_an_end = {("input", 0), ("gradient", self.schedule.stages - 1)}
        for what in NEEDS.get(type(word), ()):
            slip = (what, word.stage, word.micro_batch)
            if slip in self.slips:
                self.slips.remove(slip)
            elif slip[:2] not in at_an_end:
                raise self.refused(rank, f"rank {rank} does not have the {_in_words(slip)}")

    def _make(self, word: Instruction) -> None:
        """Put down what the instruction makes; between stages of one rank it is there at once."""
        stage, micro_batch = word.stage, word.micro_batch
        if isinstance(word, Forward):
            self.forward.add((stage, micro_batch))
        directions = {what: towards for towards, what in LEAVES.items()}
        for what in MAKES.get(type(word), ()):
            slip: Slip | None = (what, stage, micro_batch)
            if what in directions:
                slip = self.schedule.passed_on(directions[what], stage, micro_batch)
            self.slips |= {slip} if slip else set()

    def _run_arrived(self, rank: int, word: RunArrived) -> bool:
        """Run all that has arrived by now; whether every micro-batch has been through."""
        schedule, stage = self.schedule, word.stage
        if (0, stage) not in schedule.held_by(rank):
            raise self.refused(rank, f"rank {rank} does not hold stage {stage}")
        if word.in_flight < 1:
            raise self.refused(rank, "with a limit below 1 no micro-batch may ever enter")
        everything = range(schedule.micro_batches)
        first, last = stage == 0, stage == schedule.stages - 1
        for micro_batch in everything:
            arrived = first or ("activation", stage, micro_batch) in self.under_way
            kept = sum(("activations", stage, other) in self.slips for other in everything)
            if arrived and (stage, micro_batch) not in self.forward and kept < word.in_flight:
                self._at_once(rank, stage, micro_batch, ReceiveActivation, Forward, SendActivation)
            back = last or ("gradient", stage, micro_batch) in self.under_way
            if back and ("activations", stage, micro_batch) in self.slips:
                self._at_once(rank, stage, micro_batch, ReceiveGradient, Backward, SendGradient)
        return all(("done", stage, micro_batch) in self.slips for micro_batch in everything)

    def _at_once(self, rank: int, stage: int, micro_batch: int, *kinds: type[Instruction]) -> None:
        for kind in kinds:
            word = kind(stage, micro_batch)
            if 0 <= word.other < self.schedule.stages:  # at an end there is nobody to talk to
                self._follow_instruction(rank, word)

    def _sum(self, rank: int, stage: int) -> bool:
        """Whether all ranks that hold the stage have come to this sum."""
        self.followed += (rank, stage) not in self.summed
        self.summed.add((rank, stage))
        return all((ranks[stage], stage) in self.summed for ranks in self.schedule.placement)

    def _missing(self, rank: int, only: int | None) -> Iterator[str]:
        """What this rank should have done for its stages by the end, and has not."""
        for replica, stage in self.schedule.held_by(rank):
            through = range(replica, self.schedule.micro_batches, self.schedule.replicas)
            for micro_batch in through if only in (None, stage) else ():
                if ("done", stage, micro_batch) not in self.slips:
                    yield (
                        f"micro-batch {micro_batch} has not been all the way forward and backward "
                        f"through stage {stage}"
                    )
            if only is None and self.schedule.replicas > 1 and (rank, stage) not in self.summed:
                yield f"the gradients of stage {stage} have not been summed over its replicas"

    def _deadlock(self, stuck: list[int]) -> InvalidSchedule:
        """Who waits for whom; whoever waits for what nobody will send comes first."""
        waits = sorted(map(self._wait_of, stuck), key=lambda text: "never" not in text)
        return InvalidSchedule("nobody can go on.\n" + "\n".join(f"  {one}" for one in waits))

    def _wait_of(self, rank: int) -> str:
        word = self.word(rank)
        begin = f"rank {rank}, instruction {self.at[rank]}, {word}: waits for "
        if not isinstance(word, ReceiveActivation | ReceiveGradient):
            return begin + "what has not arrived, or for the others that hold the stage"
        sender = self.schedule.rank_of(word.other, word.micro_batch)
        kind = SendActivation if word.towards > 0 else SendGradient
        sends = kind(word.other, word.micro_batch)
        later = self.schedule.orders[sender][self.at[sender] :]
        if sends not in later and not any(isinstance(word, RunArrived) for word in later):
            return f"{begin}{sends} of rank {sender}, which never sends that"
        return (
            f"{begin}{sends} of rank {sender}, which is itself stuck at its instruction "
            f"{self.at[sender]}, {self.word(sender)}"
        )


def _in_words(slip: Slip) -> str:
    what, stage, micro_batch = slip
    source = {
        "input": "receive it first",
        "gradient": "receive it first",
        "activations": "go forward first, and backward only once",
        "gradients inside": "compute the gradient of the input first, and this only once",
    }.get(what, "compute it first, and send it only once")
    return f"{what} of stage {stage} for micro-batch {micro_batch}: {source}"
