"""What a pipeline costs: how long a rank waits, and how much it keeps meanwhile.

P ranks, m micro-batches, F seconds forward and B = I + W backward for one micro-batch on one rank
(I for the gradient of the input, W for that of the weights), messages free unless `latency` says
otherwise. A step takes m (F + B), the work, and a bubble; a rank keeps the activations of so many
micro-batches at most:

    naive              (P-1) m (F + B)                     1
    GPipe              (P-1) (F + B)                       m
    1F1B               (P-1) (F + B)                       min(P - r, m) on rank r
    interleaved, v     (P-1) (F + B) / v                   P + (P - 1 - 2 r) / v
    zero bubble, H1    (P-1) (F + max(0, I - W))           min(P, m)
    zero bubble, H2    (P-1) (F + max(0, I - 2 W))         min(2 P - 1, m)
    message-driven, k  as naive for k = 1, GPipe for k=m   min(k, m)
    GEMS               (P-1) (F + m B)                     1

Huang et al., "GPipe", NeurIPS 2019; Narayanan et al., "Efficient large-scale language model
training on GPU clusters using Megatron-LM", SC 2021; Qi et al., "Zero bubble pipeline
parallelism", ICLR 2024 (theirs are (P-1) (F + I - W) and (P-1) (F + I - 2 W), those of each
further step where nobody waits for all to end the one before: `again`); Singh and Bhatele,
"AxoNN", IPDPS 2022; Jain et al., "GEMS", SC 2020; Li and Hoefler, "Chimera", SC 2021, for a table
of many.
What to look at: GPipe and 1F1B have the same bubble and not the same memory.
"""

# ruff: noqa: E741 -- I is the papers' letter

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from heapq import heappop, heappush
from inspect import signature
from typing import Any

from ddl_teach.theory.inputs import cost, count


@dataclass(frozen=True)
class PipelineStep:
    """One step of a pipeline, as the formulas have it."""

    work: float  # seconds that each rank computes
    bubble: float  # seconds that it does not
    peak: tuple[float, ...]  # micro-batches whose activations each rank keeps at most

    @property
    def time(self) -> float:
        return self.work + self.bubble

    @property
    def idle(self) -> float:
        """The share of the time that a rank does not compute."""
        return self.bubble / self.time


def _in_letters(formula: Callable[..., Any]) -> Callable[..., Any]:
    """The formula, after a check: P, m and other whole numbers are counts, seconds are costs."""
    names, words = signature(formula), {"P": "ranks", "m": "micro_batches", "F": "forward"}

    @wraps(formula)
    def checked(*given: float, **more: float) -> Any:
        arguments = names.bind(*given, **more).arguments
        for name, value in arguments.items():
            whole = names.parameters[name].annotation is int
            (count if whole else cost)(words.get(name, name), value)
        if not any(arguments.get(letter, 0) for letter in "FBIW"):
            raise ValueError("forward and backward may not both take no time at all")
        return formula(*given, **more)

    return checked


@_in_letters
def naive(P: int, m: int, F: float, B: float, latency: float = 0.0) -> PipelineStep:
    """One micro-batch after the other, there and back."""
    return PipelineStep(m * (F + B), (P - 1) * m * (F + B + 2 * latency), (1,) * P)


@_in_letters
def gpipe(P: int, m: int, F: float, B: float, latency: float = 0.0) -> PipelineStep:
    """All forward, then all backward."""
    return PipelineStep(m * (F + B), (P - 1) * (F + B + 2 * latency), (m,) * P)


@_in_letters
def one_f_one_b(P: int, m: int, F: float, B: float, latency: float = 0.0) -> PipelineStep:
    """One forward, one backward. With a latency the bubble is found on paper: no stage sends more
    than P micro-batches ahead, so about each P of them wait for a round trip."""
    work, bubble = m * (F + B), (P - 1) * (F + B)
    if latency:
        hops = [(latency, 0.0)] * (P - 1)
        bubble = one_f_one_b_uneven(m, [F] * P, [B] * P, hops) - work
    return PipelineStep(work, bubble, tuple(min(P - r, m) for r in range(P)))


def one_f_one_b_uneven(
    m: int,
    forward: Sequence[float],
    backward: Sequence[float],
    hops: Sequence[tuple[float, float]],
    nodes: Sequence[int] = (),
) -> float:
    """The seconds of 1F1B where stage s takes forward[s] and backward[s] for a micro-batch.

    A message from stage s to the next, or back, has the `latency, occupied` of hops[s], and cables
    carry one message each way at a time. If the `nodes` of the stages are given, activations and
    gradients that leave a node together share its cable, and so do those that come to it.
    No formula: the schedule is gone through on paper, as far as it does not repeat itself.
    """
    stages = len(forward)
    some = 3 * stages + m % stages
    if m > some:  # from there on each P micro-batches take as long as the P before
        last, before = (
            one_f_one_b_uneven(fewer, forward, backward, hops, nodes)
            for fewer in (some, some - stages)
        )
        return last + (m - some) / stages * (last - before)
    turns = [_turns_of_one_f_one_b(stage, stages, m) for stage in range(stages)]
    begun, busy, now = [0] * stages, [False] * stages, 0.0
    there = [set[int]() for _ in range(stages)]  # what a stage can go on with
    there[0] |= {*range(m)}
    there[-1] |= {*range(m, 2 * m)}
    cables = _Cables(nodes)
    # (when, stage, turn, whether the message of that turn has come, else the pass has ended)
    events = [(0.0, stage, -1, True) for stage in range(stages)]
    while events:
        now, stage, turn, came = heappop(events)
        back = turn >= m  # turn k is the forward pass of k, and m + k its backward pass
        other = stage - 1 if back else stage + 1
        if came and now < (late := cables.arrival(stage, turn)):
            heappush(events, (late, stage, turn, came))
            continue
        if came:
            there[stage].add(turn)
        else:
            busy[stage] = False
            if 0 <= other < stages:
                arrival = cables.send(now, stage, other, turn, *hops[min(stage, other)])
                heappush(events, (arrival, other, turn, True))
        if begun[stage] < 2 * m and not busy[stage] and turns[stage][begun[stage]] in there[stage]:
            turn = turns[stage][begun[stage]]
            begun[stage], busy[stage] = begun[stage] + 1, True
            own = backward[stage] if turn >= m else forward[stage]
            heappush(events, (now + own, stage, turn, False))
    return now


class _Cables:
    """Messages between stages: two that are on a cable at once share it."""

    def __init__(self, nodes: Sequence[int]) -> None:
        self._nodes = nodes
        self._on: dict[tuple[int, ...], tuple[int, int]] = {}  # a cable's last message
        self._left: dict[tuple[int, int], float] = {}  # when the last byte of a message is out
        self._latency: dict[tuple[int, int], float] = {}

    def send(
        self, now: float, stage: int, other: int, turn: int, latency: float, occupied: float
    ) -> float:
        """When it will be there, if it meets nothing that is sent later."""
        message, nodes = (other, turn), self._nodes
        ways: list[tuple[int, ...]] = [(stage, other)]
        if nodes and nodes[stage] != nodes[other]:
            ways = [(0, 0, nodes[stage]), (0, 1, nodes[other])]
        left = now + occupied
        for before in {self._on[way] for way in ways if way in self._on}:
            if (rest := self._left[before] - now) > 0:
                left = max(left, self._left[before] + occupied)
                if len(ways) > 1:  # at half the rate each until the shorter one is out
                    self._left[before] += min(rest, occupied)
        self._on |= dict.fromkeys(ways, message)
        self._left[message], self._latency[message] = left, latency
        return left + latency

    def arrival(self, stage: int, turn: int) -> float:
        """When a message is there, as far as that is known."""
        message = stage, turn
        return self._left.get(message, 0.0) + self._latency.get(message, 0.0)


def _turns_of_one_f_one_b(stage: int, stages: int, m: int) -> list[int]:
    """The order of a stage's passes: some forwards ahead, then one forward, one backward."""
    ahead = min(stages - 1 - stage, m)
    steady = [turn for k in range(m - ahead) for turn in (k + ahead, m + k)]
    return [*range(ahead), *steady, *range(2 * m - ahead, 2 * m)]


@_in_letters
def interleaved(P: int, m: int, F: float, B: float, stages_per_rank: int = 2) -> PipelineStep:
    """1F1B over v thin stages a rank; F and B are of all stages of a rank together."""
    v = stages_per_rank
    peak = tuple(min(v * P + P - 1 - 2 * r, m * v) / v for r in range(P))
    return PipelineStep(m * (F + B), (P - 1) * (F + B) / v, peak)


@_in_letters
def zero_bubble(P: int, m: int, F: float, I: float, W: float, lookahead: int = 1) -> PipelineStep:
    """H1, or with `lookahead=2` H2. Exact where W takes no longer than F and there are enough
    micro-batches to run ahead with, lookahead (P-1) + 1."""
    bubble = (P - 1) * (F + max(0.0, I - lookahead * W))
    return PipelineStep(m * (F + I + W), bubble, (min(lookahead * (P - 1) + 1, m),) * P)


@_in_letters
def again(P: int, F: float, I: float, W: float, lookahead: int = 1) -> float:
    """The bubble of each step of `zero_bubble` after the first, where who has updated its weights
    begins the next step. An optimizer that must see all gradients first makes everybody wait."""
    return (P - 1) * max(0.0, F + I - lookahead * W)


@_in_letters
def message_driven(
    P: int, m: int, F: float, B: float, in_flight: int, latency: float = 0.0
) -> PipelineStep:
    """Whatever has arrived, at most k `in_flight` at once; the last rank keeps one at most.

    Micro-batch i + k enters when i has come back. Exact for k of 1, 2 and m without latency; in
    between it is the least time.
    """
    around = P * (F + B) + 2 * (P - 1) * latency
    rounds, rest = divmod(m - 1, in_flight)
    time = around + rounds * max(around, in_flight * (F + B)) + rest * (F + B)
    peak = (min(in_flight, m),) * (P - 1) + (1,)
    return PipelineStep(m * (F + B), time - m * (F + B), peak)


@_in_letters
def limit_without_waiting(P: int, F: float, B: float, latency: float = 0.0) -> float:
    """So many micro-batches in flight keep every rank busy: a round trip divided by a turn."""
    return P + 2 * (P - 1) * latency / (F + B)


@_in_letters
def gems(P: int, m: int, F: float, B: float) -> PipelineStep:
    """Two replicas in opposite order; exact where B takes no less than F."""
    return PipelineStep(m * (F + B), (P - 1) * (F + m * B), (1,) * P)


def sent(rank: int, ranks: int, cuts: Sequence[int]) -> int:
    """Bytes that a rank sends in a step by any schedule, stage s being on rank s mod `ranks`.

    `cuts[s]` is what passes between the stages s and s + 1 for the whole batch, one way.
    """
    if ranks == 1:
        return 0
    own = range(rank, len(cuts) + 1, ranks)
    return sum(cuts[stage] for stage in own if stage < len(cuts)) + sum(
        cuts[stage - 1] for stage in own if stage > 0
    )
