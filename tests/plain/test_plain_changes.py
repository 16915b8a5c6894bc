"""The comparisons of this folder can fail: a usual mistake in a plain file is noticed."""

import importlib
from functools import partial

import pytest
import test_plain_checkpoints as checkpoints
import test_plain_compression as compression
import test_plain_memory_and_context as memory
import test_plain_pipelines as pipelines
import test_plain_search as search
import test_plain_servers as servers
import test_plain_training as training
from comparing import plain

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate

RANKS = 5
run = partial(simulate, ranks=RANKS)


def at_random_times(name):
    servers.test_whatever_the_gradients_take_it_trains_as_its_product(RANKS, name)


# Of each file a line, what a usual mistake makes of it, and the test that notices.
CHANGES = {
    "gpipe": (
        "comm.isend(dx, comm.rank - 1)",
        "comm.isend(dx / len(inputs), comm.rank - 1)",
        lambda _: pipelines.test_it_trains_as_its_product(run, RANKS, "gpipe"),
    ),
    "one_f_one_b": (
        "stages - 1 - stage",
        "stages - stage",
        lambda _: pipelines.test_it_works_in_the_order_of_its_product(RANKS, "one_f_one_b", 7),
    ),
    "message_driven": (
        "backward_done + in_flight",
        "backward_done + in_flight + 1",
        lambda _: pipelines.test_no_more_than_the_limit_are_in_flight(RANKS, 2),
    ),
    "sharded_optimizer": (
        "moment += mean",
        "moment = mean",
        lambda _: memory.test_a_sharded_optimizer_trains_as_its_product(run, RANKS),
    ),
    "ring_attention": (
        "output = shrink * output",
        "output = output",
        lambda _: memory.test_ring_attention_and_its_gradients_are_those_of_its_product(
            run, RANKS, 13
        ),
    ),
    "experts": (
        "p.max(axis=1)[by_expert, None] * answers",
        "answers",
        lambda _: memory.test_experts_answer_as_those_of_their_product(run, RANKS),
    ),
    "synchronous_sgd": (
        "total / comm.size",
        "total",
        lambda _: training.test_it_trains_as_its_product(run, RANKS, "synchronous_sgd"),
    ),
    "parameter_server": (
        "total / len(workers)",
        "total",
        lambda _: at_random_times("parameter_server"),
    ),
    "asynchronous_server": (
        "weights -= rate * arriving\n        comm.send(weights, worker)",
        "comm.send(weights, worker)\n        weights -= rate * arriving",
        lambda _: at_random_times("asynchronous_server"),
    ),
    "stale_synchronous": (
        "<= bound",
        "<= bound + 1",
        lambda _: at_random_times("stale_synchronous, bound 1"),
    ),
    "backup_workers": (
        "total / len(in_time)",
        "total / workers",
        lambda _: at_random_times("backup_workers"),
    ),
    "hogwild": (
        "shared[touched] -= rate * values",
        "shared[touched] = weights[touched] - rate * values",
        lambda _: training.test_hogwild_in_turn_trains_as_its_product(
            partial(run, network=TwoLevel(RANKS)), RANKS
        ),
    ),
    "local_sgd": (
        "(step + 1) % period == 0",
        "step % period == 0",
        lambda _: training.test_it_trains_as_its_product(run, RANKS, "local_sgd, period 3"),
    ),
    "elastic_averaging": (
        "centre += pull",
        "centre += pull / 2",
        lambda _: at_random_times("elastic_averaging, period 3"),
    ),
    "gossip": (
        "slope = gradient(weights, comm.rank, comm.size, step)\n        mix(comm, weights)",
        "mix(comm, weights)\n        slope = gradient(weights, comm.rank, comm.size, step)",
        lambda _: training.test_it_trains_as_its_product(run, RANKS, "gossip"),
    ),
    "top_k_error_feedback": (
        "residual[places] = 0",
        "residual[:] = 0",
        lambda _: compression.test_it_averages_as_its_product(run, RANKS, "top_k_error_feedback"),
    ),
    "one_bit": (
        "residual -= decode(means, bits, len(residual))",
        "residual[:] = 0",
        lambda _: compression.test_it_averages_as_its_product(run, RANKS, "one_bit"),
    ),
    "qsgd": (
        "scaled + random.random(len(x))",
        "scaled + 0.5",
        lambda _: compression.test_the_expectation_of_qsgd_is_the_vector(),
    ),
    "successive_halving": (
        "trials * least // len(entered)",
        "least",
        lambda _: search.test_successive_halving_decides_as_its_product(run, (27, 3, 2)),
    ),
    "population_based": (
        "explore(settings[parent], child, generation)",
        "explore(settings[child], child, generation)",
        lambda _: search.test_a_population_trains_as_its_product(run, search.PLANS[0]),
    ),
    "distillation": (
        "soft * temperature * (softened - q)",
        "soft * (softened - q)",
        lambda _: search.test_distillation_has_the_loss_and_gradient_of_its_product(
            run, RANKS, 3.0, 0.9
        ),
    ),
    "checkpoint_agreement": (
        "digest() == file[:32]",
        "digest() > b''",
        lambda folder: checkpoints.test_it_is_the_newest_step_that_all_have_whole(8, 1, folder),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_is_noticed(name, monkeypatch, tmp_path):
    old, new, comparison = CHANGES[name]
    mistaken = plain(name, (old, new))
    module = importlib.import_module(f"ddl_teach.plain.{name}")
    for known, function in vars(module).items():
        if getattr(function, "__module__", None) == module.__name__ and callable(function):
            # Whoever has imported the function before runs the changed one, too.
            monkeypatch.setattr(function, "__code__", getattr(mistaken, known).__code__)
    with pytest.raises(AssertionError):
        comparison(tmp_path)
