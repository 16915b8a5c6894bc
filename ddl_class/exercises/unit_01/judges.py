"""The judges of unit 01: of a sum, of a layer, of a graph, of both bounds, of a greedy scheduler.

Which of the ready operations a scheduler takes first is the learner's choice, so there is no one
right answer: its judge replays what was handed in, step by step.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import ProgramRunner, Wrong
from ddl_class.exercises.kit.answers import number, numbers, several
from ddl_class.exercises.kit.compare import (
    alike,
    any_of,
    compare,
    refuse_if,
    shown,
    why,
)
from ddl_teach.operators.graphs.schedule import finished
from ddl_teach.theory.work_depth import fully_connected
from ddl_teach.theory.work_depth.counting import tree_depth

PASSES = {"forward": "inputs", "input gradient": "outputs", "weight gradient": "batch"}
STEPS = "return a list with the step of each operation, the first step being 0"

Graph = list[list[int]]  # of each operation those that it waits for
Pair = tuple[float, float]

SMALL: Graph = [[], [], [0, 1], [2], []]


def judge_tree_sum(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Exact for all small numbers, and for large ones at and beside powers of two."""
    large = [2**power + beside for power in (10, 20, 30) for beside in (-1, 0, 1)]
    for count in (8, *range(1, 33), *large, *generator.integers(40, 10**6, 5).tolist()):
        answer = number(stage.call(count), "return the number of steps")
        right = tree_depth(count)
        usual = {
            "That many additions there are. Those of one step count as one": count - 1,
            "You round down: the odd one out needs a step as well": count.bit_length() - 1,
            "One too many where the numbers are a power of two": count.bit_length(),
            "Steps are whole: round the logarithm up": math.log2(count),
            "One too many: a single number needs no step at all": right + 1,
            "That is how many additions the first step has": count / 2,
        }
        otherwise = "In each step two and two are added: write down 5 numbers and try"
        compare(f"tree_sum({count:,})", answer, right, usual, otherwise)


def judge_layer(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Three pairs, for sizes of which no two have the same logarithm."""
    wanted = "return three pairs, (work, depth) of the forward pass and of both gradients"
    for trial in range(8):
        # Far apart, so that a logarithm of the wrong one is never the right number.
        powers = generator.permutation([1, 4, 7])
        drawn = [int(2**power + generator.integers(2)) for power in powers]
        drawn = [1, 1, 1] if trial == 7 else drawn
        sizes = dict(zip(("batch", "inputs", "outputs"), drawn, strict=True))
        counts = [
            count(**sizes, bias=False)
            for count in (
                fully_connected.forward,
                fully_connected.input_gradient,
                fully_connected.parameter_gradient,
            )
        ]
        right = [(float(count.work), float(count.depth)) for count in counts]
        pairs = several(stage.call(*sizes.values()), 3, wanted)
        answers = [_work_and_depth(pair, wanted) for pair in pairs]
        for place, (name, mine, theirs) in enumerate(zip(PASSES, right, answers, strict=True)):
            if mine == theirs:
                continue
            usual = (
                f"The right pairs in the wrong order: {', '.join(PASSES)}."
                if sorted(answers) == sorted(right)
                else _wrong_pass(name, right[place], answers[place], sizes)
            )
            given = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise Wrong(
                f"{given}: the {name} has work {mine[0]:,.0f} and depth {mine[1]:g}, and you say "
                f"{theirs[0]:,.6g} and {theirs[1]:.6g}. {usual}"
            )


def _wrong_pass(name: str, right: Pair, answer: Pair, sizes: dict[str, int]) -> str:
    """The usual mistake behind a wrong pair, or where to look."""
    summed = sizes[PASSES[name]]
    entries = right[0] // (2 * summed - 1)
    work = {
        "The work comes first, then the depth": right[1],
        "A sum of n numbers has n - 1 additions, not n: the work of a dot product is 2 n - 1": (
            2 * summed * entries
        ),
        "You count the multiplications alone. The additions are work too": summed * entries,
        "You count the additions alone. The multiplications are work too": (summed - 1) * entries,
        "That is one dot product. How many numbers has the result?": 2 * summed - 1,
    }
    if answer[0] != right[0]:
        return why(answer[0], work, "Count the numbers of the result, times 2 n - 1 for each")
    depth = {
        "That is one addition after the other, a chain": any_of(summed, 2 * summed - 1),
        **{
            f"You took the logarithm of the {size}": 1 + tree_depth(other)
            for size, other in sizes.items()
            if other != summed
        },
        "You forgot the step in which the products are made": tree_depth(summed),
    }
    advice = f"This pass sums over the {PASSES[name]}, {summed} numbers for each result."
    return f"{why(answer[1], depth)} {advice}".strip()


def judge_count(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Random graphs, then a chain, a heap of loose operations, and a ladder."""
    ladder: Graph = [[], []] + [[place - 1, place - 2] for place in range(2, 60)]
    chain: Graph = [[]] + [[place] for place in range(1500)]
    shuffled = [_random_graph(generator) for _ in range(20)]
    graphs: list[Graph] = [SMALL, *shuffled, [[]] * 7, chain, ladder]
    wanted = "return two numbers, as in `return work, depth`"
    for graph in graphs:
        answer = _work_and_depth(stage.call(graph), wanted)
        levels = finished(graph)
        work, depth = len(graph), int(levels.max())
        if answer == (depth, work) != (work, depth):
            raise Wrong("the right numbers in the wrong order: the work first, then the depth.")
        if answer != (work, depth):
            raise Wrong(
                f"a graph of {work} operations has the work {work} and the depth {depth}, and you "
                f"say {answer[0]:.6g} and {answer[1]:.6g}. {_wrong_count(graph, levels, answer)}"
                f"{_drawn('predecessors', graph)}"
            )


def _wrong_count(graph: Graph, levels: np.ndarray, answer: Pair) -> str:
    if answer[0] != len(graph):
        arrows = {"You count the arrows; work counts the operations": sum(map(len, graph))}
        return why(answer[0], arrows, "Every list in `predecessors` is one operation")
    last, first = [0] * len(graph), [0] * len(graph)
    for place, before in enumerate(graph):
        last[place] = 1 + (last[before[-1]] if before else 0)
        first[place] = 1 + (first[before[0]] if before else 0)
    usual = {
        "You count the arrows of the chain; depth counts its operations": levels.max() - 1,
        "The last operation need not be on the highest level: take the largest": levels[-1],
        "An operation waits for all of its predecessors, not for the last alone": max(last),
        "An operation waits for all of its predecessors, not for the first alone": max(first),
        "That is the most that one operation waits for": max(map(len, graph)),
        "One level too many: who waits for nobody is on level 1": len(set(levels.tolist())) + 1,
    }
    otherwise = "An operation's level is one more than the highest level among its predecessors"
    return why(answer[1], usual, otherwise)


def _drawn(name: str, numbers_of_each: Sequence[Any]) -> str:
    """A small graph, or what belongs to it, on a line of its own."""
    return f"\n\n  {name} = {numbers_of_each}" if len(numbers_of_each) <= 12 else ""


def _random_graph(generator: np.random.Generator) -> Graph:
    """Operations that wait for earlier ones, listed in any order; some at the end are loose."""
    reach, graph = generator.uniform(0.5, 3), []
    for place in range(generator.integers(2, 40)):
        many = min(place, int(generator.poisson(reach)))
        graph.append(generator.choice(place, many, replace=False).tolist() if many else [])
    return graph


def _work_and_depth(value: Any, wanted: str) -> Pair:
    work, depth = numbers(value, ("the work", "the depth"), wanted)
    return work, depth


def judge_bounds(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Both bounds, on both sides of the bend."""
    trials = []
    for processors in (1, 3, 10, 200, 4096):
        depth = int(generator.integers(2, 50))
        work = depth * int(generator.integers(20, 100)) + int(generator.integers(1, depth))
        trials.append((work, depth, processors))
    wanted = "return two numbers, the least and the most"
    answers = [numbers(stage.call(*trial), ("the least", "the most"), wanted) for trial in trials]
    right = [_bounds(*trial) for trial in trials]
    # One pair may fit several mistakes; all together fit one.
    usual = {words: [wrong(*trial) for trial in trials] for words, wrong in BOUND_MISTAKES.items()}
    otherwise = (
        "The least: what takes longer, all the work shared or the chain. The most: what is not on "
        "the chain, shared by all processors, and then the chain"
    )
    for (work, depth, processors), mine, theirs in zip(trials, right, answers, strict=True):
        if not alike(theirs, mine):
            raise Wrong(
                f"work {work}, depth {depth}, {processors} processors: the bounds are "
                f"{shown(mine)}, and you say {shown(theirs)}. {why(answers, usual, otherwise)}"
            )


def _bounds(work: int, depth: int, processors: int) -> Pair:
    return max(work / processors, float(depth)), (work - depth) / processors + depth


BOUND_MISTAKES: dict[str, Callable[[int, int, int], Pair]] = {
    "The right numbers in the wrong order": lambda w, d, p: _bounds(w, d, p)[::-1],
    "Both must hold, so the larger one counts: take max, not min. (It has been printed with min, "
    "so beware of what you read)": lambda w, d, p: (min(w / p, d), _bounds(w, d, p)[1]),
    "The longest chain takes its time on any number of processors: the least is never below the "
    "depth": lambda w, d, p: (w / p, _bounds(w, d, p)[1]),
    "The work takes its time as well: the least is never below work / processors": (
        lambda w, d, p: (d, _bounds(w, d, p)[1])
    ),
    "True, but one can say more: in W / p + D the operations of the chain are counted twice": (
        lambda w, d, p: (_bounds(w, d, p)[0], w / p + d)
    ),
    "Divide with /, not with //: the bounds are not rounded": (
        lambda w, d, p: (max(w // p, d), (w - d) // p + d)
    ),
}


def judge_greedy(
    stage: ProgramRunner, generator: np.random.Generator, ranks: Sequence[int]
) -> None:
    """Random graphs on one, some and too many processors."""
    trials: list[tuple[Graph, int]] = [(SMALL, 2), (SMALL, 1), ([[]] * 7, 3)]
    for processors in (1, 2, 3, 4, 7, 100):
        trials += [(_random_graph(generator), processors) for _ in range(4)]
    for graph, processors in trials:
        steps = _steps(stage.call(graph, processors), len(graph))
        if usual := _replay(graph, processors, steps):
            drawn = _drawn("predecessors", graph) + _drawn("your steps  ", steps)[1:]
            plural = "s" if processors > 1 else ""
            raise Wrong(
                f"{len(graph)} operations on {processors} processor{plural}: {usual}{drawn}"
            )


def _replay(graph: Graph, processors: int, steps: list[int]) -> str:
    """What is wrong with a schedule, step by step; nothing where it is right."""
    for place, before in enumerate(graph):
        for other in before:
            if steps[other] == steps[place]:
                return (
                    f"operation {place} waits for {other}, and both are done in step "
                    f"{steps[place]}. What becomes ready in a step can be done in the next one: "
                    "put it into the queue only when the step is over."
                )
            if steps[other] > steps[place]:
                return (
                    f"operation {place} is done in step {steps[place]}, yet it waits for {other}, "
                    f"done in step {steps[other]}. It is ready only when all that it waits for "
                    "are done."
                )
    if min(steps) > 0:
        return f"nothing is done before step {min(steps)}. The first step is 0."
    for step in range(max(steps) + 1):
        done = steps.count(step)
        if done > processors:
            return (
                f"{done} operations in step {step}. Each processor does one in a step: who finds "
                "none that is free waits in the queue."
            )
        ready = [
            place
            for place, before in enumerate(graph)
            if steps[place] > step and all(steps[other] < step for other in before)
        ]
        if ready and done < processors:
            free = processors - done
            idle = "a processor has" if free == 1 else f"{free} processors have"
            advice = (
                "Do not wait until a whole level is done: who is ready may begin at once."
                if done
                else "Nothing at all is done in that step: count a step only when something is "
                "done in it."
            )
            return (
                f"in step {step} {idle} nothing to do, though operation {ready[0]} is ready. "
                f"{advice}"
            )
    return ""


def _steps(value: Any, operations: int) -> list[int]:
    """A learner's list of steps, or `Wrong`."""
    wanted = f"{STEPS}: {operations} steps, in the order of `predecessors`"
    value = several(value.tolist() if isinstance(value, np.ndarray) else value, operations, wanted)
    if None in value:
        raise Wrong(f"operation {value.index(None)} is never done: {STEPS}.")
    steps = [number(step, f"{STEPS}; a step") for step in value]
    first = int(np.argmin(steps))
    cases = {
        f"{STEPS}; steps are whole numbers": not all(step.is_integer() for step in steps),
        f"operation {first} is never done: its step is {steps[first]:g}": steps[first] < 0,
    }
    refuse_if("", cases)
    return [int(step) for step in steps]
