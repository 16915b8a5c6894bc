"""Flows: many messages on the same wires, and how much of each wire each of them gets.

A message under way is a fluid: it flows at a constant rate until some flow starts or ends. Rates
are max-min fair: none can grow without taking from a flow that has no more. So every flow has a
*bottleneck*, a full link on which no other flow is faster; that is what the tests check.

    k flows over one link of bandwidth B: each flows at B / k, and n bytes take k * n / B

Progressive filling finds these rates: all flows grow together until a link is full; its flows stop
there and the others go on. Bertsekas and Gallager, "Data networks", 1987, section 6.5. Not
modelled: queues, packets, and the time that real protocols need to find their rates.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, inf
from operator import attrgetter
from typing import Any

import numpy as np

# Rates and ends of flows that differ by less are the same number, but for rounding. Without this,
# flows that end together on paper end one rounding error apart, each with a new sharing-out.
SAME = 1e-12

# A change that moves more flows than this, and than this part of all, is left to NumPy.
FEW, PART = 16, 64


def max_min_rates(paths: np.ndarray, capacities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The max-min fair rate of each flow, and the number of its bottleneck. Column f of `paths`
    holds the links that flow f crosses; a shorter path is filled up with the number of a link of
    infinite capacity. The order of the columns changes nothing, to the bit."""
    if len(capacities) > 8 * paths.size:
        used, paths = np.unique(paths, return_inverse=True)
        rates, bottlenecks = max_min_rates(paths, capacities[used])
        return rates, used[bottlenecks]
    left = capacities.copy()
    rates = np.empty(paths.shape[1])
    bottlenecks = np.empty(paths.shape[1], dtype=np.int64)
    growing = np.arange(paths.shape[1])
    while len(growing):
        flows = np.bincount(paths.ravel(), minlength=len(left))
        share = left / np.maximum(flows, 1)
        offered = share[paths]
        rate = offered.min(axis=0)
        # A link is full when all its flows are content with an equal share of it, none being held
        # back more elsewhere. Other links' shares only grow when these flows stop, so all links
        # that are full by this rule are final at once.
        content = rate >= offered * (1 - SAME)
        full = np.bincount(paths[content], minlength=len(left)) == flows
        held = full[paths]
        stopped = np.flatnonzero(held.any(axis=0))
        rates[growing[stopped]] = rate[stopped]
        bottlenecks[growing[stopped]] = paths[held.argmax(axis=0)[stopped], stopped]
        # In the order of size, since sums in the order of the columns would round differently.
        stopped = stopped[np.argsort(rate[stopped])]
        taken = np.broadcast_to(rate[stopped], (len(paths), len(stopped)))
        left -= np.bincount(paths[:, stopped].ravel(), taken.ravel(), minlength=len(left))
        going = np.flatnonzero(~held.any(axis=0))
        growing, paths = growing[going], paths.take(going, axis=1)
    return rates, bottlenecks


class Agenda(dict[float, list[Any]]):
    """What happens at which time: `agenda[time].append(...)`; `times` is a heap of them."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __missing__(self, time: float) -> list[Any]:
        heapq.heappush(self.times, time)
        return self.setdefault(time, [])

    def pop_earliest(self) -> list[Any]:
        """All that is to happen at the earliest time."""
        return self.pop(heapq.heappop(self.times))


@dataclass(slots=True, eq=False)
class _Flow:
    """A flow under way; `nbytes` are still to come at the time `since`, from when `rate` holds."""

    name: Any
    path: tuple[int, ...]
    nbytes: float
    since: float
    number: int
    rate: float = 0.0
    bottleneck: int | None = None
    end: float = inf
    alone: bool = False


class Flows:
    """The flows under way on links of the given capacities (bytes per second), in fluid time.

    The owner of the clock starts flows, asks when the next one ends, and advances to that time or
    an earlier one, never back; no path crosses a link twice. Latency is not known here: a message
    with latency starts to flow, or counts as arrived, that much later.
    """

    def __init__(self, capacities: Sequence[float] | np.ndarray) -> None:
        self._capacities = [float(capacity) for capacity in capacities]
        self._padded = np.array([*self._capacities, inf])  # for paths filled up with no link
        self._now = 0.0
        self._started = 0
        self._instant: list[Any] = []  # flows that nothing holds back: they end at once
        # Sets are dicts here, because sets have no order and every run must be the same.
        self._flows: dict[_Flow, None] = {}
        # A flow is alone while no other crosses its links: it has all of the narrowest, and there
        # is nothing to compute. Once it meets another, it stays with those that share links.
        self._alone: dict[int, _Flow] = {}
        self._on_link: dict[int, dict[_Flow, None]] = {}
        self._changed: dict[int, None] = {}  # links shared by others than when rates were found
        self._ends = Agenda()  # void where the flow's end is another by now

    def __len__(self) -> int:
        """How many flows are under way."""
        return len(self._flows) + len(self._instant)

    def start(self, flow: Any, path: tuple[int, ...], nbytes: float, now: float) -> None:
        """From `now` on let `nbytes` flow over the links of `path`; `advance` returns `flow`."""
        if now != self._now:
            self._move(now)
        narrowest = min([self._capacities[link] for link in path]) if path else inf
        if nbytes == 0 or narrowest == inf:
            self._instant.append(flow)
            return
        started = _Flow(flow, path, nbytes, now, self._started)
        self._started += 1
        self._flows[started] = None
        if not self._alone.keys().isdisjoint(path):
            for met in {self._alone[link]: None for link in path if link in self._alone}:
                met.alone = False
                met.bottleneck = min(met.path, key=self._capacities.__getitem__)
                for link in met.path:
                    del self._alone[link]
                    self._on_link.setdefault(link, {})[met] = None
        elif self._on_link.keys().isdisjoint(path):
            started.alone = True
            started.rate = narrowest
            started.end = now + nbytes / narrowest
            self._ends[started.end].append(started)
            for link in path:
                self._alone[link] = started
            return
        for link in path:
            self._on_link.setdefault(link, {})[started] = None
            self._changed[link] = None

    def next_time(self) -> float | None:
        """When the next flow ends if none starts before; None when no flow is under way."""
        if self._instant:
            return self._now
        self._share_out()
        ends, times = self._ends, self._ends.times
        while times and not any(flow.end == times[0] for flow in ends[times[0]]):
            ends.pop_earliest()
        return max(self._now, times[0]) if times else None

    def advance(self, until: float) -> list[Any]:
        """Go to time `until`, at most `next_time()`; give the flows that end then, by start."""
        self._move(until)
        ended, self._instant = self._instant, []
        self._share_out()
        due, last, times = [], until + SAME * abs(until), self._ends.times
        while times and times[0] <= last:
            end = times[0]
            for flow in self._ends.pop_earliest():
                if flow.end == end:
                    due.append(flow)
                    flow.end = inf
        due.sort(key=attrgetter("number"))
        for flow in due:
            ended.append(flow.name)
            del self._flows[flow]
            if flow.alone:
                for link in flow.path:
                    del self._alone[link]
                continue
            for link in flow.path:
                self._changed[link] = None
                del self._on_link[link][flow]
                if not self._on_link[link]:
                    del self._on_link[link]
        return ended

    def rates(self) -> list[tuple[Any, float]]:
        """Each flow with its rate in bytes per second, by start: for pictures of congestion."""
        self._share_out()
        return [(flow.name, flow.rate) for flow in self._flows]

    def _move(self, time: float) -> None:
        """Set the clock, once all that started before has got its rate."""
        self._share_out()
        self._now = time

    def _share_out(self) -> None:
        """Give every flow its fair rate, from now on."""
        if not self._changed:
            return
        shared: Iterable[tuple[_Flow, float, int]] | None = self._repair()
        if shared is None:  # all flows that share links are computed anew
            flows = [flow for flow in self._flows if not flow.alone]
            longest = max(len(flow.path) for flow in flows)
            fill = (len(self._capacities),) * longest
            paths = np.array([(flow.path + fill)[:longest] for flow in flows])
            rates, bottlenecks = max_min_rates(np.ascontiguousarray(paths.T), self._padded)
            shared = zip(flows, rates.tolist(), bottlenecks.tolist(), strict=True)
        self._changed.clear()
        for flow, rate, bottleneck in shared:
            flow.bottleneck = bottleneck
            # A flow whose rate stays keeps its end, to the bit.
            if rate != flow.rate:
                flow.nbytes = max(0.0, flow.nbytes - flow.rate * (self._now - flow.since))
                flow.since = self._now
                flow.rate = rate
                flow.end = self._now + flow.nbytes / rate
                self._ends[flow.end].append(flow)
        if len(self._ends) > 4 * len(self._flows) + FEW:
            self._ends = Agenda()
            for flow in self._flows:
                self._ends[flow.end].append(flow)

    def _repair(self) -> list[tuple[_Flow, float, int]] | None:
        """Rates and bottlenecks of the flows that the change moves, or None if these are many.

        Suppose that a few flows move and all others stay; fill what these leave of the links. If
        every flow then has a bottleneck, these are the max-min fair rates, whatever was supposed.
        If not, the flows without one, and those in others' way, move too.
        """
        most = FEW + len(self._flows) // PART
        moving: dict[_Flow, None] = {}
        for link in self._changed:
            for flow in self._on_link.get(link, ()):
                if flow.bottleneck is None or flow.bottleneck in self._changed:
                    moving[flow] = None
            if len(moving) > most:
                return None
        while len(moving) <= most:
            rates, left = self._fill(moving)
            late = self._unsettled(rates, left)
            if not late:
                return [(flow, rate, link) for flow, (rate, link) in rates.items()]
            moving.update(late)
        return None

    def _fill(
        self, moving: dict[_Flow, None]
    ) -> tuple[dict[_Flow, tuple[float, int]], dict[int, float]]:
        """Progressive filling for the `moving` flows, with what the others leave of their links.
        Returns the rate and bottleneck of each flow, and what is left of each link."""
        growing: dict[int, list[_Flow]] = {}
        for flow in moving:
            for link in flow.path:
                growing.setdefault(link, []).append(flow)
        left = {}
        for link in growing:
            # fsum is exact: no other order of the flows could give another sum.
            staying = fsum([flow.rate for flow in self._on_link[link] if flow not in moving])
            left[link] = self._capacities[link] - staying
        number = {link: len(flows) for link, flows in growing.items()}
        rates: dict[_Flow, tuple[float, int]] = {}
        while number:
            share, full = min([(left[link] / flows, link) for link, flows in number.items()])
            share = max(0.0, share)  # rounding may leave less than nothing
            for flow in growing[full]:
                if flow in rates:
                    continue
                rates[flow] = share, full
                for link in flow.path:
                    left[link] -= share
                    number[link] -= 1
                    if not number[link]:
                        del number[link]
        return rates, left

    def _unsettled(
        self, rates: dict[_Flow, tuple[float, int]], left: dict[int, float]
    ) -> dict[_Flow, None]:
        """Flows supposed to stay that cannot, given what was found for those that move."""
        fastest: dict[int, float] = {}
        limit = dict.fromkeys(left, inf)
        for flow, (rate, bottleneck) in rates.items():
            limit[bottleneck] = rate * (1 + SAME)
            for link in flow.path:
                fastest[link] = rate
        late: dict[_Flow, None] = {}
        for link, bytes_left in left.items():
            open_now = bytes_left > SAME * self._capacities[link]
            for flow in self._on_link[link]:
                if flow in rates:
                    continue
                no_longer_held = flow.bottleneck == link and (
                    open_now or fastest[link] > flow.rate * (1 + SAME)
                )
                if no_longer_held or flow.rate > limit[link]:
                    late[flow] = None
        return late
