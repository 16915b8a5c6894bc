"""The best plan of unit 08's puzzle, and how it was found: no plan is better.

    python tests/classroom/best_known_08.py    # some seconds; prints the plan and its time

For a step of T ms each layer has a deadline: T less the forward passes from it on. For each set of
layers the program keeps the earliest time at which they can all have travelled, none too late. The
least T for which all layers can is found by halving.
"""

from ddl_class.exercises.unit_08.machine import BACKWARD, FORWARD, LAYERS, MEGABYTES

BEST = [[11], [8, 7, 6], [9, 5, 4, 3, 2], [0], [1], [10]]
ALL = 2**LAYERS - 1  # a set of layers is a number, with a bit for each


def members(layers):
    return [layer for layer in range(LAYERS) if layers >> layer & 1]


def cheapest(least=126.0, most=200.0, close=0.01):
    """A plan of the shortest step, within so many ms."""
    sizes = [sum(MEGABYTES[layer] for layer in members(layers)) for layers in range(ALL + 1)]
    travel = [1.4 + 1.75 * size for size in sizes]
    first = [0, *(min(members(layers)) for layers in range(1, ALL + 1))]
    ready = [sum(BACKWARD[layer:]) for layer in first]  # of a bucket: when its last gradient is
    after = [sum(FORWARD[layer:]) for layer in first]
    plan = []
    while most - least > close:
        middle = (least + most) / 2
        if better := in_time(middle, travel, ready, after):
            plan, most = better, middle
        else:
            least = middle
    return plan


def in_time(step, travel, ready, after):
    """A plan whose step takes so many ms at most, or nothing."""
    earliest, last = {0: 0.0}, {}
    for sent in range(ALL + 1):
        bucket = left = ALL & ~sent if sent in earliest else 0
        while bucket:
            end = max(earliest[sent], ready[bucket]) + travel[bucket]
            both = sent | bucket
            if end <= step - after[bucket] and end < earliest.get(both, step):
                earliest[both], last[both] = end, bucket
            bucket = (bucket - 1) & left
    plan, sent = [], ALL if ALL in last else 0
    while sent:
        plan.insert(0, members(last[sent]))
        sent &= ~last[sent]
    return plan


if __name__ == "__main__":
    print(cheapest())
