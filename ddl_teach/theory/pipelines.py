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

from collections.abc import Sequence
from dataclasses import dataclass

from ddl_teach.theory.inputs import cost, count


@dataclass(frozen=True)
class Step:
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


def naive(
    ranks: int, micro_batches: int, forward: float, backward: float, latency: float = 0.0
) -> Step:
    """One micro-batch after the other, there and back."""
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, backward)
    work = micro_batches * one
    waits = micro_batches * (ranks - 1) * (one + 2 * cost("latency", latency))
    return Step(work, waits, (1,) * ranks)


def gpipe(
    ranks: int, micro_batches: int, forward: float, backward: float, latency: float = 0.0
) -> Step:
    """All forward, then all backward."""
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, backward)
    bubble = (ranks - 1) * (one + 2 * cost("latency", latency))
    return Step(micro_batches * one, bubble, (micro_batches,) * ranks)


def one_f_one_b(ranks: int, micro_batches: int, forward: float, backward: float) -> Step:
    """One forward, one backward."""
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, backward)
    peak = tuple(min(ranks - rank, micro_batches) for rank in range(ranks))
    return Step(micro_batches * one, (ranks - 1) * one, peak)


def interleaved(
    ranks: int, micro_batches: int, forward: float, backward: float, stages_per_rank: int = 2
) -> Step:
    """1F1B over thin stages; `forward` and `backward` are of all stages of a rank together."""
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, backward)
    thin = count("stages_per_rank", stages_per_rank)
    peak = tuple(
        min(thin * ranks + ranks - 1 - 2 * rank, micro_batches * thin) / thin
        for rank in range(ranks)
    )
    return Step(micro_batches * one, (ranks - 1) * one / thin, peak)


def zero_bubble(
    ranks: int,
    micro_batches: int,
    forward: float,
    backward_input: float,
    backward_weight: float,
    lookahead: int = 1,
) -> Step:
    """H1, or with `lookahead=2` H2. Exact where W takes no longer than F and there are enough
    micro-batches to run ahead with, lookahead (P-1) + 1."""
    split = backward_input + backward_weight
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, split)
    left = max(0.0, backward_input - lookahead * backward_weight)
    peak = min(lookahead * (ranks - 1) + 1, micro_batches)
    return Step(micro_batches * one, (ranks - 1) * (forward + left), (peak,) * ranks)


def again(
    ranks: int, forward: float, backward_input: float, backward_weight: float, lookahead: int = 1
) -> float:
    """The bubble of each step of `zero_bubble` after the first, where who has updated its weights
    begins the next step: (P-1) max(0, F + I - lookahead W). Nothing then for H2 and equal passes.

    An optimizer that must see all gradients first, to clip their norm, makes everybody wait.
    """
    ranks, _, _ = _checked(ranks, 1, forward, backward_input + backward_weight)
    return (ranks - 1) * max(0.0, forward + backward_input - lookahead * backward_weight)


def message_driven(
    ranks: int,
    micro_batches: int,
    forward: float,
    backward: float,
    in_flight: int,
    latency: float = 0.0,
) -> Step:
    """Whatever has arrived, at most `in_flight` at once; the last rank keeps one at most.

    Micro-batch i + k enters when i has come back. Exact for k of 1, 2 and m without latency; in
    between forward and backward passes may meet on a rank, and then this is the least time.
    """
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, backward)
    limit = count("in_flight", in_flight)
    around = ranks * one + 2 * (ranks - 1) * cost("latency", latency)
    rounds, rest = divmod(micro_batches - 1, limit)
    time = around + rounds * max(around, limit * one) + rest * one
    peak = min(limit, micro_batches)
    return Step(micro_batches * one, time - micro_batches * one, (peak,) * (ranks - 1) + (1,))


def limit_without_waiting(
    ranks: int, forward: float, backward: float, latency: float = 0.0
) -> float:
    """So many micro-batches in flight keep every rank busy: a round trip divided by a turn."""
    ranks, _, one = _checked(ranks, 1, forward, backward)
    return ranks + 2 * (ranks - 1) * cost("latency", latency) / one


def gems(ranks: int, micro_batches: int, forward: float, backward: float) -> Step:
    """Two replicas in opposite order; exact where B takes no less than F."""
    ranks, micro_batches, one = _checked(ranks, micro_batches, forward, backward)
    bubble = (ranks - 1) * (forward + micro_batches * backward)
    return Step(micro_batches * one, bubble, (1,) * ranks)


def sent(rank: int, ranks: int, cuts: Sequence[int]) -> int:
    """Bytes that a rank sends in a step, stage s being on rank s mod `ranks`.

    `cuts[s]` is what passes between the stages s and s + 1 for the whole batch, one way: it does
    not depend on the schedule, nor on the number of micro-batches.
    """
    if ranks == 1:
        return 0
    own = range(rank, len(cuts) + 1, ranks)
    return sum(cuts[stage] for stage in own if stage < len(cuts)) + sum(
        cuts[stage - 1] for stage in own if stage > 0
    )


def _checked(
    ranks: int, micro_batches: int, forward: float, backward: float
) -> tuple[int, int, float]:
    """Both numbers, and the seconds of one micro-batch on one rank."""
    one = cost("forward", forward) + cost("backward", backward)
    if one == 0:
        raise ValueError("forward and backward may not both take no time at all")
    return count("ranks", ranks), count("micro_batches", micro_batches), one
