"""The validator: follow a schedule without computing anything, and refuse it where it goes wrong.

Every rank follows its instructions on slips of paper: "input of stage 2, micro-batch 0" and the
like. An instruction that needs a slip which is not there is refused; a receive waits for its send;
and when nobody can go on although somebody is not done, that is a deadlock. Cost: one step an
instruction. Sends never block, which is what the worker does too.
What to look at: take one send out of a schedule, or swap two receives, and read the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
from ddl_teach.networks.pipelines.schedule import Schedule

Slip = tuple[str, int, int]  # what it is, of which stage, of which micro-batch
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


@dataclass
class _Rank:
    """Where a rank is in its instructions, and what it has."""

    rank: int
    words: tuple[Word, ...]
    at: int = 0
    slips: set[Slip] = field(default_factory=set)
    forward: set[tuple[int, int]] = field(default_factory=set)
    summed: set[int] = field(default_factory=set)
    updated: bool = False

    @property
    def word(self) -> Word | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def refuse(self, reason: str) -> InvalidSchedule:
        word = self.word or "at its end"
        return InvalidSchedule(f"rank {self.rank}, instruction {self.at}, {word}: {reason}")


def validate(schedule: Schedule) -> None:
    """Return if every rank can follow its instructions to the end; else raise InvalidSchedule."""
    _Play(schedule).play()


class _Play:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.ranks = [_Rank(rank, words) for rank, words in enumerate(schedule.orders)]
        self.under_way: dict[Slip, int] = {}  # message: who sent it
        self.followed = 0  # how much has been done by anybody: if it stands still, nobody can

    def play(self) -> None:
        before = -1
        while before < self.followed:
            before = self.followed
            for one in self.ranks:
                while one.word is not None and self._follow(one, one.word):
                    one.at += 1
        stuck = [one for one in self.ranks if one.word is not None]
        if stuck:
            raise self._deadlock(stuck)
        for (what, stage, micro_batch), sender in self.under_way.items():
            raise InvalidSchedule(
                f"rank {sender} sends the {what} of micro-batch {micro_batch} to stage {stage}, "
                f"and rank {self.schedule.rank_of(stage, micro_batch)} never receives it: it "
                "would lie in the network, and the next step would find it"
            )
        for one in self.ranks:
            if not one.updated:
                raise one.refuse("there was no Update: its weights stay as they are")

    def _follow(self, one: _Rank, word: Word) -> bool:
        """Whether the instruction could be followed; False if it has to wait."""
        if isinstance(word, Instruction):
            return self._follow_instruction(one, word)
        if isinstance(word, RunArrived):
            return self._run_arrived(one, word)
        if missing := next(self._missing(one, getattr(word, "stage", None)), None):
            raise one.refuse(missing)
        if isinstance(word, SumReplicas):
            return self._sum(one, word)
        one.updated = True
        return True

    def _follow_instruction(self, one: _Rank, word: Instruction) -> bool:
        schedule, stage, micro_batch = self.schedule, word.stage, word.micro_batch
        if not (0 <= stage < schedule.stages and 0 <= micro_batch < schedule.micro_batches):
            raise one.refuse(
                f"there are stages 0 to {schedule.stages - 1} and micro-batches 0 to "
                f"{schedule.micro_batches - 1}"
            )
        holder = schedule.rank_of(stage, micro_batch)
        if holder != one.rank:
            raise one.refuse(f"stage {stage} of micro-batch {micro_batch} is on rank {holder}")
        if isinstance(word, Forward) and (stage, micro_batch) in one.forward:
            raise one.refuse(f"micro-batch {micro_batch} has been forward through it already")
        if isinstance(word, ReceiveActivation | ReceiveGradient):
            message = self._message(one, word)
            if message not in self.under_way:
                return False
            del self.under_way[message]
        self._take(one, word)
        self._make(one, word)
        self.followed += 1
        return True

    def _message(self, one: _Rank, word: Instruction) -> Slip:
        """What is sent or received: named by the stage that it goes to."""
        stage = word.stage
        forward = isinstance(word, SendActivation | ReceiveActivation)
        sends = isinstance(word, SendActivation | SendGradient)
        towards = (1 if forward else -1) * (1 if sends else -1)
        if not 0 <= stage + towards < self.schedule.stages:
            raise one.refuse(f"there is no stage {stage + towards} to exchange anything with")
        if self.schedule.rank_of(stage + towards, word.micro_batch) == one.rank:
            raise one.refuse(f"stage {stage + towards} is on the same rank: nothing is to be sent")
        destination = stage + towards if sends else stage
        return ("activation" if forward else "gradient", destination, word.micro_batch)

    def _take(self, one: _Rank, word: Instruction) -> None:
        """Use up what the instruction needs."""
        stage, micro_batch = word.stage, word.micro_batch
        for what in NEEDS.get(type(word), ()):
            if what == "input" and stage == 0:
                continue  # the batch itself
            if what == "gradient" and stage == self.schedule.stages - 1:
                continue  # that of the loss
            slip = (what, stage, micro_batch)
            if slip not in one.slips:
                raise one.refuse(f"rank {one.rank} does not have the {_in_words(slip)}")
            one.slips.remove(slip)

    def _make(self, one: _Rank, word: Instruction) -> None:
        """Put down what the instruction makes; between stages of one rank it is there at once."""
        stage, micro_batch = word.stage, word.micro_batch
        if isinstance(word, SendActivation | SendGradient):
            self.under_way[self._message(one, word)] = one.rank
        if isinstance(word, Forward):
            one.forward.add((stage, micro_batch))
        for what in MAKES.get(type(word), ()):
            towards = {"output": 1, "gradient of the input": -1}.get(what, 0)
            other = stage + towards
            if not 0 <= other < self.schedule.stages:
                continue  # nobody needs it
            if towards and self.schedule.rank_of(other, micro_batch) == one.rank:
                what, stage_there = ("input" if towards > 0 else "gradient"), other
            else:
                stage_there = stage
            one.slips.add((what, stage_there, micro_batch))

    def _run_arrived(self, one: _Rank, word: RunArrived) -> bool:
        """Run all that has arrived by now; whether every micro-batch has been through."""
        schedule, stage = self.schedule, word.stage
        if (0, stage) not in schedule.held_by(one.rank):
            raise one.refuse(f"rank {one.rank} does not hold stage {stage}")
        if word.in_flight < 1:
            raise one.refuse("with a limit below 1 no micro-batch may ever enter")
        everything = range(schedule.micro_batches)
        first, last = stage == 0, stage == schedule.stages - 1
        for micro_batch in everything:
            arrived = first or ("activation", stage, micro_batch) in self.under_way
            kept = sum(slip[0] == "activations" for slip in one.slips)
            if arrived and (stage, micro_batch) not in one.forward and kept < word.in_flight:
                self._at_once(one, stage, micro_batch, ReceiveActivation, Forward, SendActivation)
            back = last or ("gradient", stage, micro_batch) in self.under_way
            if back and ("activations", stage, micro_batch) in one.slips:
                self._at_once(one, stage, micro_batch, ReceiveGradient, Backward, SendGradient)
        return all(("done", stage, micro_batch) in one.slips for micro_batch in everything)

    def _at_once(
        self, one: _Rank, stage: int, micro_batch: int, *kinds: type[Instruction]
    ) -> None:
        first, last = stage == 0, stage == self.schedule.stages - 1
        nobody = {ReceiveActivation: first, SendGradient: first}
        nobody |= {ReceiveGradient: last, SendActivation: last}
        for kind in kinds:
            if not nobody.get(kind, False):
                self._follow_instruction(one, kind(stage, micro_batch))

    def _sum(self, one: _Rank, word: SumReplicas) -> bool:
        """Whether all ranks that hold the stage have come to this sum."""
        if word.stage not in one.summed:
            one.summed.add(word.stage)
            self.followed += 1
        holders = {ranks[word.stage] for ranks in self.schedule.placement}
        return all(word.stage in self.ranks[holder].summed for holder in holders)

    def _missing(self, one: _Rank, only: int | None = None) -> Iterator[str]:
        """What this rank should have done for its stages by the end, and has not."""
        for replica, stage in self.schedule.held_by(one.rank):
            through = range(replica, self.schedule.micro_batches, self.schedule.replicas)
            for micro_batch in through if only in (None, stage) else ():
                if ("done", stage, micro_batch) not in one.slips:
                    yield (
                        f"micro-batch {micro_batch} has not been all the way forward and backward "
                        f"through stage {stage}"
                    )
            if only is None and self.schedule.replicas > 1 and stage not in one.summed:
                yield f"the gradients of stage {stage} have not been summed over its replicas"

    def _deadlock(self, stuck: list[_Rank]) -> InvalidSchedule:
        """Who waits for whom; whoever waits for what nobody will send comes first."""
        stories = [self._story(one) for one in stuck]
        stories.sort(key=lambda story: "never" not in story)
        return InvalidSchedule("nobody can go on.\n" + "\n".join(f"  {one}" for one in stories))

    def _story(self, one: _Rank) -> str:
        word = one.word
        begin = f"rank {one.rank}, instruction {one.at}, {word}: waits for "
        if not isinstance(word, ReceiveActivation | ReceiveGradient):
            return begin + "what has not arrived, or for the others that hold the stage"
        forward = isinstance(word, ReceiveActivation)
        other = word.stage + (-1 if forward else 1)
        sender = self.ranks[self.schedule.rank_of(other, word.micro_batch)]
        sends = (SendActivation if forward else SendGradient)(other, word.micro_batch)
        what = f"{sends} of rank {sender.rank}, which "
        later = sender.words[sender.at :]
        if sends in later or any(isinstance(word, RunArrived) for word in later):
            return begin + what + f"is itself stuck at its instruction {sender.at}, {sender.word}"
        return begin + what + "never sends that"


def _in_words(slip: Slip) -> str:
    what, stage, micro_batch = slip
    source = {
        "input": "receive it first",
        "gradient": "receive it first",
        "activations": "go forward first, and backward only once",
        "gradients inside": "compute the gradient of the input first, and this only once",
    }.get(what, "compute it first, and send it only once")
    return f"{what} of stage {stage} for micro-batch {micro_batch}: {source}"
