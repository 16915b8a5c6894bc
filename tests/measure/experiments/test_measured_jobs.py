"""What divided batches cost by measurement: offers, rooms that hold, reasons for a division."""

import itertools

import numpy as np
import pytest
import torch

from ddl_measure.allocations import peak_allocation
from ddl_measure.experiments.divided_batches import measure, sizes_of
from ddl_teach.operators.convolution.methods import find
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import divided, planning
from ddl_teach.operators.divided_batches.offers import DivisibleBatch, Division, Offer


@pytest.fixture(autouse=True)
def one_thread():
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


PROBLEMS = [
    Convolution(5, 3, 9, 8, 4, (3, 3), (1, 1), (1, 1)),
    Convolution(4, 4, 12, 12, 6, (5, 5), (2, 2), (2, 2), groups=2),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_measured_jobs_and_their_rooms(problem):
    methods = ("direct", "im2col", "fft", "winograd_4x4")
    jobs = measure(problem, methods=methods, sizes="powers_of_two", repetitions=1)
    able = [name for name in methods if not find(name).refusal(problem)]
    sizes = sizes_of("powers_of_two", problem.batch)
    x, weight, dy = map(torch.randn, (problem.x_shape, problem.weight_shape, problem.output_shape))
    calls = {
        "forward": lambda way: way.forward(x, weight, problem),
        "input_gradient": lambda way: way.input_gradient(dy, weight, problem),
        "weight_gradient": lambda way: way.weight_gradient(x, dy, problem),
    }
    for direction, job in jobs.items():
        assert {(one.method, one.size) for one in job.offers} == {*itertools.product(able, sizes)}
        assert set(job.refusals) == set(methods) - set(able)
        assert all(one.seconds > 0 for one in job.offers)
        # Whatever is planned under a limit really stays below it.
        for limit in sorted({one.workspace for one in job.offers})[::3]:
            try:
                division = planning.dynamic.divide(job, limit)
            except ValueError:
                continue
            call, way = calls[direction], divided.Divided(divided.recipe(division))
            result = call(way).nbytes
            peak = peak_allocation(lambda: call(way))  # noqa: B023
            assert peak - result <= division.workspace <= limit


def test_sizes_are_those_of_the_policy():
    assert sizes_of("powers_of_two", 12) == [1, 2, 4, 8, 12]
    assert sizes_of("all", 3) == [1, 2, 3]
    assert sizes_of("undivided", 12) == [12]
    assert sizes_of([4, 2, 2], 12) == [2, 4]
    with pytest.raises(
        ValueError,
        match="no policy of sizes is called 'half'",
    ):
        sizes_of("half", 12)
    with pytest.raises(ValueError, match="between 1 and the batch, 12"):
        sizes_of([13], 12)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (["big"], "The fastest method for the whole batch, and it fits"),
        (["whole"], "The whole batch by fft would take 95.4 MiB, and in pieces nothing"),
        (["half", "half"], "95.4 MiB; 1.25 times as fast as the whole batch by im2col, which"),
        (["poor"] * 4, "would take 95.4 MiB, and no whole batch fits into this room"),
        (["cached", "cached"], "Even without a limit: in pieces it is 1.50 times as fast as"),
    ],
)
def test_the_report_says_why(parts, words):
    offers = {
        "big": Offer("fft", 4, 3.0, 100_000_000),
        "whole": Offer("im2col", 4, 5.0, 40_000_000),
        "half": Offer("fft", 2, 2.0, 50_000_000),
        "poor": Offer("direct", 1, 9.0, 10),
        "cached": Offer("winograd_2x2", 2, 1.0, 100_000_000),
    }
    job = DivisibleBatch("conv1", 4, tuple(offers.values()))
    assert words in planning.why(job, Division(tuple(offers[part] for part in parts)))
    assert np.isclose(offers["big"].workspace / 2**20, 95.4, rtol=1e-3)
