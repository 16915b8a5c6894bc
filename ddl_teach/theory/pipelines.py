"""What a pipeline costs: how long a rank waits, and how much it keeps meanwhile.

P ranks, m micro-batches, F seconds forward and B = I + W backward for one micro-batch on one rank:
I for the gradient of the input, W for that of the weights. Messages cost nothing unless `latency`
says otherwise. A step takes m (F + B), the work, and a bubble. The last column is the
most micro-batches whose activations a rank keeps.

    naive              (P-1) m (F + B)                     1
    GPipe              (P-1) (F + B)                       m
    1F1B               (P-1) (F + B)                       min(P - r, m) on rank r
    interleaved, v     (P-1) (F + B) / v                   P + (P - 1 - 2 r) / v
    breadth-first, v   (P-1) (F + B) / v                   m
    zero bubble, H1    (P-1) (F + max(0, I - W))           min(P, m)
    zero bubble, H2    (P-1) (F + max(0, I - 2 W))         min(2 P - 1, m)
    H1 interleaved, v  (P-1) (F + max(0, I - W)) / v       P
    ZB-V               (P-1) F / 2                         P
    DualPipe-V         (P-1) (F + 2 B - 3 W) / 2           P + 1/2
    message-driven, k  as naive for k = 1, GPipe for k=m   min(k, m)
    GEMS               (P-1) (F + m B)                     1

Huang et al., "GPipe", NeurIPS 2019; Narayanan et al., "Efficient large-scale language model
training on GPU clusters using Megatron-LM", SC 2021; Qi et al., "Zero bubble pipeline
parallelism", ICLR 2024 (their bubbles are (P-1) (F + I - W) and (P-1) (F + I - 2 W): those of each
further step, `again`, if no rank waits for the end of the step before; ZB-V: arXiv 2401.10241);
Lamy-Poirier, "Breadth-first pipeline parallelism", MLSys 2023; DeepSeek-AI, "DeepSeek-V3 technical
report", 2024 (of PP chunks theirs is (PP/2 - 1) (F&B + B - 3 W), with PP + 1 activations; cut in
half, PP = 2 P, and F&B is F + B without what is gained by running pairs at once); Singh and
Bhatele, "AxoNN", IPDPS 2022; Jain et al., "GEMS", SC 2020; Li and Hoefler, "Chimera", SC 2021, for
a table of many.
What to look at: GPipe and 1F1B have the same bubble and not the same memory.
"""

# ruff: noqa: E741 -- I is the papers' letter

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from heapq import heappop, heappush
from inspect import signature
from typing import Any

import numpy as np

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
            raise ValueError("forward and backward both take 0 seconds: give one a time above 0")
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

    A message from stage s to the next, or back, has the `latency, occupied` of hops[s]. Cables
    carry one message each way at a time. If the `nodes` of the stages are given, all messages that
    leave a node share its cable, and so do those that come to it. No formula: the schedule is gone
    through on paper, as far as it does not repeat itself.
    """
    stages = len(forward)
    some = min(m, 3 * stages + m % stages)
    if any(map(any, hops)):
        ended = _ends_of_one_f_one_b(some, forward, backward, hops, nodes)
    else:
        ended = _ends_without_messages(some, forward, backward)
    if some == m:
        return ended[-1]
    # Between the filling and the draining each P micro-batches take as long as the P before.
    steady = some - stages - 1
    return ended[-1] + (m - some) / stages * (ended[steady] - ended[steady - stages])


def _ends_of_one_f_one_b(
    m: int, forward: Sequence[float], backward: Sequence[float],
    hops: Sequence[tuple[float, float]], nodes: Sequence[int],
) -> list[float]:  # fmt: skip
    """When each micro-batch's backward pass through the first stage has ended."""
    stages = len(forward)
    turns = [_turns_of_one_f_one_b(stage, stages, m) for stage in range(stages)]
    done, free = [0] * stages, [0.0] * stages
    # What a stage can go on with: when its last byte has left the other side, and the latency.
    there: list[dict[int, list[float]]] = [{} for _ in range(stages)]
    there[0] |= {turn: [0.0, 0.0] for turn in range(m)}
    there[-1] |= {turn: [0.0, 0.0] for turn in range(m, 2 * m)}
    cables = _cables(stages, nodes)
    last: dict[tuple[int, ...], list[float]] = {}  # message on each

    def end_of_next(stage: int) -> float:
        turn = turns[stage][done[stage]]
        left, latency = there[stage][turn]
        own = backward[stage] if turn >= m else forward[stage]
        return max(free[stage], left + latency) + own

    ended = []
    events = [(end_of_next(0), 0)]  # ends of passes, as far as they are known
    while events:
        now, stage = heappop(events)
        if now < (later := end_of_next(stage)):  # its message has met another one meanwhile
            heappush(events, (later, stage))
            continue
        turn = turns[stage][done[stage]]  # k is the forward pass of k, m + k its backward pass
        free[stage], done[stage] = now, done[stage] + 1
        if stage == 0 and turn >= m:
            ended.append(now)
        other = stage - 1 if turn >= m else stage + 1
        if 0 <= other < stages:
            latency, occupied = hops[min(stage, other)]
            there[other][turn] = message = [now + occupied, latency]
            if occupied:
                _put(message, now, occupied, last, cables[stage, other])
            if turns[other][done[other]] == turn:
                heappush(events, (end_of_next(other), other))
        if done[stage] < 2 * m and turns[stage][done[stage]] in there[stage]:
            heappush(events, (end_of_next(stage), stage))
    return ended


def _ends_without_messages(
    m: int, forward: Sequence[float], backward: Sequence[float]
) -> list[float]:
    """The same where messages take no time, all stages at once.

    Passes stand in slots, those that one waits for in earlier ones: on stage s of P the forward
    pass of k in slot s + k, and in s + 2 k once it follows a backward pass; that one in
    2 P - 1 - s + 2 k. So in each slot after the first P every second stage goes forward.
    """
    stages = len(forward)
    ahead, back = np.array(forward), np.array(backward)
    free = np.zeros(stages)
    came = np.zeros(stages + 1)  # when what a stage's forward pass needs was there
    returned = np.zeros(stages + 1)  # when its own last gradient was; the next one needs it
    ended = []
    for slot in range(2 * (stages + m - 1)):
        if slot < stages:
            going = slice(max(0, slot - m + 1), slot + 1)
            coming = slice(0)
        else:
            first = max(2 * stages - 1 - slot, 0)
            later = max(first, slot - 2 * m + 2)
            going = slice(later + (later - slot) % 2, stages, 2)
            end = 2 * (stages + m - 1) - slot
            coming = slice(first + (first - slot - 1) % 2, min(end, stages), 2)
        ends = np.maximum(free[going], came[:-1][going]) + ahead[going]
        free[going] = came[1:][going] = ends
        ends = np.maximum(free[coming], returned[1:][coming]) + back[coming]
        free[coming] = returned[:-1][coming] = ends
        if coming.start == 0 and coming.stop:
            ended.append(float(returned[0]))
    return ended


def _cables(stages: int, nodes: Sequence[int]) -> dict[tuple[int, int], list[tuple[int, ...]]]:
    """What a message from stage to stage goes through: a cable, or those of both nodes."""
    rights = [(stage, stage + 1) for stage in range(stages - 1)]
    pairs = rights + [(stage, other) for other, stage in rights]
    if not nodes:
        return {pair: [pair] for pair in pairs}
    return {
        (stage, other): [(nodes[stage], 0, 0), (nodes[other], 1, 0)]
        if nodes[stage] != nodes[other]
        else [(stage, other)]
        for stage, other in pairs
    }


def _put(
    message: list[float], now: float, occupied: float,
    last: dict[tuple[int, ...], list[float]], cables: list[tuple[int, ...]],
) -> None:  # fmt: skip
    """A message onto its cables: behind the one before, or beside it where others share them."""
    for other in {id(last[cable]): last[cable] for cable in cables if cable in last}.values():
        if other[0] > now:
            message[0] = max(message[0], other[0] + occupied)
            if len(cables) > 1:  # at half the rate each until the shorter one is out
                other[0] += min(other[0] - now, occupied)
    for cable in cables:
        last[cable] = message


def _turns_of_one_f_one_b(stage: int, stages: int, m: int) -> list[int]:
    """The order of a stage's passes: some forwards ahead, then one forward, one backward."""
    ahead = min(stages - 1 - stage, m)
    steady = [turn for k in range(m - ahead) for turn in (k + ahead, m + k)]
    return [*range(ahead), *steady, *range(2 * m - ahead, 2 * m)]


@_in_letters
def interleaved(P: int, m: int, F: float, B: float, stages_per_rank: int = 2) -> PipelineStep:
    """1F1B over v thin stages a rank; F and B are the seconds of all stages of a rank together.
    With fewer micro-batches than ranks each further stage waits until the first one is back."""
    v = stages_per_rank
    bubble = (P - 1 + (v - 1) * max(0, P - m)) * (F + B) / v
    before = (v - 1) * _largest_group(P, m)
    peak = tuple(min(before + 2 * (P - 1 - r) + 1, m * v) / v for r in range(P))
    return PipelineStep(m * (F + B), bubble, peak)


@_in_letters
def breadth_first(P: int, m: int, F: float, B: float, stages_per_rank: int = 2) -> PipelineStep:
    """GPipe over v thin stages a rank: the time of 1F1B over them, and GPipe's memory."""
    step = interleaved(P, m, F, B, stages_per_rank)
    return PipelineStep(step.work, step.bubble, (m,) * P)


@_in_letters
def interleaved_zero_bubble(
    P: int, m: int, F: float, I: float, W: float, stages_per_rank: int = 2
) -> PipelineStep:
    """H1 over v thin stages a rank. Exact where W takes no longer than F and m no less than P."""
    v = stages_per_rank
    bubble = (P - 1) * (F + max(0.0, I - W)) / v
    return PipelineStep(
        m * (F + I + W), bubble, (min((v - 1) * _largest_group(P, m) + P, m * v) / v,) * P
    )


def _largest_group(P: int, m: int) -> int:
    """The most micro-batches that go through together: P, or more where P does not divide m."""
    return -(-m // max(1, m // P))


@_in_letters
def zb_v(P: int, m: int, F: float) -> PipelineStep:
    """Two thin stages a rank in a V, where I and W take as long as F; exact from 2 P - 1
    micro-batches on."""
    return PipelineStep(3 * m * F, (P - 1) * F / 2, (min(P, m),) * P)


@_in_letters
def dualpipe_v(P: int, m: int, F: float, I: float, W: float) -> PipelineStep:
    """Two thin stages a rank in a V, pairs that may run at once one after the other. Exact where I
    takes as long as F and W no longer."""
    bubble = (P - 1) * (F + 2 * I - W) / 2
    return PipelineStep(m * (F + I + W), bubble, (P + 1 / 2,) * P)


@_in_letters
def zero_bubble(P: int, m: int, F: float, I: float, W: float, lookahead: int = 1) -> PipelineStep:
    """H1, or with `lookahead=2` H2. Exact where W takes no longer than F and there are enough
    micro-batches to run ahead with, lookahead (P-1) + 1."""
    bubble = (P - 1) * (F + max(0.0, I - lookahead * W))
    return PipelineStep(m * (F + I + W), bubble, (min(lookahead * (P - 1) + 1, m),) * P)


@_in_letters
def again(P: int, F: float, I: float, W: float, lookahead: int = 1) -> float:
    """The bubble of each step of `zero_bubble` after the first, if a rank that has updated its
    weights begins the next step at once. An optimizer that must see all gradients first makes all
    ranks wait."""
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
    return sent_from(rank, [stage % ranks for stage in range(len(cuts) + 1)], cuts)


def sent_from(rank: int, holders: Sequence[int], cuts: Sequence[int]) -> int:
    """The same where stage s is on rank `holders[s]`."""
    around = zip(holders, holders[1:], cuts, strict=False)
    return sum(cut for here, there, cut in around if here != there and rank in (here, there))
