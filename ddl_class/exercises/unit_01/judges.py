"""The judges of unit 01: of a layer, of a graph, of both bounds, of two schedules.

Which of the ready operations a scheduler takes first is the learner's choice, so there is no one
right answer: its judge replays what was handed in, step by step.
"""

from typing import Any

import numpy as np

from ddl_class.exercises.kit import AnyOf, Attempt, Wrong, alike, shown, texts, why
from ddl_class.exercises.kit.answers import items, number, numbers, several, short, whole
from ddl_class.exercises.kit.holds import most_at_once
from ddl_class.exercises.unit_01 import training_step
from ddl_teach.operators.graphs.schedule import finished
from ddl_teach.theory.work_depth import fully_connected
from ddl_teach.theory.work_depth.counting import tree_depth

LAYER, COUNT, GREEDY, BOUNDS, SCHEDULE = texts(
    __package__, "layer", "count", "greedy", "bounds", "schedule"
)
PAIR = ("the work", "the depth")
PASSES = (  # what each sums over, and what counts it
    ("forward pass", "inputs", fully_connected.forward),
    ("input gradient", "outputs", fully_connected.input_gradient),
    ("weight gradient", "batch", fully_connected.parameter_gradient),
)

Graph = list[list[int]]  # of each operation those that it waits for

SMALL: Graph = [[], [], [0, 1], [2], []]


def judge_layer(attempt: Attempt) -> None:
    """Three pairs, for sizes of which no two have the same logarithm."""
    for trial in range(8):
        # Far apart, so that a logarithm of the wrong one is never the right number.
        powers = attempt.generator.permutation([1, 4, 7])
        drawn = [int(2**power + attempt.generator.integers(2)) for power in powers]
        drawn = [1, 1, 1] if trial == 7 else drawn
        sizes = dict(zip(("batch", "inputs", "outputs"), drawn, strict=True))
        counts = [count(**sizes, bias=False) for _, _, count in PASSES]
        right = [[float(count.work), float(count.depth)] for count in counts]
        pairs = several(attempt.call(*drawn), 3, LAYER("wanted"))
        answers = [numbers(pair, PAIR, LAYER("wanted")) for pair in pairs]
        for (name, size, _), mine, theirs in zip(PASSES, right, answers, strict=True):
            if mine != theirs:
                order = sorted(answers) == sorted(right)
                usual = LAYER("order") if order else _wrong_pass(size, mine, theirs, sizes)
                values = {"name": name, "right": mine, "answer": theirs, "why": usual}
                raise Wrong(LAYER("wrong", **sizes, **values))


def _wrong_pass(over: str, right: list[float], answer: list[float], sizes: dict[str, int]) -> str:
    """The usual mistake behind a wrong pair, or where to look."""
    summed = sizes[over]
    entries = right[0] // (2 * summed - 1)
    work = LAYER.each(
        swapped=right[1],
        leading_order=2 * summed * entries,
        products_alone=summed * entries,
        additions_alone=(summed - 1) * entries,
        one_product=2 * summed - 1,
    )
    if answer[0] != right[0]:
        return why(answer[0], work, LAYER("other_work"))
    depth = LAYER.each(chain=AnyOf(summed, 2 * summed - 1))
    for size, other in sizes.items():
        if other != summed:
            depth[LAYER("logarithm", size=size)] = 1 + tree_depth(other)
    depth |= LAYER.each(no_products=tree_depth(summed))
    words = why(answer[1], depth)
    return LAYER("other_depth", why=words, size=over, summed=summed).lstrip()


def judge_count(attempt: Attempt) -> None:
    """Random graphs, then a chain, a heap of loose operations, and a ladder."""
    ladder: Graph = [[], []] + [[place - 1, place - 2] for place in range(2, 60)]
    chain: Graph = [[]] + [[place] for place in range(1500)]
    shuffled = [_random_graph(attempt.generator) for _ in range(20)]
    graphs: list[Graph] = [SMALL, *shuffled, [[]] * 7, chain, ladder]
    for graph in graphs:
        answer = numbers(attempt.call(graph), PAIR, COUNT("wanted"))
        levels = finished(graph)
        work, depth = right = [len(graph), int(levels.max())]
        if answer != right:
            COUNT.refuse_if(swapped=answer == right[::-1])
            words = _wrong_count(graph, levels, answer)
            values = {"answer": answer, "why": words, "drawn": _drawn(("predecessors", graph))}
            raise Wrong(COUNT("wrong", work=work, depth=depth, **values))


def _wrong_count(graph: Graph, levels: np.ndarray, answer: list[float]) -> str:
    if answer[0] != len(graph):
        return why(answer[0], COUNT.each(arrows=sum(map(len, graph))), COUNT("other_work"))
    usual = COUNT.each(
        arrows_of_chain=levels.max() - 1,
        last_level=levels[-1],
        last_alone=finished([before[-1:] for before in graph]).max(),
        first_alone=finished([before[:1] for before in graph]).max(),
        most_predecessors=max(map(len, graph)),
        one_level_more=len(set(levels.tolist())) + 1,
    )
    return why(answer[1], usual, COUNT("other_depth"))


def _drawn(*rows: tuple[str, list[Any]]) -> str:
    """A small graph and what belongs to it, each on a line of its own."""
    lines = [f"\n  {name} = {row}" for name, row in rows if len(row) <= 12]
    return "".join(["\n", *lines]) if lines else ""


def _random_graph(generator: np.random.Generator) -> Graph:
    """Operations that wait for earlier ones, listed in any order; some at the end are loose."""
    reach, graph = generator.uniform(0.5, 3), []
    for place in range(generator.integers(2, 40)):
        many = min(place, int(generator.poisson(reach)))
        graph.append(generator.choice(place, many, replace=False).tolist() if many else [])
    return graph


def judge_bounds(attempt: Attempt) -> None:
    """Both bounds, on both sides of the bend."""
    trials = []
    for processors in (1, 3, 10, 200, 4096):
        depth = int(attempt.generator.integers(2, 50))
        work = depth * int(attempt.generator.integers(20, 100))
        trials.append((work + int(attempt.generator.integers(1, depth)), depth, processors))
    names = ("the least", "the most")
    answers = [numbers(attempt.call(*trial), names, BOUNDS("wanted")) for trial in trials]
    work, depth, processors = np.array(trials).T
    shared = work / processors
    least, most = np.maximum(shared, depth), (work - depth) / processors + depth
    usual = BOUNDS.each(
        order=[most, least],
        minimum=[np.minimum(shared, depth), most],
        no_chain=[shared, most],
        no_work=[depth, most],
        chain_twice=[least, shared + depth],
        rounded=[np.maximum(work // processors, depth), (work - depth) // processors + depth],
    )
    # One pair may fit several mistakes; all together fit one.
    words = why(list(np.transpose(answers)), usual, BOUNDS("otherwise"))
    for trial, *right, answer in zip(trials, least.tolist(), most.tolist(), answers, strict=True):
        if not alike(answer, right):
            values = {"right": shown(right), "answer": shown(answer), "why": words}
            raise Wrong(BOUNDS("wrong", trial=trial, **values))


def judge_greedy(attempt: Attempt) -> None:
    """Random graphs on one, some and too many processors."""
    trials: list[tuple[Graph, int]] = [(SMALL, 2), (SMALL, 1), ([[]] * 7, 3)]
    for processors in (1, 2, 3, 4, 7, 100):
        trials += [(_random_graph(attempt.generator), processors) for _ in range(4)]
    for graph, processors in trials:
        steps = _steps(attempt.call(graph, processors), len(graph))
        if words := _replay(graph, processors, steps):
            drawn = _drawn(("predecessors", graph), ("your steps  ", steps))
            values = {"processors": processors, "s": "s" * (processors > 1), "why": words}
            raise Wrong(GREEDY("wrong", operations=len(graph), drawn=drawn, **values))


def _replay(graph: Graph, processors: int, steps: list[int]) -> str:
    """What is wrong with a schedule, step by step; nothing where it is right."""
    for place, before in enumerate(graph):
        for other in before:
            step, later = steps[place], steps[other]
            values: dict[str, Any] = {"place": place, "other": other, "step": step, "later": later}
            if words := GREEDY.first(values, same_step=later == step, too_early=later > step):
                return words
    if min(steps) > 0:
        return GREEDY("late", first=min(steps))
    for step in range(max(steps) + 1):
        done = steps.count(step)
        ready = [
            place
            for place, before in enumerate(graph)
            if steps[place] > step and all(steps[other] < step for other in before)
        ]
        free = processors - done
        alone = len(set(steps)) == len(steps) > 1
        advice = "empty_step" if not done else "one_a_step" if alone else "whole_level"
        values = {
            "step": step,
            "done": done,
            "ready": ready[0] if ready else None,
            "idle": GREEDY("one_idle") if free == 1 else GREEDY("some_idle", free=free),
            "advice": GREEDY(advice),
        }
        if words := GREEDY.first(values, crowd=free < 0, idle=ready and free):
            return words
    return ""


def _steps(value: Any, operations: int) -> list[int]:
    """A learner's list of steps, or `Wrong`."""
    wanted = GREEDY("wanted", operations=operations)
    value = several(value.tolist() if isinstance(value, np.ndarray) else value, operations, wanted)
    if missing := [place for place, step in enumerate(value) if step is None]:
        raise Wrong(GREEDY("missing", place=missing[0]))
    steps = [number(step, GREEDY("a_step")) for step in value]
    first = int(np.argmin(steps))
    GREEDY.refuse_if(
        {"place": first, "step": steps[first]},
        not_whole=not all(step.is_integer() for step in steps),
        negative=steps[first] < 0,
    )
    return [int(step) for step in steps]


GOAL = 50.0


def judge_schedule(attempt: Attempt) -> None:
    """Each operation once, in an order that can be carried out, within the goal."""
    many, processors = len(training_step.KINDS), training_step.PROCESSORS
    given = training_step.PREDECESSORS, training_step.SECONDS, processors
    wanted = SCHEDULE("wanted", processors=processors)
    answer = several(attempt.call(*given), processors, wanted)
    rows = [items(row, wanted, whole) for row in answer]
    done = [operation for row in rows for operation in row]
    known = set(range(many))
    strange = [operation for operation in done if operation not in known]
    never = sorted(known - set(done))
    twice = sorted(operation for operation in set(done) if done.count(operation) > 1)
    SCHEDULE.refuse_if(
        {"last": many - 1, "strange": strange, "never": short(never), "twice": short(twice)},
        strange=strange,
        never=never,
        twice=twice,
    )
    try:
        plan = training_step.carried_out(rows)
    except training_step.Stuck as stuck:
        place, operation = next(iter(stuck.waiting.items()))
        needs = short(training_step.PREDECESSORS[operation])
        raise Wrong(SCHEDULE("stuck", place=place, one=operation, needs=needs)) from stuck
    values = {"took": plan.makespan, "goal": GOAL}
    SCHEDULE.refuse_if(values, too_slow=plan.makespan > GOAL)
    ends = plan.start + plan.duration
    last = dict(enumerate(ends))  # by operation: when the last that needs its result has ended
    for operation, before in enumerate(training_step.PREDECESSORS):
        last |= {each: max(last[each], ends[operation]) for each in before}
    most = most_at_once((ends[each], last[each], 1) for each in last)
    attempt.note(plan.makespan, SCHEDULE("holds", most=most))
