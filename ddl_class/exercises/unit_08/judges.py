"""The judges of unit 08: averaged gradients, weighted ones, the order of buckets against time,
buckets that overlap, and weights that change while other buckets travel."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ddl_class.exercises.kit import Attempt, ProgramOutcome, Texts, Wrong, ranks, ranks_text, texts
from ddl_class.exercises.kit.answers import whole_rows
from ddl_class.exercises.kit.asked import judge_seconds, run_ranks
from ddl_class.exercises.kit.compare import CLOSE, alike, why
from ddl_class.exercises.kit.holds import most_at_once
from ddl_class.exercises.unit_08 import machine
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm, simulate
from ddl_teach.comm import Request

EACH, AVERAGE, WEIGHTED, ORDER, OVERLAP, CLOSE_GAP = texts(
    __package__, "", "average", "weighted", "order", "overlap", "close"
)
SHAPES = ((3, 4), (4,), (5, 2, 1), (7,), (1,))
PER_NUMBER = 1e-5  # seconds of the notebook's backward pass for each number of a gradient
PER_WEIGHT, RATE = 5e-6, 0.1  # seconds of its update for each number, and the step
SLOW = 8e5  # bytes a second for each rank: then messages take about as long as the pass
GOAL = 0.14  # seconds of the puzzle's step; with the best limit of `fill` it takes 168.6 ms
GROUPS = [[4, 3], [2], [1, 0]]  # buckets of the gradients of SHAPES
# When buckets leave and when weights change: at the right moments, and by the usual mistakes.
OVERLAPPED = {"right": ("full", ""), "at_the_end": ("end", ""), "at_once": ("at once", "")}
CLOSED = {"right": ("full", "each"), "at_the_end": ("full", "end"), "one_piece": ("end", "end")}

Gradients = list[list[np.ndarray]]  # by rank, by parameter


def judge_average(attempt: Attempt) -> None:
    """The mean over the ranks in every array of every rank, in place."""
    for count in ranks.last(1, attempt.counts):
        own = _gradients(attempt.generator, count)
        right = _of_all(np.mean, own)
        call, outcome = run_ranks(attempt, AVERAGE, [(arrays,) for arrays in own])
        usual = AVERAGE.each(
            sum=_of_all(np.sum, own),
            twice=[mean / count for mean in right],
            no_sum=[gradient / count for gradient in own[0]],
            first_array=[right[0], *own[0][1:]],
        )
        _judge_arrays(call, outcome, right, usual, own)


def judge_weighted(attempt: Attempt) -> None:
    """The mean over all samples, of ranks that have unequally many."""
    for count in ranks.last(1, attempt.counts):
        own = _gradients(attempt.generator, count)
        samples = attempt.generator.integers(1, 40, count)
        if count > 2:
            samples[0], own[0] = 0, [0 * gradient for gradient in own[0]]
        every = samples.sum()
        by_parameter = [np.array(parts) for parts in zip(*own, strict=True)]
        right = [np.tensordot(samples / every, parts, 1) for parts in by_parameter]
        usual = WEIGHTED.each(
            plain=_of_all(np.mean, own),
            twice=[mean / count for mean in right],
            not_divided=[mean * every for mean in right],
            by_ranks=[mean * every / count for mean in right],
            not_multiplied=[parts.sum(axis=0) / every for parts in by_parameter],
        )
        given = list(zip(own, samples.tolist(), strict=True))
        call, outcome = run_ranks(attempt, WEIGHTED, given, samples=samples.tolist())
        _judge_arrays(call, outcome, right, usual, own)


def judge_order(attempt: Attempt) -> None:
    """Every layer stands in one bucket, and the step is short."""
    given = list(machine.FORWARD), list(machine.BACKWARD), list(machine.MEGABYTES)
    plan = whole_rows(attempt.call(*given), ORDER("wanted"))
    order, layers = [layer for bucket in plan for layer in bucket], list(range(machine.LAYERS))
    lacking = [layer for layer in layers if layer not in order]
    again = [layer for layer in layers if order.count(layer) > 1]
    ORDER.refuse_if(
        {"lacking": lacking, "again": again, "last": layers[-1]},
        empty=not all(plan),
        unknown=set(order) - set(layers),
        lacks=lacking,
        twice=again,
    )
    run = simulate(machine.step, machine.RANKS, network=machine.NETWORK, trace=False, plan=plan)
    took = max(run.results)
    forward = [bar for bar in machine.bars(plan) if bar[0] == "work"][-machine.LAYERS - 1 :]
    waits = [after[2] - before[3] for before, after in pairwise(forward)]
    layer = int(np.argmax(waits))
    values: dict[str, Any] = {"layer": layer, "waits": waits[layer]}
    values["why"] = ORDER.first(
        values, as_ready=order == layers[::-1], as_needed=order == layers, waiting=True
    )
    bars = machine.bars(plan)
    ready = {bar[1]: bar[3] for bar in bars[: machine.LAYERS]}  # by layer: when
    sent = [(names.split(), end) for row, names, _, end in bars if row == "messages"]
    sizes = [sum(machine.MEGABYTES[int(name)] for name in names) for names, _ in sent]
    full = [max(ready[name] for name in names) for names, _ in sent]
    held = zip(full, [end for _, end in sent], sizes, strict=True)
    values |= {"held": most_at_once(held), "all": sum(machine.MEGABYTES)}
    judge_seconds(attempt, ORDER, took, GOAL, values)


def judge_overlap(attempt: Attempt) -> None:
    """The average, of buckets that leave while the pass goes on."""
    for count in ranks.last(1, attempt.counts):
        own = _gradients(attempt.generator, count)
        right = _of_all(np.mean, own)
        call = OVERLAP("call", ranks=ranks_text(count))
        given = [(arrays, GROUPS) for arrays in own]
        again = partial(attempt.run, count, given, network=_network(count))
        outcome = again()
        usual = OVERLAP.each(sum=_of_all(np.sum, own), one_bucket=[*own[0][:3], *right[3:]])
        _judge_arrays(call, outcome, right, usual, own, OVERLAP("unpack"))
        if count > 1:
            nbytes = sum(array.nbytes for array in own[0]) * (count - 1)
            wanted = len(GROUPS) * (count - 1), nbytes
            for rank, ledger in enumerate(outcome.ledger):
                sent = ledger.messages_sent, ledger.bytes_sent
                values = {"call": call, "rank": rank, "sent": sent, "buckets": len(GROUPS)}
                OVERLAP.refuse_if(
                    values | {"messages": wanted[0], "nbytes": nbytes},
                    alone=sent == (len(own[0]) * (count - 1), nbytes),
                    one_piece=sent == (count - 1, nbytes),
                    other_messages=sent != wanted,
                )
            if ranks.virtual(outcome, again):
                _judge_time(OVERLAP, OVERLAPPED, call, outcome)


def judge_close(attempt: Attempt) -> None:
    """The step with the average, of weights that change while later buckets travel."""
    for count in ranks.last(2, attempt.counts):
        own = _gradients(attempt.generator, count)
        before = [attempt.generator.standard_normal(shape) for shape in SHAPES]
        call = CLOSE_GAP("call", ranks=ranks_text(count))
        given = [([*map(np.copy, before)], arrays, GROUPS) for arrays in own]
        again = partial(attempt.run, count, given, network=_network(count))
        outcome = again()
        right, summed, alone = (
            [weights - RATE * step for weights, step in zip(before, steps, strict=True)]
            for steps in (_of_all(np.mean, own), _of_all(np.sum, own), own[0])
        )
        usual = CLOSE_GAP.each(sum=summed, alone=alone, one_bucket=[*before[:3], *right[3:]])
        _judge_arrays(call, outcome, right, usual, [before] * count, CLOSE_GAP("update"))
        if count > 1 and ranks.virtual(outcome, again):
            _judge_time(CLOSE_GAP, CLOSED, call, outcome)


def _network(count: int) -> Uniform:
    return Uniform(latency=1e-5, bandwidth=SLOW * count)


def _judge_time(
    say: Texts, moments: Mapping[str, tuple[str, str]], call: str, outcome: ProgramOutcome
) -> None:
    """Whether the program takes as long in virtual time as one with the right `moments`; if not,
    whose moments it has."""
    count, time = len(outcome.results), outcome.time
    seconds = {name: ranks.seconds(_sent, count, _network(count), leaving=leaving, update=update)
               for name, (leaving, update) in moments.items()}  # fmt: skip
    least = seconds.pop("right")
    if time > least * (1 + CLOSE):
        words = why(time, say.each(**seconds), say("late"))
        raise Wrong(say("slow", call=call, time=time * 1e3, least=least * 1e3, why=words))


def _sent(comm: Comm, leaving: str, update: str) -> None:
    """What the notebook's helpers make of buckets that leave at these moments, and of updates."""
    sizes = [math.prod(shape) for shape in SHAPES]
    others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
    under_way: list[tuple[list[int], list[Request]]] = []

    def wait(requests: list[Request]) -> None:
        for request in requests:
            request.wait()

    for index in reversed(range(len(sizes))):
        comm.work(seconds=sizes[index] * PER_NUMBER)
        for tag, group in enumerate(GROUPS):
            if index == (0 if leaving == "end" else min(group)):
                flat = np.zeros(sum(sizes[member] for member in group))
                requests = [comm.irecv(np.empty_like(flat), rank, tag) for rank in others]
                requests += [comm.isend(flat, rank, tag) for rank in others]
                under_way.append((group, requests))
                if leaving == "at once":
                    wait(requests)
    for group, requests in under_way:
        wait(requests)
        if update == "each":
            comm.work(seconds=PER_WEIGHT * sum(sizes[member] for member in group))
    if update == "end":
        comm.work(seconds=PER_WEIGHT * sum(sizes))


def _judge_arrays(
    call: str, outcome: ProgramOutcome, right: list[np.ndarray], usual: dict[str, Any],
    given: Gradients, untouched: str = EACH("in_place"),
) -> None:  # fmt: skip
    """Every rank's arrays against the right ones; of wrong ones the usual reason."""
    for rank, (arrays, *_) in enumerate(outcome.arguments):
        if outcome.results[rank] is not None:
            untouched = EACH("returned")
        same = [alike(array, mean) for array, mean in zip(arrays, right, strict=True)]
        if not all(same):
            first = same.index(False)
            mistakes = {EACH("as_they_were", untouched=untouched): given[rank], **usual}
            values = {"rank": rank, "first": first, "found": arrays[first].flat[0]}
            values |= {"right": right[first].flat[0]}
            words = why(arrays, mistakes, EACH("otherwise"))
            raise Wrong(EACH("wrong", call=call, why=words, **values))


def _gradients(generator: np.random.Generator, count: int) -> Gradients:
    return [[generator.standard_normal(shape) for shape in SHAPES] for _ in range(count)]


def _of_all(function: Callable[..., Any], own: Gradients) -> list[np.ndarray]:
    """The mean or the sum of each parameter's gradients."""
    return [function(parts, axis=0) for parts in zip(*own, strict=True)]
