"""The validator: follow a schedule without computing anything, and refuse it where it goes wrong.

Every rank follows its instructions on slips of paper: "input of stage 2, micro-batch 0" and the
like. An instruction that needs a slip which is not there is refused; a receive waits for its send;
and when no rank can go on although one is not done, that is a deadlock. Cost: one step an
instruction. Sends never block, which is what the worker does too.
What to look at: take one send out of a schedule, or swap two receives, and read the message.
"""

from collections.abc import Iterator, Sequence

from ddl_teach.networks.pipelines import instructions as do
from ddl_teach.networks.pipelines.schedule import LEAVES, Schedule, Slip

ADVICE = {
    "input": "receive it first",
    "gradient": "receive it first",
    "activations": "go forward first, and backward only once",
    "gradients inside": "compute the gradient of the input first, and this only once",
}
DIRECTIONS = {what: towards for towards, what in LEAVES.items()}
THERE = (do.ReceiveActivation, do.Forward, do.SendActivation)
BACK = (do.ReceiveGradient, do.Backward, do.SendGradient)


class InvalidSchedule(ValueError):
    """A schedule that cannot be carried out: which rank, which instruction, and why."""

    def __init__(self, text: str, places: Sequence[tuple[int, int]] = ()) -> None:
        super().__init__(text)
        self.places = tuple(places)  # of each rank that cannot go on, the number of an instruction

    def __reduce__(self) -> tuple[type, tuple[str, Sequence[tuple[int, int]]]]:
        return type(self), (str(self), self.places)


def refusal(schedule: Schedule) -> str:
    """The reason why `validate` refuses a schedule, as text; empty if it accepts it."""
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
        self.under_way: dict[Slip, int] = {}  # message: its sender
        self.forward: set[tuple[int, int]] = set()
        self.summed: set[tuple[int, int]] = set()  # rank and stage
        self.updated: set[int] = set()
        self.followed = 0  # how much all have done: if it stands still, no rank can go on

    def word(self, rank: int) -> do.Word | None:
        order = self.schedule.orders[rank]
        return order[self.at[rank]] if self.at[rank] < len(order) else None

    def place(self, rank: int) -> str:
        return f"rank {rank}, instruction {self.at[rank]}, {self.word(rank) or 'at its end'}"

    def refuse(self, rank: int, reason: str | None) -> None:
        """Raise an error that names rank and instruction, if there is a reason."""
        if reason:
            raise InvalidSchedule(f"{self.place(rank)}: {reason}", [(rank, self.at[rank])])

    def play(self) -> None:
        before, ranks = -1, range(self.schedule.ranks)
        while before < self.followed:
            before = self.followed
            for rank in ranks:
                while (word := self.word(rank)) is not None and self._follow(rank, word):
                    self.at[rank] += 1
        if stuck := [rank for rank in ranks if self.word(rank) is not None]:
            # What will never be sent comes first.
            waits = sorted(map(self._wait_of, stuck), key=lambda wait: "never" not in wait)
            text = "no rank can go on.\n" + "\n".join(f"  {line}" for line in waits)
            raise InvalidSchedule(text, [(rank, self.at[rank]) for rank in stuck])
        for (what, stage, micro_batch), sender in self.under_way.items():
            sent = f"rank {sender} sends the {what} of micro-batch {micro_batch} to stage {stage}"
            receiver = self.schedule.rank_of(stage, micro_batch)
            reason = "it would stay in the network, and the next step would receive it"
            raise InvalidSchedule(f"{sent}, and rank {receiver} never receives it: {reason}")
        for rank in set(ranks) - self.updated:
            self.refuse(rank, "there was no Update: its weights would never change")

    def _follow(self, rank: int, word: do.Word) -> bool:
        """Whether the instruction could be followed; False if it has to wait."""
        if isinstance(word, do.Instruction):
            return self._follow_instruction(rank, word)
        if isinstance(word, do.RunArrived):
            return self._run_arrived(rank, word)
        self.refuse(rank, next(self._missing(rank, getattr(word, "stage", None)), None))
        if isinstance(word, do.SumReplicas):
            # All ranks that hold the stage must come to this sum.
            self.followed += (rank, word.stage) not in self.summed
            self.summed.add((rank, word.stage))
            holders = (ranks[word.stage] for ranks in self.schedule.placement)
            return all((holder, word.stage) in self.summed for holder in holders)
        self.updated.add(rank)
        return True

    def _follow_instruction(self, rank: int, word: do.Instruction) -> bool:
        self.refuse(rank, self._objection(rank, word))
        # A message is named by the stage that it goes to.
        what, to = "activation" if word.towards > 0 else "gradient", word.stage
        message = what, word.other if word.sends else to, word.micro_batch
        if word.towards and not word.sends and self.under_way.pop(message, None) is None:
            return False
        self._take(rank, word)
        if word.sends:
            self.under_way[message] = rank
        self._make(word)
        self.followed += 1
        return True

    def _objection(self, rank: int, word: do.Instruction) -> str | None:
        """Why this rank may never do this, whatever it has."""
        schedule, stage, micro_batch = self.schedule, word.stage, word.micro_batch
        if not (0 <= stage < schedule.stages and 0 <= micro_batch < schedule.micro_batches):
            last = f"{schedule.stages - 1} and micro-batches 0 to {schedule.micro_batches - 1}"
            return f"there are stages 0 to {last}"
        holder = schedule.rank_of(stage, micro_batch)
        if holder != rank:
            return f"stage {stage} of micro-batch {micro_batch} is on rank {holder}"
        if isinstance(word, do.Forward) and (stage, micro_batch) in self.forward:
            return f"micro-batch {micro_batch} has been forward through it already"
        if not 0 <= word.other < schedule.stages:
            return f"there is no stage {word.other} to exchange anything with"
        if word.towards and schedule.rank_of(word.other, micro_batch) == rank:
            return f"stage {word.other} is on the same rank: there is nothing to send"
        return None

    def _take(self, rank: int, word: do.Instruction) -> None:
        """Use up what the instruction needs; the ends of the network have batch and loss."""
        at_an_end = {("input", 0), ("gradient", self.schedule.stages - 1)}
        for what in word.needs:
            slip = (what, word.stage, word.micro_batch)
            if slip not in self.slips and slip[:2] not in at_an_end:
                advice = ADVICE.get(what, "compute it first, and send it only once")
                missing = f"{what} of stage {word.stage} for micro-batch {word.micro_batch}"
                self.refuse(rank, f"rank {rank} does not have the {missing}: {advice}")
            self.slips.discard(slip)

    def _make(self, word: do.Instruction) -> None:
        """Put down what the instruction makes; between stages of one rank it is there at once."""
        stage, micro_batch = word.stage, word.micro_batch
        if isinstance(word, do.Forward):
            self.forward.add((stage, micro_batch))
        for what in word.makes:
            slip: Slip | None = (what, stage, micro_batch)
            if what in DIRECTIONS:
                slip = self.schedule.passed_on(DIRECTIONS[what], stage, micro_batch)
            self.slips |= {slip} if slip else set()

    def _run_arrived(self, rank: int, word: do.RunArrived) -> bool:
        """Run all that has arrived by now; whether every micro-batch has been through."""
        schedule, stage = self.schedule, word.stage
        if (0, stage) not in schedule.held_by(rank):
            self.refuse(rank, f"rank {rank} does not hold stage {stage}")
        if word.in_flight < 1:
            self.refuse(rank, f"in_flight={word.in_flight}: below 1 no micro-batch may enter")
        everything = range(schedule.micro_batches)
        first, last = stage == 0, stage == schedule.stages - 1
        for micro_batch in everything:
            arrived = first or ("activation", stage, micro_batch) in self.under_way
            kept = sum(("activations", stage, other) in self.slips for other in everything)
            if arrived and (stage, micro_batch) not in self.forward and kept < word.in_flight:
                self._at_once(rank, *(kind(stage, micro_batch) for kind in THERE))
            back = last or ("gradient", stage, micro_batch) in self.under_way
            if back and ("activations", stage, micro_batch) in self.slips:
                self._at_once(rank, *(kind(stage, micro_batch) for kind in BACK))
        return all(("done", stage, micro_batch) in self.slips for micro_batch in everything)

    def _at_once(self, rank: int, *words: do.Instruction) -> None:
        for word in words:
            if 0 <= word.other < self.schedule.stages:  # at an end there is no other stage
                self._follow_instruction(rank, word)

    def _missing(self, rank: int, only: int | None) -> Iterator[str]:
        """What this rank should have done for its stages by the end, and has not."""
        for replica, stage in self.schedule.held_by(rank):
            through = range(replica, self.schedule.micro_batches, self.schedule.replicas)
            for micro_batch in through if only in (None, stage) else ():
                if ("done", stage, micro_batch) not in self.slips:
                    way = f"all the way forward and backward through stage {stage}"
                    yield f"micro-batch {micro_batch} has not been {way}"
            if only is None and self.schedule.replicas > 1 and (rank, stage) not in self.summed:
                yield f"the gradients of stage {stage} have not been summed over its replicas"

    def _wait_of(self, rank: int) -> str:
        word = self.word(rank)
        if not isinstance(word, do.ReceiveActivation | do.ReceiveGradient):
            what = "what has not arrived, or for the others that hold the stage"
            return f"{self.place(rank)}: waits for {what}"
        sender = self.schedule.rank_of(word.other, word.micro_batch)
        kind = do.SendActivation if word.towards > 0 else do.SendGradient
        sends = kind(word.other, word.micro_batch)
        later = self.schedule.orders[sender][self.at[sender] :]
        end = "which never sends that"
        if sends in later or any(isinstance(word, do.RunArrived) for word in later):
            at = self.at[sender]
            end = f"which is itself stuck at its instruction {at}, {self.word(sender)}"
        return f"{self.place(rank)}: waits for {sends} of rank {sender}, {end}"
