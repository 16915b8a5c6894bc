"""Laws of a server: each request gets its tokens, steps take what the formula says, and Little."""

import numpy as np
import pytest

from ddl_teach import simulate
from ddl_teach.collectives import recursive_doubling
from ddl_teach.comm import Phantom
from ddl_teach.serving.batching import Request, poisson, serve, serve_apart, serve_on
from ddl_teach.theory.machine import Link
from ddl_teach.theory.serving import CARD, Lane, ServedModel

SMALL = ServedModel(8e9, 32, 4096, 1024)
LARGE = ServedModel(70e9, 80, 8192, 1024)


def some(count=60, rate=20.0):
    return poisson(rate, count, np.random.default_rng(3), 300, 20)


def steps_of(requests, **limits):
    """What was in each step, if each takes a second."""
    seen = []

    def take(step):
        seen.append((list(step.decoding), list(step.reading), step.cached))
        return 1.0

    return serve(requests, take, room=10_000, **limits), seen


@pytest.mark.parametrize("keep_whole", [False, True])
@pytest.mark.parametrize("chunk", [7, 100, 10**9])
@pytest.mark.parametrize("most", [1, 4, 100])
def test_every_request_reads_its_prompt_once_and_gets_each_token_once(most, chunk, keep_whole):
    requests = some()
    served, seen = steps_of(requests, most=most, chunk=chunk, keep_whole=keep_whole)
    read, written = np.zeros((2, len(requests)), int)
    for decoding, reading, cached in seen:
        assert cached == sum(requests[n].prompt + written[n] for n in decoding)
        assert 0 < len(decoding) + len(reading) <= most
        assert sum(tokens for *_, tokens in reading) <= chunk
        for number in decoding:
            written[number] += 1
        for number, start, tokens in reading:
            assert start == read[number]
            read[number] += tokens
            written[number] += read[number] == requests[number].prompt
    assert read.tolist() == [request.prompt for request in requests]
    assert written.tolist() == served.answers.tolist() == [r.answer for r in requests]
    assert np.all(served.first > served.arrival)
    assert np.all(served.last - served.first >= served.answers - 1 - 1e-9)


def test_a_short_request_does_not_wait_for_a_long_one():
    requests = [Request(0.0, 4, 50), Request(0.0, 4, 2), Request(1.5, 4, 2)]
    free, _ = steps_of(requests, most=2)
    whole, _ = steps_of(requests, most=2, keep_whole=True)
    assert free.last.tolist() == [50, 2, 4]
    assert whole.last.tolist() == [50, 2, 52]


def test_a_request_that_never_fits_is_refused():
    with pytest.raises(ValueError, match="more than the 10000 tokens"):
        steps_of([Request(0.0, 9_990, 20)], most=1)


def test_what_runs_never_needs_more_than_the_room():
    requests = some()
    room, held = 2_000, []

    def take(step):
        held.append(step.cached + sum(requests[n].prompt for n, *_ in step.reading))
        return 1e-3

    serve(requests, take, most=100, room=room)
    assert 1_000 < max(held) <= room


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_a_step_of_ranks_takes_what_the_formula_says(tensor):
    """A decode step and a prompt: simulated ranks that work and sum."""
    lane = Lane(SMALL, tensor, link=Link(2e-6, 1 / 450e9))

    def step(comm, new, cached, pairs):
        compute = lane.seconds(new, cached, pairs) - lane.messages(new)
        for _ in range(2 * SMALL.layers):
            comm.work(compute / SMALL.layers / 2)
            recursive_doubling.allreduce(comm, Phantom(2 * SMALL.width * new))

    run = simulate(step, tensor, network=lane.link.network, new=16, cached=9600, pairs=9600)
    assert run.time == pytest.approx(lane.seconds(16, 9600), rel=1e-6)


def test_few_tokens_are_bound_by_memory_and_a_prompt_by_operations():
    lane, card = Lane(SMALL), CARD
    assert lane.seconds(1, 100) == pytest.approx((16e9 + 100 * 131072) / card.bandwidth)
    prompt = (2 * 8e9 * 4000 + 4 * 32 * 4096 * 4000**2 / 2) / card.flops
    assert lane.seconds(4000, 4000, 4000**2 / 2) == pytest.approx(prompt)


def test_a_lane_has_the_room_that_the_weights_leave():
    assert Lane(LARGE).room == 0
    assert Lane(LARGE, 2).room == int(20e9 / LARGE.cache_bytes)
    assert Lane(LARGE, 2, 2).room == int(180e9 / 2 / LARGE.cache_bytes)


@pytest.mark.parametrize("lane", [Lane(SMALL), Lane(SMALL, 2, 2)])
def test_in_the_mean_as_many_are_there_as_come_in_the_time_of_one(lane):
    """Little's law: requests there = rate x time, from the events alone."""
    requests = some(300, 40.0)
    served = serve_on(lane, 1, requests, most=64, chunk=512)
    events = sorted([*((t, 1) for t in served.arrival), *((t, -1) for t in served.last)])
    times, there = np.array([t for t, _ in events]), np.cumsum([by for _, by in events])
    length = times[-1] - times[0]
    mean = np.sum(there[:-1] * np.diff(times)) / length
    per_second = len(requests) / length
    assert mean == pytest.approx(per_second * np.mean(served.last - served.arrival))


def test_apart_no_token_waits_for_the_prompt_of_another():
    requests = poisson(44.0, 300, np.random.default_rng(3), 3000, 100)
    link = Link(5e-6, 1 / 50e9)
    apart = serve_apart((Lane(SMALL), 3), (Lane(SMALL), 1), requests, link, most=64)
    mixed = serve_on(Lane(SMALL), 4, requests, most=64)
    assert apart.answers.tolist() == mixed.answers.tolist()
    assert np.quantile(apart.per_token, 0.99) < np.quantile(mixed.per_token, 0.99)
    assert np.all(apart.last >= apart.first)


def test_lengths_and_times_of_arrivals_have_their_means():
    requests = poisson(10.0, 4000, np.random.default_rng(0), 100, 30)
    assert requests[-1].arrival == pytest.approx(400, rel=0.05)
    assert np.mean([r.prompt for r in requests]) == pytest.approx(100, rel=0.06)
    assert np.mean([r.answer for r in requests]) == pytest.approx(30, rel=0.06)
