"""Pipelines: all stages refuse a loss that is no mean, and train as the twin with others."""

import copy
import math

import pytest
from loss_cases import (
    ADDS,
    NEITHER_WORDS,
    batches,
    contrasting,
    mean,
    named,
    network,
    squares,
    summed,
)
from torch import nn

from ddl_teach import simulate
from ddl_teach.networks import twin
from ddl_teach.networks.pipelines import train_pipeline as pipelines
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.message_driven import message_driven
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.zero_bubble import zero_bubble

RANKS = (1, 2, 3, 4, 5, 8)


def schedules(ranks, micro_batches):
    kinds = [one_f_one_b, zero_bubble, message_driven, *([gems] if ranks > 1 else [])]
    return [kind(ranks, micro_batches) for kind in kinds]


def refused_in_pipelines(comm, loss, micro_batches):
    """What this rank is told under each schedule, and how far its weights have moved by then."""
    found = []
    for schedule in schedules(comm.size, micro_batches):
        model = network(comm.size)
        begin = twin.copies(model.named_parameters())
        with pytest.raises(ValueError, match="this loss") as refusing:
            pipelines.train(comm, model, batches(24, 24), schedule, loss=loss)
        now = twin.copies(model.named_parameters())
        found.append((str(refusing.value), twin.largest_difference(now, begin)))
    return found


def check_all_refused(run, words):
    for told, moved in (one for found in run.results for one in found):
        assert words in told
        assert moved == 0


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    ("loss", "words"),
    [(summed, ADDS), (contrasting, NEITHER_WORDS), (nn.CrossEntropyLoss(reduction="sum"), ADDS)],
    ids=named,
)
@pytest.mark.sampled(9)
def test_all_stages_refuse_what_is_no_mean(loss, words, ranks):
    given = {"loss": loss, "micro_batches": 4 if ranks < 5 else 8}
    check_all_refused(simulate(refused_in_pipelines, ranks, threads=True, **given), words)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.sampled(2)
def test_all_real_stages_refuse_a_sum(ranks, real):
    for micro_batches in (4, 24):
        given = {"loss": summed, "micro_batches": micro_batches}
        check_all_refused(real(refused_in_pipelines, ranks, **given), ADDS)


def in_pipelines(comm, loss, micro_batches, data):
    return [
        pipelines.train(comm, network(comm.size), copy.deepcopy(data), schedule, loss=loss)
        for schedule in schedules(comm.size, micro_batches)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("loss", [mean, squares, nn.CrossEntropyLoss()], ids=named)
@pytest.mark.sampled(6)
def test_other_means_train_as_the_twin_in_pipelines(loss, ranks):
    data = batches(24, 23, 19)
    wanted = twin.train(network(ranks), data, loss=loss)
    given = {"loss": loss, "micro_batches": 4 if ranks < 5 else 8, "data": data}
    results = simulate(in_pipelines, ranks, threads=True, **given).results
    for shares in zip(*results, strict=True):
        whole = pipelines.together(shares)
        assert twin.largest_difference(whole.parameters, wanted.parameters) < 1e-10
        assert whole.losses == pytest.approx(wanted.losses, rel=1e-10)


@pytest.mark.parametrize("ranks", RANKS)
def test_of_one_micro_batch_a_sum_is_right(ranks):
    def program(comm):
        one = one_f_one_b(comm.size, 1)
        return pipelines.train(comm, network(comm.size), batches(24, 5), one, loss=summed)

    wanted = twin.train(network(ranks), batches(24, 5), loss=summed)
    whole = pipelines.together(simulate(program, ranks, threads=True).results)
    assert twin.largest_difference(whole.parameters, wanted.parameters) < 1e-10
    assert whole.losses == pytest.approx(wanted.losses, rel=1e-10)
    assert math.isfinite(whole.losses[-1])
