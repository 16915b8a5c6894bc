"""Data parallelism: all ranks refuse a loss that is no mean, and train as the twin with others."""

import pytest
import torch
from loss_cases import (
    ADDS,
    CLASSES,
    NEITHER_WORDS,
    batches,
    by_half_the_batch,
    contrasting,
    examples,
    ignoring,
    mean,
    named,
    network,
    squares,
    summed,
    weighted,
)
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks import twin
from ddl_teach.networks.data_parallel import train_replicas as data_parallel
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.seeds import seed_weights
from ddl_teach.theory import ring_bytes

RANKS = (1, 2, 3, 4, 5, 8)
MORE_RANKS = RANKS[1:]


def backward_of(comm, model):
    def backward(error):
        error.backward()
        average_gradients(comm, list(model.parameters()))

    return backward


def in_parallel(comm, loss, data, model=None, pieces=1):
    model = network() if model is None else model
    torch.manual_seed(comm.rank)
    way = backward_of(comm, model)
    return data_parallel.train(comm, model, data, way, loss=loss, pieces=pieces)


def refused_in_parallel(comm, loss, data, pieces=1):
    """What this rank is told, and how far its weights have moved by then."""
    model, begin = network(), twin.copies(network().named_parameters())
    with pytest.raises(ValueError, match="this loss") as refusing:
        in_parallel(comm, loss, data, model, pieces)
    now = twin.copies(model.named_parameters())
    return str(refusing.value), twin.largest_difference(now, begin)


def check_refused(run, words):
    for told, moved in run.results:
        assert words in told
        assert moved == 0


@pytest.mark.parametrize("ranks", MORE_RANKS)
@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (summed, ADDS),
        (by_half_the_batch, ADDS),
        (nn.CrossEntropyLoss(reduction="sum"), ADDS),
        (weighted, NEITHER_WORDS),
        (contrasting, NEITHER_WORDS),
    ],
    ids=named,
)
@pytest.mark.sampled(3)
def test_all_ranks_refuse_what_is_no_mean(loss, words, ranks):
    given = {"loss": loss, "data": batches(24)}
    check_refused(simulate(refused_in_parallel, ranks, threads=True, **given), words)


@pytest.mark.parametrize("ranks", [2, 3])
def test_all_real_ranks_refuse_a_sum_that_one_of_them_has_seen(ranks, real):
    """A batch of one row: the other ranks have none, and refuse with the one that has it."""
    for rows in (1, 24):
        given = {"loss": summed, "data": batches(rows)}
        check_refused(real(refused_in_parallel, ranks, **given), ADDS)


@pytest.mark.parametrize("ranks", MORE_RANKS)
def test_ranks_without_a_row_refuse_as_well(ranks):
    run = simulate(refused_in_parallel, ranks, threads=True, loss=summed, data=batches(1))
    check_refused(run, ADDS)


@pytest.mark.parametrize("ranks", MORE_RANKS)
def test_ranks_that_find_a_mean_refuse_with_those_that_do_not(ranks):
    """Only the last rank has answers that are ignored."""
    inputs, _ = examples(8 * ranks)
    answers = torch.ones(8 * ranks, dtype=torch.int64)
    answers[-3:] = 0
    run = simulate(
        refused_in_parallel, ranks, threads=True, loss=ignoring, data=[(inputs, answers)]
    )
    check_refused(run, NEITHER_WORDS)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_sum_in_pieces_is_refused_on_one_rank_too(ranks):
    run = simulate(
        refused_in_parallel, ranks, threads=True, loss=summed, data=batches(24), pieces=3
    )
    check_refused(run, ADDS)


@pytest.mark.parametrize("loss", [summed, weighted, contrasting])
def test_of_a_whole_batch_on_one_rank_any_loss_is_right(loss):
    wanted = twin.train(network(), batches(24, 5), loss=loss)
    [mine] = simulate(in_parallel, 1, threads=True, loss=loss, data=batches(24, 5)).results
    assert twin.largest_difference(mine.parameters, wanted.parameters) == 0
    assert mine.losses == wanted.losses


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("loss", [mean, squares, nn.CrossEntropyLoss()], ids=named)
@pytest.mark.sampled(3)
def test_other_means_train_as_the_twin(loss, ranks):
    data = batches(24, 3, 23)
    wanted = twin.train(network(), data, loss=loss)
    for mine in simulate(in_parallel, ranks, threads=True, loss=loss, data=data).results:
        assert twin.largest_difference(mine.parameters, wanted.parameters) < 1e-10
        assert mine.losses == pytest.approx(wanted.losses, rel=1e-10)


def with_random_layers():
    layers = nn.Linear(CLASSES, 6), nn.BatchNorm1d(6), nn.Dropout(0.4), nn.Linear(6, CLASSES)
    model = nn.Sequential(*layers).double()
    seed_weights(model)
    return model


def both_losses(comm, data):
    """Trained with `mean_loss`, which is not looked at, and with a mean that is; bytes of each."""
    found, sent = [], [comm.ledger.bytes_sent]
    for loss in (mean_loss, mean):
        found.append(in_parallel(comm, loss, data, with_random_layers()))
        sent.append(comm.ledger.bytes_sent)
    return *found, sent[1] - sent[0], sent[2] - sent[1]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_random_layers_and_running_statistics_do_not_notice(ranks, real):
    run = real(both_losses, ranks, data=batches(24, 23))
    for rank, (known, judged, known_bytes, judged_bytes) in enumerate(run.results):
        assert twin.largest_difference(judged.parameters, known.parameters) == 0
        assert twin.largest_difference(judged.buffers, known.buffers) == 0
        assert judged.losses == known.losses
        # Three numbers, once.
        assert judged_bytes - known_bytes == ring_bytes.allreduce(3, ranks, rank, 8)


def test_a_loss_is_judged_in_the_first_step_only():
    calls = []

    def counted(scores, targets):
        calls.append(len(targets))
        return mean(scores, targets)

    simulate(in_parallel, 2, threads=True, loss=counted, data=batches(24, 24, 24))
    per_rank = len(calls) / 2
    assert per_rank == 3 + 4
