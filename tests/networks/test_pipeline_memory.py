"""What pipelines hold between forward and backward: bytes as the counts and formulas have them."""

import pytest
import torch
from pipeline_cases import every_schedule, played

from ddl_measure.experiments.pipelines import PassSeconds
from ddl_teach import simulate
from ddl_teach.comm import OutOfMemory
from ddl_teach.networks.memory.measured import Activations
from ddl_teach.networks.models import data
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.interleaved import interleaved
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.torch_stage import cut
from ddl_teach.networks.pipelines.train_pipeline import train
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble
from ddl_teach.theory import pipelines as theory

KEPT = 1000
COSTS = PassSeconds(1.0, 1.0, 1.0, activation_bytes=10, kept_bytes=KEPT)
RANK_COUNTS = (1, 2, 3, 4, 5, 8)
CASES = [
    pytest.param(schedule, id=f"{schedule.name} on {ranks}, {schedule.micro_batches}")
    for ranks in RANK_COUNTS
    for schedule in every_schedule(ranks, 2 * ranks)
]


@pytest.mark.parametrize("schedule", CASES)
def test_every_schedule_holds_what_its_worker_counts(schedule):
    run = played(schedule, COSTS)
    peaks = [KEPT * passed.peak for passed in run.results]
    assert [run.memory.peak(rank) for rank in range(schedule.ranks)] == peaks
    assert [run.memory.at_end(rank) for rank in range(schedule.ranks)] == [{}] * schedule.ranks


FORMULAS = {
    "GPipe": (gpipe, lambda ranks, many: theory.gpipe(ranks, many, 1.0, 2.0)),
    "1F1B": (one_f_one_b, lambda ranks, many: theory.one_f_one_b(ranks, many, 1.0, 2.0)),
    "H1": (zero_bubble, lambda ranks, many: theory.zero_bubble(ranks, many, 1.0, 1.0, 1.0)),
}


@pytest.mark.parametrize("ranks", RANK_COUNTS)
@pytest.mark.parametrize("name", FORMULAS)
def test_peaks_are_the_formulas(name, ranks):
    make, formula = FORMULAS[name]
    run = played(make(ranks, 3 * ranks), COSTS)
    peaks = [run.memory.counts_at_peak(rank)["activations"] for rank in range(ranks)]
    assert peaks == [(count, KEPT * count) for count in formula(ranks, 3 * ranks).peak]


def test_1f1b_fits_where_gpipe_does_not():
    assert played(one_f_one_b(4, 12), COSTS, memory=4 * KEPT).memory.peak() == 4 * KEPT
    with pytest.raises(OutOfMemory, match="4 activations") as caught:
        played(gpipe(4, 12), COSTS, memory=4 * KEPT)
    shortage = caught.value.shortage
    assert (shortage.rank, shortage.time) == (0, 5.0)
    assert shortage.held == {"activations": (4, 4 * KEPT)}


SIZES = (64, 24, 24, 24, 24, 24, 24, 24, 10)


def training(comm, make, micro_batches):
    torch.set_num_threads(1)
    [batch] = data.batches(data.digits(flat=True), 4 * micro_batches, 1)
    return train(comm, mlp(SIZES), [batch], make(comm.size, micro_batches)).last.peak


def saved_by_stages(stages, micro_batches):
    """The bytes that torch saves for the backward pass of one micro-batch, in each stage alone."""
    [(inputs, targets)] = data.batches(data.digits(flat=True), 4 * micro_batches, 1)
    parts, held = cut(mlp(SIZES), stages), []
    x, labels = inputs[:4], targets[:4]
    for part in parts:
        apart = [*part.parameters(), inputs, targets]
        with Activations(apart) as saved:
            y = part(x)
            loss = mean_loss(y, labels) if part is parts[-1] else y
        held.append(saved.held)
        x = y.detach().requires_grad_()
        del y, loss
    return held


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("make", [gpipe, one_f_one_b])
def test_simulated_ranks_hold_what_torch_saves(ranks, make):
    run = simulate(training, ranks, threads=True, make=make, micro_batches=6)
    each = saved_by_stages(ranks, 6)
    peaks = [peak * own for peak, own in zip(run.results, each, strict=True)]
    assert [run.memory.peak(rank) for rank in range(ranks)] == peaks


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("make", [one_f_one_b, zero_bubble, interleaved])
def test_real_ranks_hold_what_simulated_ranks_do(real, ranks, make):
    runs = [
        real(training, ranks, make=make, micro_batches=6),
        simulate(training, ranks, threads=True, make=make, micro_batches=6),
    ]
    here, there = ([run.memory.at_peak(rank) for rank in range(ranks)] for run in runs)
    assert here == there
    assert all(held["activations"] > 0 for held in here)
