"""The planner: its parts add up, its laws hold, and it meets published runs as it says."""

import csv
import re
import statistics
from dataclasses import asdict, replace

import pytest

from benchmarks import published_runs
from benchmarks.published.runs import TABLE, read_runs
from benchmarks.published.step_time import job_of, plan_of
from ddl_teach.networks.models.gpt import SIZES, gpt_of
from ddl_teach.planning import explain
from ddl_teach.planning.bill import bill
from ddl_teach.planning.memory import RESERVED, held_bytes
from ddl_teach.planning.plans import every_plan, planned, rank_plans, refusal, work_of_a_word
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import ParallelPlan, Software, TrainingJob
from ddl_teach.planning.step_time import FITTED, step_time
from ddl_teach.theory import pipelines

LLAMA = TrainingJob(MODELS["llama3-405b"], ACCELERATORS["H100"], 8192, 2048)
EIGHT = TrainingJob(MODELS["llama3-8b"], ACCELERATORS["H100"], 8192, 64)
GRID = ParallelPlan(64, 8, 1, 1, 16, recompute="norms")


def test_the_library_keeps_the_fitted_assumptions():
    assert asdict(FITTED) == pytest.approx(asdict(published_runs.assumptions()), rel=1e-4)


def test_the_stated_error_is_the_recorded_one():
    recorded = published_runs.RESULTS.read_text()
    runs, median, within = re.search(
        r"all +(\d+) runs: median error (.+?)%, (.+?)% of", recorded
    ).groups()
    assert int(runs) == explain.RUNS
    assert pytest.approx(float(median) / 100) == explain.MEDIAN_ERROR
    assert pytest.approx(float(within) / 100) == explain.WITHIN_A_QUARTER


def test_what_is_reserved_is_the_median_of_published_runs():
    with open(TABLE, newline="") as file:
        seen = {
            row["run_id"]: float(row["mem_GB"]) for row in csv.DictReader(file) if row["mem_GB"]
        }
    beyond = [
        seen[run.name] * 1e9 - held_bytes(job_of(run, FITTED), plan_of(run)).total
        for run in read_runs() if run.name in seen and plan_of(run).recompute != "operators"
    ]  # fmt: skip
    assert len(beyond) == 35
    assert statistics.median(beyond) == pytest.approx(RESERVED, rel=0.1)


@pytest.mark.parametrize(
    ("name", "weights"),
    [("gpt3-175b", 175), ("bloom-176b", 176), ("llama3-8b", 8.0), ("llama3-70b", 70.6),
     ("llama3-405b", 405), ("deepseek-v3", 671)],
)  # fmt: skip
def test_models_have_their_published_weights(name, weights):
    assert MODELS[name].weights / 1e9 == pytest.approx(weights, rel=0.01)


def test_of_deepseek_37_billion_weights_are_active():
    assert MODELS["deepseek-v3"].active / 1e9 == pytest.approx(37, rel=0.02)


@pytest.mark.parametrize("size", ["100k", "1M"])
def test_our_own_models_have_their_weights_but_for_places_and_biases(size):
    ours = sum(weights.numel() for weights in gpt_of(size).parameters())
    _, width, _, blocks, length = SIZES[size]
    small = blocks * 13 * width + (length + 2) * width
    assert MODELS[f"gpt-{size.lower()}"].weights + small == ours


@pytest.mark.parametrize("pieces", [1, 2, 4])
@pytest.mark.parametrize("stages", [1, 2, 4, 8])
def test_the_bubble_is_that_of_the_pipelines(stages, pieces):
    plan = ParallelPlan(8, pipeline=stages, interleaved=pieces if stages > 1 else 1)
    time = step_time(EIGHT, plan, FITTED)
    turns = int(plan.turns(EIGHT))
    micro = (time.products + time.number_by_number) / turns
    formula = pipelines.interleaved(stages, turns, micro / 3, 2 * micro / 3, int(plan.interleaved))
    assert time.bubble == pytest.approx(formula.bubble)


@pytest.mark.parametrize("stages", [2, 4, 8])
def test_a_zero_bubble_is_shorter_than_that_of_1f1b(stages):
    plain, filled = (
        step_time(EIGHT, ParallelPlan(8, pipeline=stages, schedule=name), FITTED).bubble
        for name in ("1F1B", "zero bubble")
    )
    assert 0 < filled < plain


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_ranks_of_a_tensor_hold_their_part(tensor):
    whole = held_bytes(EIGHT, ParallelPlan(1))
    part = held_bytes(EIGHT, ParallelPlan(1, tensor))
    assert part.weights == pytest.approx(whole.weights / tensor)
    assert part.activations == pytest.approx(whole.activations / tensor)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize(("kind", "least"), [("states", 1), ("gradients", 2), ("weights", 3)])
def test_a_stage_divides_states_then_gradients_then_weights(ranks, kind, least):
    held = [getattr(held_bytes(EIGHT, ParallelPlan(ranks, sharding=s)), kind) for s in range(4)]
    whole = [each * (ranks if stage >= least else 1) for stage, each in enumerate(held)]
    assert whole == pytest.approx([held[0]] * 4, rel=1e-6)


def test_groups_hold_more_and_send_less_far():
    plan = ParallelPlan(64, sharding=3)
    whole, grouped = (held_bytes(EIGHT, replace(plan, group=group)) for group in (0, 8))
    assert grouped.states == pytest.approx(8 * whole.states, rel=1e-6)
    slow = replace(EIGHT, accelerator=replace(EIGHT.accelerator, node_rate=1e9))
    far, near = (step_time(slow, replace(plan, group=group), FITTED) for group in (0, 8))
    assert near.gradients < far.gradients


def test_experts_on_more_ranks_are_fewer_on_each_and_send_more():
    job = TrainingJob(MODELS["deepseek-v3"], ACCELERATORS["H800"], 4096, 15360)
    few, many = (ParallelPlan(128, expert=count, pipeline=16) for count in (8, 64))
    assert held_bytes(job, many).weights < held_bytes(job, few).weights
    assert (
        step_time(job, many, FITTED).expert_messages > step_time(job, few, FITTED).expert_messages
    )


def test_context_cuts_activations_and_sends_keys():
    whole, cut = ParallelPlan(64, 8, pipeline=16), ParallelPlan(32, 8, 2, pipeline=16)
    assert held_bytes(LLAMA, cut).activations < held_bytes(LLAMA, whole).activations
    assert step_time(LLAMA, whole, FITTED).context_messages == 0
    assert step_time(LLAMA, cut, FITTED).context_messages > 0


@pytest.mark.parametrize(
    ("gpus", "sequence", "batch", "plan", "teraflops", "low", "high"),
    [
        (8192, 8192, 2048, ParallelPlan(64, 8, 1, 1, 16, "interleaved", 8, 1), 430, 0.7, 0.9),
        (16384, 8192, 2048, ParallelPlan(128, 8, 1, 1, 16, "interleaved", 8, 1), 400, 0.7, 0.9),
        (16384, 131072, 128, ParallelPlan(8, 8, 16, 1, 16, "interleaved", 8, 1), 380, 0.5, 0.7),
    ],
)
def test_llama_is_planned_slower_than_it_was(gpus, sequence, batch, plan, teraflops, low, high):
    """Dubey et al. 2024, table 4: the notebook says how far the planner is from it."""
    assert plan.ranks == gpus
    job = replace(LLAMA, sequence=sequence, global_batch=batch)
    assert low < planned(job, plan).mfu * 989.4 / teraflops < high


@pytest.mark.slow
def test_the_published_grid_is_among_the_first():
    ranking = rank_plans(replace(LLAMA, global_batch=2048), 8192)
    place = [step.grid for step in ranking.grids].index((64, 8, 1, 1, 16))
    assert place < 8
    assert ranking.grids[place].time.total < 1.25 * ranking.grids[0].time.total


def test_a_ranking_is_in_order_and_every_plan_in_it_fits():
    ranking = rank_plans(EIGHT, 16)
    times = [step.time.total for step in ranking.possible]
    assert times == sorted(times)
    assert {step.plan.ranks for step in ranking.possible} == {16}
    most = max(step.held.total for step in ranking.possible)
    assert most + RESERVED <= EIGHT.accelerator.memory
    tried = len(list(every_plan(EIGHT, 16, "bf16")))
    assert len(times) + ranking.refused.total() == tried


def test_a_plan_held_to_a_value_has_it():
    ranking = rank_plans(EIGHT, 16, tensor=4, schedule="1F1B")
    assert {(step.plan.tensor, step.plan.schedule) for step in ranking.possible} == {(4, "1F1B")}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (ParallelPlan(1, 5), "heads"),
        (ParallelPlan(1, pipeline=20), "layers"),
        (ParallelPlan(48), "batch"),
        (ParallelPlan(16, pipeline=8, schedule="interleaved", interleaved=2), "multiples"),
        (ParallelPlan(1), "more than it has"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_the_reason(plan, words):
    assert words in refusal(EIGHT, plan)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rank_plans(EIGHT, 16, width=3), "a plan has no width"),
        (lambda: rank_plans(EIGHT, 16, "fp4"), "must be 'bf16' or 'fp8'"),
        (lambda: rank_plans(EIGHT, 0), "at least 1"),
        (lambda: rank_plans(replace(EIGHT, accelerator=ACCELERATORS["A100"]), 8, "fp8"), "8 bits"),
        (lambda: rank_plans(LLAMA, 8).grids, "no plan can train this"),
        (lambda: bill(EIGHT, planned(EIGHT, GRID), 1e9, pue=0.5), "pue at least 1"),
        (lambda: bill(EIGHT, planned(EIGHT, GRID), 1e9, useful=0), "must be a share"),
    ],
)
def test_bad_input_is_refused_kindly(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_utilisation_is_that_of_the_definition():
    step = planned(LLAMA, GRID)
    words = LLAMA.sequence * LLAMA.global_batch
    work = 6 * work_of_a_word(LLAMA.model, 8192) * words
    assert step.mfu == pytest.approx(work / (step.time.total * GRID.ranks * 989.4e12))


def test_the_bill_of_bloom_is_the_published_one():
    """Luccioni et al. 2023: 1,082,990 hours, 433,196 kWh, 24.7 tonnes."""
    job = TrainingJob(MODELS["bloom-176b"], ACCELERATORS["A100"], 2048, 2048)
    step = planned(job, ParallelPlan(8, 8, pipeline=6))
    per_word = bill(job, step, 1.0).hours
    whole = bill(job, step, 1_082_990 / per_word, pue=1.0, grams=57)
    assert whole.kilowatt_hours == pytest.approx(433_196, rel=1e-3)
    assert whole.tonnes == pytest.approx(24.7, rel=0.01)


def test_an_explanation_has_every_part_and_adds_up():
    step = planned(LLAMA, GRID)
    text = "\n".join(explain.explained(LLAMA, step))
    spent = [name.replace("_", " ") for name, seconds in asdict(step.time).items() if seconds]
    assert [name for name in spent if name not in text] == []
    assert f"{step.time.total:.3f} s" in text
    assert "5.1%" in text


def test_software_changes_the_time_as_it_should():
    fused = replace(LLAMA, software=Software(fused=True))
    assert step_time(fused, GRID, FITTED).total < step_time(LLAMA, GRID, FITTED).total
