"""The judges of unit 01 that ask for numbers: of a sum, of a layer, of a graph, of both bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ddl_class.exercises.exercise import Stage, Wrong
from ddl_class.exercises.kit.answers import number, numbers, several
from ddl_class.exercises.kit.compare import alike, compare, shown, why
from ddl_teach.operators.graphs.schedule import finished
from ddl_teach.theory.work_depth import fully_connected
from ddl_teach.theory.work_depth.counting import tree_depth

PASSES = ("forward", "input gradient", "weight gradient")


def judge_tree_sum(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Exact for all small numbers, and for large ones at and beside powers of two."""
    large = [2**power + beside for power in (10, 20, 30) for beside in (-1, 0, 1)]
    drawn = [int(number) for number in generator.integers(40, 10**6, 5)]
    for count in (8, *range(1, 33), *large, *drawn):
        said = number(stage.call(count), "return the number of steps")
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
        compare(f"tree_sum({count:,})", said, right, usual, otherwise)


def judge_layer(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Three pairs, for sizes of which no two have the same logarithm."""
    ways = (
        fully_connected.forward,
        fully_connected.input_gradient,
        fully_connected.parameter_gradient,
    )
    for trial in range(8):
        # Far apart, so that a logarithm of the wrong one is never the right number.
        powers = generator.permutation([1, 4, 7])
        batch, inputs, outputs = (int(2**power + generator.integers(2)) for power in powers)
        if trial == 7:
            batch, inputs, outputs = 1, 1, 1
        sizes = {"batch": batch, "inputs": inputs, "outputs": outputs}
        right = [(one.work, one.depth) for one in (way(**sizes, bias=False) for way in ways)]
        wanted = "return three pairs, (work, depth) of the forward pass and of both gradients"
        pairs = several(stage.call(batch, inputs, outputs), 3, wanted)
        said = [_pair(pair, wanted) for pair in pairs]
        for name, mine, theirs in zip(PASSES, right, said, strict=True):
            if mine != theirs:
                why = _wrong_pass(name, mine, theirs, sizes, right, said)
                raise Wrong(
                    f"batch {batch}, inputs {inputs}, outputs {outputs}: the {name} has work "
                    f"{mine[0]:,} and depth {mine[1]}, and you say {theirs[0]:,.6g} and "
                    f"{theirs[1]:.6g}. {why}"
                )


def _wrong_pass(
    name: str,
    right: tuple[int, int],
    said: tuple[float, float],
    sizes: dict[str, int],
    all_right: list[tuple[int, int]],
    all_said: list[tuple[float, float]],
) -> str:
    """The usual mistake behind a wrong pair, or where to look."""
    if sorted(all_said) == sorted(all_right):
        return "The right pairs in the wrong order: " + ", ".join(PASSES) + "."
    if said == right[::-1]:
        return "The work comes first, then the depth."
    batch, inputs, outputs = sizes.values()
    summed = dict(zip(PASSES, (inputs, outputs, batch), strict=True))[name]
    entries = (right[0]) // (2 * summed - 1)
    work = {
        2 * summed * entries: "A sum of n numbers has n - 1 additions, not n: the work of a dot "
        "product is 2 n - 1.",
        summed * entries: "You count the multiplications alone. The additions are work too.",
        (summed - 1) * entries: "You count the additions alone. The multiplications are work too.",
        2 * summed - 1: "That is one dot product. How many numbers has the result?",
    }
    if said[0] != right[0]:
        return work.get(said[0], "Count the numbers of the result, times 2 n - 1 for each.")
    depth = {tree_depth(summed): "You forgot the step in which the products are made."}
    for size, other in sizes.items():
        if other != summed:
            depth[1 + tree_depth(other)] = f"You took the logarithm of the {size}."
    depth[summed] = depth[2 * summed - 1] = "That is one addition after the other, a chain."
    sums = {"forward": "inputs", "input gradient": "outputs", "weight gradient": "batch"}
    advice = f"This pass sums over the {sums[name]}, {summed} numbers for each result."
    return f"{depth.get(said[1], '')} {advice}".strip()


def judge_count(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Random graphs, then a chain, a heap of loose operations, and a ladder."""
    ladder: list[list[int]] = [[], []] + [[one - 1, one - 2] for one in range(2, 60)]
    chain: list[list[int]] = [[]] + [[one] for one in range(1500)]
    shuffled = [random_graph(generator) for _ in range(20)]
    for predecessors in (SMALL, *shuffled, [[]] * 7, chain, ladder):
        wanted = "return two numbers, as in `return work, depth`"
        said = _pair(stage.call(predecessors), wanted)
        levels = finished(predecessors)
        right = len(predecessors), int(levels.max())
        if said == right:
            continue
        if said == right[::-1]:
            raise Wrong("the right numbers in the wrong order: the work first, then the depth.")
        raise Wrong(_wrong_count(predecessors, levels, said, right))


SMALL = [[], [], [0, 1], [2], []]


def _wrong_count(
    predecessors: list[list[int]],
    levels: np.ndarray,
    said: tuple[float, float],
    right: tuple[int, int],
) -> str:
    drawn = f"\n\n  predecessors = {predecessors}" if len(predecessors) <= 12 else ""
    told = (
        f"a graph of {right[0]} operations has the work {right[0]} and the depth {right[1]}, and "
        f"you say {said[0]:.6g} and {said[1]:.6g}. "
    )
    arrows = sum(map(len, predecessors))
    if said[0] != right[0]:
        words = (
            "You count the arrows; work counts the operations."
            if said[0] == arrows
            else "Every list in `predecessors` is one operation."
        )
        return told + words + drawn
    last = [0] * len(predecessors)
    first = [0] * len(predecessors)
    for one, before in enumerate(predecessors):
        last[one] = 1 + (last[before[-1]] if before else 0)
        first[one] = 1 + (first[before[0]] if before else 0)
    usual = {
        "You count the arrows of the chain; depth counts its operations": right[1] - 1,
        "The last operation need not be on the highest level: take the largest": int(levels[-1]),
        "An operation waits for all of its predecessors, not for the last alone": max(last),
        "An operation waits for all of its predecessors, not for the first alone": max(first),
        "That is the most that one operation waits for": max(map(len, predecessors)),
        "One level too many: who waits for nobody is on level 1": len(set(levels.tolist())) + 1,
    }
    otherwise = "An operation's level is one more than the highest level among its predecessors"
    return told + why(said[1], usual, otherwise) + drawn


def random_graph(generator: np.random.Generator, most: int = 40) -> list[list[int]]:
    """Operations that wait for earlier ones, listed in any order; some at the end are loose."""
    operations = int(generator.integers(2, most))
    reach = generator.uniform(0.5, 3)
    predecessors: list[list[int]] = []
    for one in range(operations):
        many = min(one, int(generator.poisson(reach)))
        before = generator.choice(one, many, replace=False) if many else []
        predecessors.append([int(other) for other in before])
    return predecessors


def _pair(value: Any, wanted: str) -> tuple[float, float]:
    work, depth = numbers(value, ("the work", "the depth"), wanted)
    return work, depth


def judge_bounds(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Both bounds, on both sides of the bend."""
    trials = []
    for processors in (1, 3, 10, 200, 4096):
        depth = int(generator.integers(2, 50))
        work = depth * int(generator.integers(20, 100)) + int(generator.integers(1, depth))
        trials.append((work, depth, processors))
    wanted = "return two numbers, the least and the most"
    said = [numbers(stage.call(*trial), ("the least", "the most"), wanted) for trial in trials]
    right = [_bounds(*trial) for trial in trials]
    agree = [alike(mine, other) for mine, other in zip(said, right, strict=True)]
    if all(agree):
        return
    first = agree.index(False)
    # One pair may fit several mistakes; all together fit one.
    usual = {words: [wrong(*trial) for trial in trials] for words, wrong in BOUND_MISTAKES.items()}
    otherwise = (
        "The least: what takes longer, all the work shared or the chain. The most: what is not on "
        "the chain, shared by all processors, and then the chain"
    )
    work, depth, processors = trials[first]
    raise Wrong(
        f"work {work}, depth {depth}, {processors} processors: the bounds are "
        f"{shown(right[first])}, and you say {shown(said[first])}. {why(said, usual, otherwise)}"
    )


def _bounds(work: int, depth: int, processors: int) -> tuple[float, float]:
    return max(work / processors, float(depth)), (work - depth) / processors + depth


BOUND_MISTAKES: dict[str, Callable[[int, int, int], tuple[float, float]]] = {
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

WANTED = "return a list with the step of each operation, the first step being 0"


def judge_greedy(stage: Stage, generator: np.random.Generator, ranks: Sequence[int]) -> None:
    """Random graphs on one, some and too many processors."""
    trials: list[tuple[list[list[int]], int]] = [(SMALL, 2), (SMALL, 1), ([[]] * 7, 3)]
    for processors in (1, 2, 3, 4, 7, 100):
        trials += [(random_graph(generator), processors) for _ in range(4)]
    for predecessors, processors in trials:
        steps = _steps(stage.call(predecessors, processors), len(predecessors))
        if usual := _replay(predecessors, processors, steps):
            shown = f"\n\n  predecessors = {predecessors}\n  your steps   = {steps}"
            few = shown if len(predecessors) <= 12 else ""
            raise Wrong(
                f"{len(predecessors)} operations on {processors} "
                f"processor{'s' if processors > 1 else ''}: {usual}{few}"
            )


def _replay(predecessors: list[list[int]], processors: int, steps: list[int]) -> str:
    """What is wrong with a schedule, step by step; nothing where it is right."""
    for one, before in enumerate(predecessors):
        for other in before:
            if steps[other] >= steps[one]:
                return _too_early(one, other, steps)
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
            one
            for one, before in enumerate(predecessors)
            if steps[one] > step and all(steps[other] < step for other in before)
        ]
        if ready and done < processors:
            return _idle(step, processors - done, ready[0], steps)
    return ""


def _too_early(one: int, other: int, steps: list[int]) -> str:
    if steps[other] == steps[one]:
        return (
            f"operation {one} waits for {other}, and both are done in step {steps[one]}. What "
            "becomes ready in a step can be done in the next one: put it into the queue only "
            "when the step is over."
        )
    return (
        f"operation {one} is done in step {steps[one]}, yet it waits for {other}, done in step "
        f"{steps[other]}. It is ready only when all that it waits for are done."
    )


def _idle(step: int, free: int, ready: int, steps: list[int]) -> str:
    idle = "a processor has" if free == 1 else f"{free} processors have"
    nothing = steps.count(step) == 0
    why = (
        "Nothing at all is done in that step: count a step only when something is done in it."
        if nothing
        else "Do not wait until a whole level is done: who is ready may begin at once."
    )
    return f"in step {step} {idle} nothing to do, though operation {ready} is ready. {why}"


def _steps(value: Any, operations: int) -> list[int]:
    """A learner's list of steps, or `Wrong`."""
    wanted = f"{WANTED}: {operations} steps, in the order of `predecessors`"
    value = several(value.tolist() if isinstance(value, np.ndarray) else value, operations, wanted)
    left = [one for one, step in enumerate(value) if step is None]
    if left:
        raise Wrong(f"operation {left[0]} is never done: {WANTED}.")
    numbers = [number(step, f"{WANTED}; a step") for step in value]
    if not all(step.is_integer() for step in numbers):
        raise Wrong(f"{WANTED}; steps are whole numbers.")
    steps = [int(step) for step in numbers]
    if min(steps) < 0:
        one = steps.index(min(steps))
        raise Wrong(f"operation {one} is never done: its step is {min(steps)}.")
    return steps
