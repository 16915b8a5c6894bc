"""The usual mistakes of unit 01, and words of the message that must name each."""

import math
from collections import deque


def tree_sum(numbers: int) -> int:
    raise NotImplementedError


def two_by_two(numbers: list) -> list:
    return [sum(numbers[k : k + 2]) for k in range(0, len(numbers), 2)]


def steps_first(numbers: list) -> tuple:
    total, steps = sum(numbers), 0
    while len(numbers) > 1:
        numbers, steps = two_by_two(numbers), steps + 1
    return steps, total


def returns_in_the_loop(numbers: list) -> tuple:
    while len(numbers) > 1:
        return two_by_two(numbers)[0], 1
    return numbers[0], 0


def begins_again(numbers: list) -> tuple:
    return sum(numbers), 1


def begins_at_1(numbers: list) -> tuple:
    steps, total = steps_first(numbers)
    return total, steps + 1


def counts_numbers(numbers: list) -> tuple:
    steps = 0
    while len(numbers) > 1:
        numbers = two_by_two(numbers)
        steps += len(numbers)
    return numbers[0], steps


def one_processor(predecessors: list, seconds: list, processors: int) -> list:
    return [list(range(len(seconds)))] + [[]] * (processors - 1)


def dealt_out(predecessors: list, seconds: list, processors: int) -> list:
    return [list(range(first, len(seconds), processors)) for first in range(processors)]


def backwards(predecessors: list, seconds: list, processors: int) -> list:
    return [row[::-1] for row in dealt_out(predecessors, seconds, processors)]


def without_the_last(predecessors: list, seconds: list, processors: int) -> list:
    return [row[:-1] for row in dealt_out(predecessors, seconds, processors)]


def on_all(predecessors: list, seconds: list, processors: int) -> list:
    return [list(range(len(seconds)))] * processors


def from_1(predecessors: list, seconds: list, processors: int) -> list:
    rows = dealt_out(predecessors, seconds, processors)
    return [[one + 1 for one in row] for row in rows]


def steps_of_operations(predecessors: list, seconds: list, processors: int) -> list:
    return list(range(len(seconds)))


def calls_a_stub(batch: int, inputs: int, outputs: int) -> list:
    return [(2 * batch * outputs * inputs, tree_sum(inputs))] * 3


def dot(numbers: int) -> tuple[int, int]:
    return 2 * numbers - 1, 1 + (numbers - 1).bit_length()


def layer(batch: int, inputs: int, outputs: int) -> list:
    sums = [(batch * outputs, inputs), (batch * inputs, outputs), (inputs * outputs, batch)]
    return [(entries * dot(summed)[0], dot(summed)[1]) for entries, summed in sums]


def log_of_inputs(batch: int, inputs: int, outputs: int) -> list:
    forward, (work, _), weights = layer(batch, inputs, outputs)
    return [forward, (work, forward[1]), weights]


def weights_over_inputs(batch: int, inputs: int, outputs: int) -> list:
    forward, backward, (work, _) = layer(batch, inputs, outputs)
    return [forward, backward, (work, forward[1])]


def leading_order(batch: int, inputs: int, outputs: int) -> list:
    return [(2 * batch * inputs * outputs, depth) for _, depth in layer(batch, inputs, outputs)]


def products_alone(batch: int, inputs: int, outputs: int) -> list:
    return [(batch * inputs * outputs, depth) for _, depth in layer(batch, inputs, outputs)]


def no_product_step(batch: int, inputs: int, outputs: int) -> list:
    return [(work, depth - 1) for work, depth in layer(batch, inputs, outputs)]


def chain(batch: int, inputs: int, outputs: int) -> list:
    works = [work for work, _ in layer(batch, inputs, outputs)]
    return list(zip(works, (inputs, outputs, batch), strict=True))


def other_order(batch: int, inputs: int, outputs: int) -> list:
    return layer(batch, inputs, outputs)[::-1]


def one_pair(batch: int, inputs: int, outputs: int) -> tuple:
    return layer(batch, inputs, outputs)[0]


def levels(predecessors: list) -> list:
    found = []
    for before in predecessors:
        found.append(1 + max([found[other] for other in before], default=0))
    return found


def arrows_as_work(predecessors: list) -> tuple:
    return sum(map(len, predecessors)), max(levels(predecessors))


def arrows_as_depth(predecessors: list) -> tuple:
    return len(predecessors), max(levels(predecessors)) - 1


def last_level(predecessors: list) -> tuple:
    return len(predecessors), levels(predecessors)[-1]


def last_predecessor(predecessors: list) -> tuple:
    found = []
    for before in predecessors:
        found.append(1 + (found[before[-1]] if before else 0))
    return len(predecessors), max(found)


def depth_first(predecessors: list) -> tuple:
    return max(levels(predecessors)), len(predecessors)


def work_alone(predecessors: list) -> int:
    return len(predecessors)


def nothing_returned(predecessors: list) -> None:
    levels(predecessors)


def again_and_again(predecessors: list) -> tuple:
    def level(one: int) -> int:
        return 1 + max([level(other) for other in predecessors[one]], default=0)

    return len(predecessors), max(level(one) for one in range(len(predecessors)))


def minimum(work: int, depth: int, processors: int) -> tuple:
    return min(work / processors, depth), (work - depth) / processors + depth


def brent(work: int, depth: int, processors: int) -> tuple:
    return max(work / processors, depth), work / processors + depth


def most_first(work: int, depth: int, processors: int) -> tuple:
    return (work - depth) / processors + depth, max(work / processors, depth)


def no_chain(work: int, depth: int, processors: int) -> tuple:
    return work / processors, (work - depth) / processors + depth


def scheduled(predecessors: list, processors: int, at_once: bool = False) -> list:
    """Greedy; `at_once` puts what becomes ready into the queue of the same step."""
    waiting = [len(before) for before in predecessors]
    ready = deque(one for one, many in enumerate(waiting) if not many)
    steps, step = [None] * len(predecessors), 0
    while ready:
        left, later = processors, []
        while ready and left:
            one, left = ready.popleft(), left - 1
            steps[one] = step
            for other, before in enumerate(predecessors):
                if one in before:
                    waiting[other] -= 1
                    if not waiting[other]:
                        (ready if at_once else later).append(other)
        ready.extend(later)
        step += 1
    return steps


def same_step(predecessors: list, processors: int) -> list:
    return scheduled(predecessors, processors, at_once=True)


def from_one(predecessors: list, processors: int) -> list:
    return [step + 1 for step in scheduled(predecessors, processors)]


def everybody_at_once(predecessors: list, processors: int) -> list:
    return [level - 1 for level in levels(predecessors)]


def one_by_one(predecessors: list, processors: int) -> list:
    return list(range(len(predecessors)))


def level_by_level(predecessors: list, processors: int) -> list:
    steps, begun = [0] * len(predecessors), 0
    for level in range(1, max(levels(predecessors)) + 1):
        row = [one for one, its in enumerate(levels(predecessors)) if its == level]
        for place, one in enumerate(row):
            steps[one] = begun + place // processors
        begun += math.ceil(len(row) / processors)
    return steps


def as_soon_as_the_first(predecessors: list, processors: int) -> list:
    return scheduled([before[:1] for before in predecessors], processors)


def in_order_of_doing(predecessors: list, processors: int) -> list:
    steps = scheduled(predecessors, processors)
    return [
        [one for one, its in enumerate(steps) if its == step] for step in range(max(steps) + 1)
    ]


def never_done(predecessors: list, processors: int) -> list:
    return [None if before else 0 for before in predecessors]


MISTAKES = [
    ("01.pairs", steps_first, "the sum first, then the steps"),
    ("01.pairs", returns_in_the_loop, "`return` comes after the loop"),
    ("01.pairs", begins_again, "comes before the loop"),
    ("01.pairs", begins_at_1, "they begin at 0"),
    ("01.pairs", counts_numbers, "a step counts as one"),
    ("01.pairs", lambda numbers: None, "Is a `return` missing?"),
    ("01.schedule", dealt_out, "The goal is 50 s"),
    ("01.schedule", one_processor, "takes 106 s"),
    ("01.schedule", backwards, "wait for each other"),
    ("01.schedule", without_the_last, "are never done"),
    ("01.schedule", on_all, "are done twice"),
    ("01.schedule", from_1, "numbered from 0 to 39"),
    ("01.schedule", steps_of_operations, "one for each processor"),
    ("01.tree_sum", lambda numbers: numbers - 1, "the number of additions"),
    ("01.tree_sum", lambda numbers: int(math.log2(numbers)), "You round down"),
    ("01.tree_sum", lambda numbers: numbers.bit_length(), "a power of two"),
    ("01.tree_sum", lambda numbers: math.log(numbers), "the natural logarithm"),
    ("01.tree_sum", lambda numbers: math.log2(numbers), "Steps are whole"),
    ("01.tree_sum", lambda numbers: None, "Is a `return` missing?"),
    ("01.layer", calls_a_stub, "it calls tree_sum, which is not written yet"),
    ("01.layer", log_of_inputs, "You took the logarithm of the inputs"),
    ("01.layer", weights_over_inputs, "sums over the batch"),
    ("01.layer", leading_order, "n - 1 additions, not n"),
    ("01.layer", products_alone, "only the multiplications"),
    ("01.layer", no_product_step, "the one step in which all products"),
    ("01.layer", chain, "one addition after the other"),
    ("01.layer", other_order, "in the wrong order"),
    ("01.layer", one_pair, "return three pairs"),
    ("01.count", arrows_as_work, "work counts the operations"),
    ("01.count", arrows_as_depth, "also the first one, which waits"),
    ("01.count", last_level, "need not be on the highest level"),
    ("01.count", last_predecessor, "not only for the last one"),
    ("01.count", depth_first, "in the wrong order"),
    ("01.count", work_alone, "return two numbers"),
    ("01.count", nothing_returned, "Is a `return` missing?"),
    ("01.bounds", minimum, "take max, not min"),
    ("01.bounds", brent, "counts the operations of the chain twice"),
    ("01.bounds", most_first, "in the wrong order"),
    ("01.bounds", no_chain, "never below the depth"),
    ("01.greedy", same_step, "when the step is over"),
    ("01.greedy", from_one, "The first step is 0"),
    ("01.greedy", everybody_at_once, "Each processor does one in a step"),
    ("01.greedy", one_by_one, "You do one operation in each step"),
    ("01.greedy", level_by_level, "Do not wait until a whole level is done"),
    ("01.greedy", as_soon_as_the_first, "only when all that it waits for are done"),
    ("01.greedy", in_order_of_doing, "in the order of `predecessors`"),
    ("01.greedy", never_done, "is never done"),
]
