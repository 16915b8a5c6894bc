"""The machine of unit 08's puzzle: twelve layers on eight ranks, and a step by a plan.

A plan is the buckets of layers in the order in which they travel. The backward pass goes from the
last layer to the first, and buckets travel one at a time beside it. The forward pass of the next
step begins a layer when its gradient is averaged. What to look at: the waits of the forward pass.
"""

from collections.abc import Sequence

from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm, Phantom, Request

FORWARD = (6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1)  # ms
BACKWARD = (12, 12, 10, 10, 8, 8, 6, 6, 4, 4, 2, 2)  # ms
MEGABYTES = (1, 1, 2, 2, 2, 4, 8, 8, 4, 4, 20, 12)
RANKS, LAYERS = 8, 12
Bar = tuple[str, str, float, float]  # its row, its words, begin and end in ms
NETWORK = Uniform(latency=1e-4, bandwidth=1e9)


def step(comm: Comm, plan: Sequence[Sequence[int]]) -> float:
    """A backward pass and the next forward pass, with each layer in one bucket; its seconds."""
    line, left, ready = comm.line(), list(plan), set[int]()
    requests: dict[int, Request] = {}
    begun = comm.now()  # to make a line ranks have met
    for layer in reversed(range(LAYERS)):
        with comm.span(f"{layer} back"):
            comm.work(seconds=BACKWARD[layer] / 1e3)
        ready.add(layer)
        while left and ready.issuperset(left[0]):
            bucket = left.pop(0)
            flat = Phantom(sum(MEGABYTES[member] for member in bucket) * 10**6)
            requests |= dict.fromkeys(bucket, line.start(ring.allreduce, flat))
    for layer in range(LAYERS):
        requests[layer].wait()
        with comm.span(str(layer)):
            comm.work(seconds=FORWARD[layer] / 1e3)
    return comm.now() - begun


def bars(plan: Sequence[Sequence[int]]) -> list[Bar]:
    """The same step by the formula: what the rank and the line do, and when."""
    now, drawn = 0.0, list[Bar]()

    def work(layer: int, seconds: float) -> float:
        drawn.append(("work", str(layer), now, now + seconds))
        return now + seconds

    ready, end, at = dict[int, float](), 0.0, dict[int, float]()
    for layer in reversed(range(LAYERS)):
        now = ready[layer] = work(layer, BACKWARD[layer])
    for bucket in plan:
        begin = max([end, *(ready[layer] for layer in bucket)])
        size = sum(MEGABYTES[layer] for layer in bucket)
        end = begin + 2 * (RANKS - 1) * (1e3 * NETWORK.latency + size / RANKS)
        drawn.append(("messages", " ".join(map(str, bucket)), begin, end))
        at |= dict.fromkeys(bucket, end)
    for layer in range(LAYERS):
        now = max(now, at.get(layer, now))
        now = work(layer, FORWARD[layer])
    return drawn
