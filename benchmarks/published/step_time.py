"""How long a step of a published training should take: its row as a job and a plan of the planner,
whose model of time predicts transformers; and ResNet-50, which only the table has."""

from __future__ import annotations

from dataclasses import fields

from benchmarks.published.runs import PublishedRun
from ddl_teach.planning.sizes import (
    Accelerator,
    ParallelPlan,
    Software,
    TrainingJob,
    TransformerSizes,
)
from ddl_teach.planning.step_time import Assumptions, StepTime, dense_share
from ddl_teach.planning.step_time import step_time as planned_step

FITTED = tuple(field.name for field in fields(Assumptions))[:14]
SCORES_KEPT = ("Megatron-LM", "Korthikanti", "BLOOM")  # before attention that writes none
COMPILED = ("MLPerf", "IBM fms-fsdp")
RESNET_OPERATIONS = 3 * 8.2e9  # forward and backward, for an image of 224 x 224


def step_time(run: PublishedRun, assumed: Assumptions) -> StepTime:
    """What a step of this run should take."""
    if run.arch == "cnn":
        return images(run, assumed)
    return planned_step(job_of(run, assumed), plan_of(run), assumed)


def images(run: PublishedRun, assumed: Assumptions) -> StepTime:
    """ResNet-50: products, and everything else at the rate of the memory."""
    own = run.global_batch / run.processors
    wide = 2 if run.precision in ("tf32", "fp32") else 1
    shares = {"tf32": assumed.tf32, "fp32": assumed.fp32}
    reached = run.peak * shares.get(run.precision, dense_share(run.kind, assumed))
    return StepTime(
        products=own * RESNET_OPERATIONS / reached,
        number_by_number=own * wide * assumed.image / run.memory_rate,
    )


def job_of(run: PublishedRun, assumed: Assumptions) -> TrainingJob:
    """What was trained, on what."""
    bert = run.arch == "bert"
    model = TransformerSizes(
        run.layers, run.hidden, run.heads, run.inner, run.vocabulary, run.heads_of_keys,
        gated=run.gated, tied=not run.gated, causal=not bert,
        predicted=assumed.masked if bert else 1.0,
    )  # fmt: skip
    accelerator = Accelerator(
        run.kind, run.peak_16_bit, run.memory_rate, inside_rate=run.inside_rate,
        node_rate=run.node_rate, ranks_a_node=run.ranks_a_node,
    )  # fmt: skip
    software = Software(
        scores_kept=any(name in run.source for name in SCORES_KEPT),
        fused="compile" in run.note or any(name in run.source for name in COMPILED),
        split_sequence="SP" in run.recompute or "MLPerf" in run.source,
        hidden_sums="async" in run.note or "MLPerf Training v3.1" in run.source,
        hidden_gradients="distributed" in run.sharding,
        added_apart="ZeRO" in run.sharding,
    )
    return TrainingJob(model, accelerator, run.sequence, run.global_batch, software)


def plan_of(run: PublishedRun) -> ParallelPlan:
    """Who computed what."""
    sharding = 3 if run.shards_weights else int(run.shards_state)
    recompute = {"none": "none", "full": "full", "selective+SP": "selective"}
    return ParallelPlan(
        run.data, run.tensor, pipeline=run.pipeline, interleaved=run.interleaved,
        sharding=sharding, group=run.ranks_a_node if "HSDP" in run.sharding else 0,
        recompute=recompute.get(run.recompute, "operators"), precision=run.precision,
        micro_batch=run.micro_batch,
    )  # fmt: skip
