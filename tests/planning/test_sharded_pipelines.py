"""Stages 2 and 3 in a pipeline: what the planner adds up, beside ranks that send and wait."""

from dataclasses import replace

import pytest

from benchmarks.published.runs import read_runs
from benchmarks.published.step_time import plan_of
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import ring
from ddl_teach.networks.pipelines.instructions import Forward
from ddl_teach.networks.pipelines.one_f_one_b import order
from ddl_teach.planning.explain import explained
from ddl_teach.planning.memory import held_bytes
from ddl_teach.planning.plans import planned, rank_plans
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import Accelerator, ParallelPlan, TrainingJob, TransformerSizes
from ddl_teach.planning.step_time import FITTED, exposed_gradients, held_weights, step_time
from ddl_teach.theory.machine import Cluster, Link

LAYERS = 6  # of a rank
LLAMA = TrainingJob(MODELS["llama3-405b"], ACCELERATORS["H100"], 8192, 2048)
EIGHT = TrainingJob(MODELS["llama3-8b"], ACCELERATORS["H100"], 8192, 64)
IDEAL = replace(
    FITTED, h100=1.0, attention=1.0, number_by_number=0.0, between_nodes=1.0, memory=1e9
)  # fmt: skip


def job_of(rate: float) -> TrainingJob:
    """A model of four stages, on ranks that each have a card of this rate."""
    device = Accelerator("ideal", 1e14, 1e12, node_rate=rate, ranks_a_node=1)
    return TrainingJob(TransformerSizes(4 * LAYERS, 4096, 32, 16384, 1, 32), device, 2048, 32)


def one_step(comm, stages, turns, sharding, forward, nbytes):
    """1F1B; weights of the next layer are gathered, and gradients of the last one scattered, while
    a layer is computed."""
    stage = comm.rank % stages
    pipe, data = comm.split(comm.rank // stages), comm.split(stage)
    part = Phantom(int(nbytes / LAYERS))
    comm.barrier()
    begun = comm.now()

    def layers(seconds, backward):
        gathers = sharding == 3
        gathered = data.background(ring.allgather, part) if gathers else None
        scattered = None
        for layer in range(LAYERS):
            if gathers:
                gathered.wait()
                gathered = data.background(ring.allgather, part) if layer + 1 < LAYERS else None
            comm.work(seconds=seconds / LAYERS)
            if backward:
                if scattered:
                    scattered.wait()
                scattered = data.background(ring.reduce_scatter, part)
        if scattered:
            scattered.wait()

    for instruction in order(stage, stages, turns):
        ahead = isinstance(instruction, Forward)
        source, to = (stage - 1, stage + 1) if ahead else (stage + 1, stage - 1)
        if 0 <= source < stages:
            pipe.recv(Phantom(8), source)
        layers(forward if ahead else 2 * forward, not ahead)
        if 0 <= to < stages:
            pipe.isend(Phantom(8), to)
    return comm.now() - begun


def simulated(job, plan):
    time, turns = step_time(job, plan, IDEAL), int(plan.turns(job))
    network = Cluster(int(plan.ranks), 1, between=Link(0.0, 1 / job.accelerator.node_rate)).network
    run = simulate(
        one_step, int(plan.ranks), network=network, trace=False, stages=int(plan.pipeline),
        turns=turns, sharding=plan.sharding, forward=time.products / turns / 3,
        nbytes=2 * held_weights(job, plan),
    )  # fmt: skip
    return max(run.results)


@pytest.mark.parametrize("rate", [2e9, 5e9, 1e11], ids=["slow", "middle", "fast"])
@pytest.mark.parametrize("sharding", [2, 3])
@pytest.mark.parametrize("stages", [2, 4])
def test_ranks_that_send_take_as_long_as_the_plan(stages, sharding, rate):
    job, plan = job_of(rate), ParallelPlan(4, pipeline=stages, sharding=sharding)
    time = step_time(job, plan, IDEAL)
    micro = (time.products + time.head) / plan.turns(job)
    each, once = exposed_gradients(job, plan, IDEAL, micro)
    took = simulated(job, plan)
    # The ranks above do not gather the new weights of stage 2 at the end.
    assert took == pytest.approx(time.total - once, rel=0.07)
    waits = (stages - 1) * each
    assert waits == 0 or took > 1.03 * (time.total - once - waits)


def test_a_pipeline_of_stage_2_holds_a_part_of_the_gradients_and_all_weights():
    plan = ParallelPlan(64, 8, pipeline=16)
    first, second, third = (held_bytes(LLAMA, replace(plan, sharding=n)) for n in (1, 2, 3))
    assert first.gradients == pytest.approx(64 * second.gradients, rel=1e-6)
    assert first.weights == second.weights == pytest.approx(64 * third.weights, rel=1e-6)
    assert second.activations == first.activations < third.activations  # two layers are whole


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("sharding", [2, 3])
def test_more_micro_batches_cost_a_pipeline_more_messages(sharding, pieces):
    slow = replace(LLAMA, accelerator=replace(LLAMA.accelerator, node_rate=10e9))
    plan = ParallelPlan(8, 8, pipeline=2, interleaved=pieces, sharding=sharding)
    few, many = (
        step_time(replace(slow, global_batch=batch), plan, FITTED) for batch in (256, 512)
    )
    assert many.gradients > 1.8 * few.gradients > 0
    assert many.bubble == pytest.approx(few.bubble)
    below = step_time(replace(slow, global_batch=256), replace(plan, sharding=1), FITTED)
    assert few.bubble > 1.1 * below.bubble


@pytest.mark.parametrize(
    ("sharding", "words"),
    [
        (1, "reduced once in a step"),
        (2, "scattered after each"),
        (3, "weights are gathered twice"),
    ],
)
def test_all_stages_are_planned_with_pipelines_and_explained(sharding, words):
    ranking = rank_plans(EIGHT, 16, sharding=sharding, pipeline=4)
    assert ranking.possible
    assert words in "\n".join(explained(EIGHT, ranking.possible[0]))


def test_no_published_run_has_them_so_the_stated_error_says_nothing_of_them():
    plans = [plan_of(run) for run in read_runs()]
    assert {plan.sharding for plan in plans if plan.pipeline > 1} == {0, 1}
    assert sum(plan.sharding == 3 for plan in plans) > 200
    text = "\n".join(explained(EIGHT, planned(EIGHT, ParallelPlan(8))))
    assert "none had experts, context, gradients sharded in a pipeline" in text
