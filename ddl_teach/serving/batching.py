"""Which requests run in the next step: those that come in and go out between steps.

A batch that is kept whole waits for its longest answer, and new requests wait for the batch.
Continuous batching asks before each step who is done, and lets the next in. A long prompt delays
all others in its step; so it may be read in chunks. Yu et al., "Orca: a distributed serving system
for transformer-based generative models", OSDI 2022; Agrawal et al., "Taming throughput-latency
tradeoff in LLM inference with Sarathi-Serve", OSDI 2024.
What to look at: `take` says how long a step takes. A formula answers, or ranks that do the step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from ddl_teach.theory.machine import Link
from ddl_teach.theory.serving import Lane


@dataclass(frozen=True)
class Request:
    """When it comes, and how many tokens its prompt and its answer have. If its prompt was read on
    other ranks it is `cached`: `answer` is then what follows the first token."""

    arrival: float
    prompt: int
    answer: int
    cached: bool = False


@dataclass(frozen=True)
class Step:
    """One pass through the model. Requests in `decoding` get their next token. `reading` has
    (request, begin, tokens) of prompts. `cached`: tokens of `decoding` in the cache afterwards."""

    decoding: list[int]
    reading: list[tuple[int, int, int]]
    cached: int


@dataclass(frozen=True)
class Served:
    """When each request came, had its first and its last token, and its answer's length."""

    arrival: np.ndarray
    first: np.ndarray
    last: np.ndarray
    answers: np.ndarray

    @classmethod
    def of(cls, requests: Sequence[Request], first: np.ndarray, last: np.ndarray) -> "Served":
        arrivals = np.array([request.arrival for request in requests])
        return cls(arrivals, first, last, np.array([request.answer for request in requests]))

    @property
    def to_first(self) -> np.ndarray:
        """Seconds from a request to its first token."""
        waited: np.ndarray = self.first - self.arrival
        return waited

    @property
    def per_token(self) -> np.ndarray:
        """Seconds for each later token."""
        each: np.ndarray = (self.last - self.first) / np.maximum(1, self.answers - 1)
        return each


def serve(
    requests: Sequence[Request], take: Callable[[Step], float], *, most: int,
    room: int, chunk: int = 10**9, keep_whole: bool = False,
) -> Served:  # fmt: skip
    """Serve requests in the order in which they come: a limited number at once, with `room` tokens
    of cache, and `chunk` tokens of prompts a step. `keep_whole`: a batch ends before the next
    begins. It knows how long answers will be; a server that does not must sometimes evict."""
    for request in requests:
        if request.prompt + request.answer > room:
            raise ValueError(f"{request} needs more than the {room} tokens of the whole cache")
    first, last = np.empty((2, len(requests)))
    unread: dict[int, int] = {}  # requests, and how much of its prompt each has read
    decoding: list[int] = []
    ends: list[tuple[int, int]] = []  # the last step of each request that decodes
    now, entered, free, steps, cached = 0.0, 0, room, 0, 0
    while decoding or unread or entered < len(requests):
        may_enter = not (keep_whole and (decoding or unread))
        while may_enter and entered < len(requests) and len(decoding) + len(unread) < most:
            request = requests[entered]
            if request.arrival > now or request.prompt + request.answer > free:
                break
            free -= request.prompt + request.answer
            if request.cached:
                decoding.append(entered)
                cached += request.prompt
                heappush(ends, (steps + request.answer, entered))
            else:
                unread[entered] = 0
            entered += 1
        if not decoding and not unread:
            now = requests[entered].arrival
            continue
        reading, left = [], chunk
        for number, start in unread.items():
            if tokens := min(requests[number].prompt - start, left):
                reading.append((number, start, tokens))
                left -= tokens
        cached += len(decoding)
        now += take(Step(decoding, reading, cached))
        steps += 1
        while ends and ends[0][0] == steps:
            number = heappop(ends)[1]
            decoding.remove(number)
            last[number] = now
            request = requests[number]
            free += request.prompt + request.answer
            cached -= request.prompt + request.answer - (not request.cached)
        for number, start, tokens in reading:
            request = requests[number]
            unread[number] = start + tokens
            if unread[number] == request.prompt:
                del unread[number]
                # The end of the prompt gives the first token; the others follow, one a step.
                first[number] = last[number] = now
                if request.answer > 1:
                    decoding.append(number)
                    cached += request.prompt
                    heappush(ends, (steps + request.answer - 1, number))
                else:
                    free += request.prompt + request.answer
    return Served.of(requests, first, last)


def by_formula(lane: Lane) -> Callable[[Step], float]:
    """How long a step takes there."""

    def take(step: Step) -> float:
        new, cached, pairs = len(step.decoding), step.cached, float(step.cached)
        for _, start, tokens in step.reading:
            new, cached = new + tokens, cached + start + tokens
            pairs += tokens * (start + (tokens + 1) / 2)
        return lane.seconds(new, cached, pairs)

    return take


def serve_on(
    lane: Lane, replicas: int, requests: Sequence[Request], *, most: int, chunk: int = 10**9
) -> Served:
    """Serve on `replicas` copies of a pipeline, each with `lane.pipeline` lanes, in turn."""
    lanes = replicas * lane.pipeline
    first, last = np.empty((2, len(requests)))
    for own in range(min(lanes, len(requests))):
        mine, take = requests[own::lanes], by_formula(lane)
        part = serve(mine, take, most=most, room=lane.room, chunk=chunk)
        first[own::lanes], last[own::lanes] = part.first, part.last
    return Served.of(requests, first, last)


def serve_apart(
    readers: tuple[Lane, int], writers: tuple[Lane, int], requests: Sequence[Request], link: Link,
    *, most: int,
) -> Served:  # fmt: skip
    """Prompts are read on some replicas of a lane and answers written on others; caches travel
    between them, on a link of each reading card. Zhong et al., "DistServe", OSDI 2024."""
    lane, replicas = readers
    prompts = [replace(request, answer=1) for request in requests]
    first = serve_on(lane, replicas, prompts, most=most).first
    nbytes = lane.model.cache_bytes * np.array([request.prompt for request in requests])
    moved = first + link.latency + nbytes / lane.tensor * link.per_byte
    order = [at for at in np.argsort(moved) if requests[at].answer > 1]
    caches = [
        Request(moved[at], requests[at].prompt, requests[at].answer - 1, cached=True)
        for at in order
    ]
    last = first.copy()
    last[order] = serve_on(*writers, caches, most=most).last
    return Served.of(requests, first, last)


def poisson(
    rate: float, requests: int, generator: np.random.Generator, prompt: float, answer: float
) -> list[Request]:
    """Requests that come independently, `rate` a second, with geometric lengths of these means."""
    arrivals = np.cumsum(generator.exponential(1 / rate, requests))
    lengths = (generator.geometric(1 / mean, requests) for mean in (prompt, answer))
    return [Request(*each) for each in zip(arrivals, *lengths, strict=True)]
