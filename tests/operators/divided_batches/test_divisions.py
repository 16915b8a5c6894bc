"""Dynamic program, integer programs, fronts and brute force say the same of every random job."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from random_jobs import every_division, random_job

from ddl_teach.operators.divided_batches import dynamic, integer
from ddl_teach.operators.divided_batches.front import desirable, pareto, refusal
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division, Offer, TooLittle


def answer(divide, *question):
    """What a program answers: a division, or its refusal as a text."""
    try:
        return divide(*question)
    except TooLittle as refusal:
        return str(refusal)


def room(divisions):
    return sum(division.workspace for division in divisions)


def time(divisions):
    return sum(division.seconds for division in divisions)


@pytest.fixture
def generator():
    return np.random.default_rng(5)


@pytest.mark.slow
@pytest.mark.long
def test_both_programs_and_the_front_agree_on_three_thousand_random_jobs(generator):
    refused = cut = 0
    for _ in range(50):
        limit, feasible, best = int(generator.integers(500)), [], []
        for job in (random_job(generator) for _ in range(60)):
            by_steps = answer(dynamic.divide, job, limit)
            fitting = [division for division in desirable(job) if division.workspace <= limit]
            if isinstance(by_steps, str):
                assert not fitting
                assert by_steps == str(refusal(job, limit))
                refused += 1
                continue
            assert by_steps.batch == job.batch
            assert by_steps.workspace <= limit
            assert set(by_steps.parts) <= set(job.offers)
            assert by_steps.seconds == fitting[-1].seconds
            feasible.append(job)
            best.append(by_steps.seconds)
        by_program = integer.divide(feasible, limit)
        assert [division.batch for division in by_program] == [job.batch for job in feasible]
        assert max(division.workspace for division in by_program) <= limit
        assert [division.seconds for division in by_program] == best
        cut += sum(len(division.parts) > 1 for division in by_program)
    assert min(refused, cut) > 50  # the random jobs are of every kind


def test_brute_force_finds_the_same_front(generator):
    for _ in range(150):
        job = random_job(generator, batch=int(generator.integers(1, 8)), methods="ab")
        everything = [Division(parts) for parts in every_division(job)]
        kept = pareto([d.workspace for d in everything], [d.seconds for d in everything])
        wanted = [(everything[k].workspace, everything[k].seconds) for k in kept]
        assert [(d.workspace, d.seconds) for d in desirable(job)] == wanted
        for workspace, seconds in wanted:
            assert dynamic.divide(job, workspace).seconds == seconds


def test_a_shared_room_is_divided_as_brute_force_would(generator):
    shared = 0
    for _ in range(120):
        fronts = [desirable(random_job(generator)) for _ in range(generator.integers(1, 6))]
        if not all(fronts):
            continue
        limit = int(generator.integers(1000))
        fitting = [one for one in itertools.product(*fronts) if room(one) <= limit]
        chosen = answer(integer.share, fronts, limit)
        if isinstance(chosen, str):
            assert f"would do is {room(front[0] for front in fronts):,}" in chosen
            assert not fitting
            continue
        assert room(chosen) <= limit
        assert time(chosen) == min(map(time, fitting))
        shared += 1
    assert shared > 30


def test_the_points_of_a_front_are_those_that_nothing_dominates(generator):
    for _ in range(200):
        points = generator.integers(0, 12, (int(generator.integers(1, 40)), 2))
        kept = [tuple(point) for point in points[pareto(*points.T)]]
        assert kept == sorted(
            {
                (w, t) for w, t in map(tuple, points)
                if not any((v <= w and s <= t) and (v, s) != (w, t) for v, s in points)
            }
        )  # fmt: skip
    assert len(pareto([], [])) == 0


def test_bytes_count_to_the_last_one():
    """A solver's tolerance is a millionth of the room; one byte is much less."""
    room_of_one = 2**33
    slow, fast = Offer("slow", 1, 1.0, 0), Offer("fast", 1, 1e-6, room_of_one)
    half = Offer("half", 1, 0.5, room_of_one - 1)
    fronts = [desirable(DivisibleBatch("layer", 1, (slow, half, fast)))] * 3
    assert [d.seconds for d in fronts[0]] == [1.0, 0.5, 1e-6]
    for limit, seconds in (
        (0, 3.0),
        (room_of_one - 1, 2.5),
        (room_of_one, 2 + 1e-6),
        (2 * room_of_one - 2, 2.0),
        (2 * room_of_one - 1, 1.5 + 1e-6),
        (2 * room_of_one, 1 + 2e-6),
        (3 * room_of_one - 1, 0.5 + 2e-6),
        (3 * room_of_one, 3e-6),
        (math.inf, 3e-6),
    ):
        chosen = integer.share(fronts, limit)
        assert room(chosen) <= limit
        assert math.isclose(time(chosen), seconds, rel_tol=1e-9)


@pytest.mark.parametrize("unit", [1.0, 2.0**-30, 0.0], ids=["seconds", "nanoseconds", "none"])
def test_both_programs_agree_however_small_times_are(generator, unit):
    """Powers of two, so that sums stay exact."""
    for job in (random_job(generator) for _ in range(30)):
        offers = [replace(offer, seconds=unit * offer.seconds) for offer in job.offers]
        small = replace(job, offers=tuple(offers))
        right = answer(dynamic.divide, small, 200)
        if isinstance(right, Division):
            assert integer.divide([small], 200)[0].seconds == right.seconds


def test_microseconds_are_not_nothing():
    slow, fast = Offer("slow", 1, 1.1e-7, 0), Offer("fast", 1, 1e-7, 8)
    job = DivisibleBatch("layer", 3, (slow, fast))
    assert integer.divide([job], 8)[0].parts == (fast,) * 3
    assert integer.share([desirable(job)], 8)[0].parts == (fast,) * 3


def test_what_fits_nowhere_is_refused_with_what_would_do():
    job = DivisibleBatch("conv1", 3, (Offer("im2col", 1, 1.0, 40), Offer("fft", 2, 1.0, 25)))
    small = DivisibleBatch("conv0", 1, (Offer("im2col", 1, 1.0, 0),))
    odd = DivisibleBatch("conv2", 3, (Offer("fft", 2, 1.0, 25),))
    for divide in (dynamic.divide, lambda job, limit: integer.divide([small, job], limit)[1]):
        for limit in (39, 10):
            words = f"conv1: .* 3 examples .* {limit} bytes; .* would do is 40"
            with pytest.raises(TooLittle, match=words) as refused:
                divide(job, limit)
        assert divide(job, refused.value.needed).workspace == 40
        with pytest.raises(TooLittle, match=r"no sizes among \[2\] add up to 3 .* of 1 example"):
            divide(odd, 1e9)
    with pytest.raises(TooLittle, match=r"2 jobs do not fit into 79 bytes.* would do is 80"):
        integer.share([desirable(job)] * 2, 79)


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (("fft", 0, 1.0, 8), "size must be"),
        (("fft", 1, math.nan, 8), "seconds must be zero or more"),
        (("fft", 1, -1.0, 8), "seconds must be zero or more"),
        (("fft", 1, 1.0, -8), "bytes must be zero or more"),
        (("fft", 1, 1.0, 0.5), "bytes must be a whole number"),
    ],
)
def test_an_offer_that_makes_no_sense_is_refused(offer, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Offer(*offer)


def test_a_division_reads_as_people_say_it():
    fft, im2col = Offer("fft", 8, 0.25, 100), Offer("im2col", 4, 0.5, 10)
    division = Division((fft, fft, im2col))
    assert str(division) == "2 x fft of 8 + im2col of 4"
    assert (division.batch, division.seconds, division.workspace) == (20, 1.0, 100)
