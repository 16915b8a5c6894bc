"""The machine of unit 11's puzzle: one of eight GPUs, its host, and a step by a plan.

A plan has three words for each layer: what becomes of its activations, its weights and its states.

    activations   "keep" from the forward to the backward pass, compute "again", or to the "host"
    weights       "whole" on each GPU, or in "shards" that are gathered for each pass
    states        "here" on the GPU, or on the "host", where they come from for the update

Four things work side by side, each in order: the GPU, the network to the other seven, the cable to
the host, and the cable from it. When a pass begins, what the next one needs is asked for. What to
look at: the waits. Each says which of the four is too slow for what was asked of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product

GPUS = 8
NETWORK, HOST = 100e9, 50e9  # bytes a second; from and to the host each
CHOICES = {
    "activations": ("keep", "again", "host"),
    "weights": ("whole", "shards"),
    "states": ("here", "host"),
}
STATES = 6  # bytes of Adam's states for each byte of weights in half precision


@dataclass(frozen=True)
class CostedLayer:
    """What a layer costs on this machine; its backward pass takes twice the forward pass."""

    seconds: float  # of the forward pass
    activations: float  # bytes
    weights: float  # bytes, and as many of its gradient


# Milliseconds, then megabytes: early layers have large activations, late ones large weights.
LAYERS = tuple(
    CostedLayer(ms / 1e3, activations * 1e6, weights * 1e6)
    for ms, activations, weights in (
        (10, 2400, 20), (14, 2200, 40), (8, 1600, 60), (16, 1600, 120), (9, 1200, 200),
        (18, 900, 400), (12, 1000, 500), (20, 600, 800), (10, 500, 900), (16, 400, 1200),
        (8, 300, 1600), (12, 300, 2000),
    )
)  # fmt: skip
Plan = Sequence[Sequence[str]]


@dataclass(frozen=True)
class PlayedStep:
    """A step by a plan."""

    seconds: float
    held: list[tuple[float, float]]  # at which time, how many bytes
    waits: list[float]  # of each pass: those forward, then those backward, last layer first

    @property
    def peak(self) -> float:
        return max(nbytes for _, nbytes in self.held)

    def __str__(self) -> str:
        each = [f"{1e3 * wait:3.0f}" for wait in self.waits]
        many = len(each) // 2
        return (
            f"{1e3 * self.seconds:.1f} ms, at most {self.peak / 1e9:.2f} GB\n"
            f"waits in ms, layer 0 first: forward  {' '.join(each[:many])}\n"
            f"                            backward {' '.join(reversed(each[many:]))}"
        )


def play(plan: Plan, layers: Sequence[CostedLayer] = LAYERS) -> PlayedStep:
    """A step by this plan."""
    if len(plan) != len(layers) or not set(map(tuple, plan)) <= {*product(*CHOICES.values())}:
        raise ValueError("that is no plan: check('11.plan', my_plan) says what is wrong")
    return _Step(plan, layers).play()


class _Step:
    def __init__(self, plan: Plan, layers: Sequence[CostedLayer]) -> None:
        self.plan, self.layers = plan, layers
        self.gpu, self.waits = 0.0, [0.0] * 0
        self.free = {"network": 0.0, "to host": 0.0, "from host": 0.0}  # from when on
        self.changes: list[tuple[float, float]] = []
        self.left = [0.0] * len(layers)  # when a layer's activations had gone to the host
        for layer, (_, weights, states) in zip(layers, plan, strict=True):
            share = layer.weights / GPUS
            self._hold(0.0, share + (layer.weights if weights == "whole" else share))
            self._hold(0.0, STATES * share if states == "here" else 0.0)

    def _hold(self, time: float, nbytes: float) -> None:
        self.changes.append((time, nbytes))

    def _carry(self, link: str, asked: float, nbytes: float) -> tuple[float, float]:
        """When `nbytes` bytes begin to travel, and when they are there."""
        begin = max(self.free[link], asked)
        self.free[link] = begin + nbytes / (NETWORK if link == "network" else HOST)
        return begin, self.free[link]

    def _gather(self, place: int, asked: float) -> float:
        """When the layer's weights are whole."""
        layer = self.layers[place]
        if self.plan[place][1] == "whole":
            return 0.0
        begin, end = self._carry("network", asked, layer.weights * (GPUS - 1) / GPUS)
        self._hold(begin, layer.weights)
        return end

    def _fetch(self, place: int, asked: float) -> float:
        """When the layer's activations are back from the host."""
        layer = self.layers[place]
        if self.plan[place][0] != "host":
            return 0.0
        begin, end = self._carry("from host", max(asked, self.left[place]), layer.activations)
        self._hold(begin, layer.activations)
        return end

    def _begin(self, ready: float) -> float:
        """Wait for what is ready then; when the pass begins."""
        self.waits.append(max(0.0, ready - self.gpu))
        return max(ready, self.gpu)

    def play(self) -> PlayedStep:
        whole = self._gather(0, 0.0)
        for place in range(len(self.layers)):
            whole = self._forward(place, whole)
        last = len(self.layers) - 1
        ready = max(self._gather(last, self.gpu), self._fetch(last, self.gpu))
        updated = {}
        for place in range(last, -1, -1):
            ready, summed = self._backward(place, ready)
            updated[place] = self._update(place, summed)
        for place, ended in updated.items():
            if self.plan[place][1] == "whole":
                self._carry("network", ended, self.layers[place].weights * (GPUS - 1) / GPUS)
        end = max(self.gpu, *updated.values(), *self.free.values())
        self._hold(end, 0.0)  # a curve goes on to the end of the step
        held = accumulate(sorted(self.changes), lambda before, new: (new[0], before[1] + new[1]))
        return PlayedStep(end, list(held), self.waits)

    def _forward(self, place: int, whole: float) -> float:
        """One pass; when the next layer's weights will be whole."""
        layer, (activations, weights, _) = self.layers[place], self.plan[place]
        begin = self._begin(whole)
        following = self._gather(place + 1, begin) if place + 1 < len(self.layers) else 0.0
        self.gpu = begin + layer.seconds
        self._hold(begin, layer.activations)
        if activations == "host":
            _, self.left[place] = self._carry("to host", self.gpu, layer.activations)
            self._hold(self.left[place], -layer.activations)
        elif activations == "again":
            self._hold(self.gpu, -layer.activations)
        if weights == "shards":
            self._hold(self.gpu, -layer.weights)
        return following

    def _backward(self, place: int, ready: float) -> tuple[float, float]:
        """One pass; when the one before it can begin, and when this one's gradient is summed."""
        layer, (activations, weights, _) = self.layers[place], self.plan[place]
        begin, following = self._begin(ready), 0.0
        if place:
            following = max(self._gather(place - 1, begin), self._fetch(place - 1, begin))
        if activations == "again":
            self._hold(begin, layer.activations)
        self.gpu = begin + (3 if activations == "again" else 2) * layer.seconds
        self._hold(begin, layer.weights)  # its gradient
        self._hold(self.gpu, -layer.activations)
        if weights == "shards":
            self._hold(self.gpu, -layer.weights)
        _, summed = self._carry("network", self.gpu, layer.weights * (GPUS - 1) / GPUS)
        self._hold(summed, -layer.weights)
        return following, summed

    def _update(self, place: int, summed: float) -> float:
        """When this layer's part of the weights is updated."""
        nbytes = STATES * self.layers[place].weights / GPUS
        if self.plan[place][2] == "here":
            return summed
        begin, come = self._carry("from host", summed, nbytes)
        self._hold(begin, nbytes)
        _, stored = self._carry("to host", come, nbytes)
        self._hold(stored, -nbytes)
        return come
