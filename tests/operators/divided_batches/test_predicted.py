"""Costs by formula: offers, and plans made of them, for processors that nobody has."""

from dataclasses import replace

import pytest

from ddl_teach.operators.convolution.methods import METHODS
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.operators.divided_batches import predicted
from ddl_teach.operators.divided_batches.dynamic import divide
from ddl_teach.operators.divided_batches.front import desirable
from ddl_teach.theory.convolution_cost import cost
from ddl_teach.theory.convolution_time import Rates, seconds

RATES = Rates(product=10e12, transform=2e12, bandwidth=500e9)
LAYER = Convolution(32, 64, 27, 27, 96, (5, 5), (1, 1), (2, 2))


@pytest.mark.parametrize("direction", predicted.predict(LAYER, RATES, launch=1e-3))
def test_an_offer_is_the_formula_for_a_smaller_batch_and_a_launch(direction):
    offers = predicted.predict(LAYER, RATES, launch=1e-3)[direction].offers
    assert len(offers) == len(METHODS) * 6
    counted = [cost(offer.method, replace(LAYER, batch=offer.size), direction) for offer in offers]
    times = [1e-3 + seconds(each, RATES) for each in counted]
    assert [offer.seconds for offer in offers] == pytest.approx(times)
    assert [offer.workspace for offer in offers] == [4 * each.held for each in counted]


def test_a_launch_keeps_pieces_from_getting_ever_smaller():
    def pieces(launch, limit):
        job = predicted.predict(LAYER, RATES, launch=launch, methods=["im2col"])["forward"]
        return len(divide(job, limit).parts)

    least = 2**23
    assert pieces(1e-5, least) == pieces(0, least) == 32
    assert pieces(1e-5, 4 * least) == 8
    assert pieces(1e-5, 2**40) == 1


def test_what_a_method_refuses_is_not_offered():
    job = predicted.predict(replace(LAYER, stride=(2, 2)), RATES)["forward"]
    assert {offer.method for offer in job.offers} == {"direct", "im2col", "fft"}
    assert set(job.refusals) == {"winograd_2x2", "winograd_4x4"}
    assert "stride" in job.refusals["winograd_4x4"]


def test_a_plans_time_is_that_of_its_pieces():
    jobs = predicted.predict(LAYER, RATES, launch=2e-5)
    divisions = {"conv": {direction: desirable(job)[1] for direction, job in jobs.items()}}
    total = sum(division.seconds for division in divisions["conv"].values())
    found = predicted.seconds_of(divisions, {"conv": LAYER}, RATES, launch=2e-5)
    assert found == pytest.approx(total)
