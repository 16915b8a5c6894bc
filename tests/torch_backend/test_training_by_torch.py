"""Torch's ways of training in parallel, unmodified, give on our ranks what one process gives."""

from functools import partial

import numpy as np
import pytest
import training_programs as programs
from training_programs import distance, one_process

from ddl_teach import simulate

on_threads = partial(simulate, threads=True)
EXACT = 1e-12
OURS = {
    "allreduce": "rabenseifner", "broadcast": "linear", "allgather": "bruck",
    "reduce_scatter": "pat",
}  # fmt: skip
WAYS = {  # the program, its settings, what one process gives, how far from it is still right
    "DDP": (programs.ddp, {}, one_process, EXACT),
    "DDP, static graph": (programs.ddp, {"static_graph": True}, one_process, EXACT),
    "DDP, views": (programs.ddp, {"gradient_as_bucket_view": True}, one_process, EXACT),
    "DDP, hook": (programs.ddp, {"hook": "all-reduce"}, one_process, EXACT),
    "DDP, fp16": (programs.ddp, {"hook": "fp16"}, one_process, 1e-3),
    "DDP, PowerSGD": (programs.ddp, {"hook": "powerSGD"}, one_process, EXACT),
    "DDP, our algorithms": (programs.ddp, {"algorithms": OURS}, one_process, EXACT),
    "DDP, unused weights": (
        programs.ddp_unused,
        {},
        lambda: programs.weights(programs.train(programs.Branches())),
        EXACT,
    ),
    "DDP, no_sync": (
        programs.ddp_without_sync,
        {},
        programs.one_process_without_momentum,
        EXACT,
    ),
    "FSDP2": (programs.fsdp, {}, one_process, EXACT),
    "FSDP2, kept": (programs.fsdp, {"reshard_after_forward": False}, one_process, EXACT),
    "FSDP2, our algorithms": (programs.fsdp, {"algorithms": OURS}, one_process, EXACT),
    "FSDP2, mixed": (programs.fsdp_mixed, {}, programs.one_process_mixed, 5e-4),
    "tensor": (programs.tensor_parallel, {}, one_process, EXACT),
    "sequence": (programs.sequence_parallel, {}, programs.one_process_sequence, EXACT),
    # torch merges its parts in 32 bits
    "context": (programs.context_parallel, {}, programs.one_process_context, 1e-5),
}
ON_MESHES = {
    "HSDP": (programs.hsdp, {}, one_process, EXACT),
    "tensor inside FSDP2": (programs.two_dimensions, {}, one_process, EXACT),
    "tensor inside HSDP": (programs.three_dimensions, {}, one_process, EXACT),
}
MESHES = [  # 1 x 2 and 2 x 1, then 2 x 2, 2 x 3 and 3 x 2, 2 x 2 x 2
    *((name, 2) for name in list(ON_MESHES)[:2]),
    *((name, ranks) for name in list(ON_MESHES)[:2] for ranks in (4, 6)),
    ("tensor inside HSDP", 8),
]
SCHEDULES = ["GPipe", "1F1B", *programs.LOOP, *programs.VEE]


def check(run, way, ranks):
    program, settings, truth, tolerance = way
    assert distance(run(program, ranks, **settings).results, truth()) <= tolerance


ON_RANKS = [pytest.param(2, marks=pytest.mark.slow)]
ON_RANKS += [pytest.param(ranks, marks=pytest.mark.long) for ranks in (3, 4)]


@pytest.mark.parametrize("ranks", ON_RANKS)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.sampled(2)
def test_a_way_equals_one_process(name, ranks):
    check(on_threads, WAYS[name], ranks)


def messages_of(program, **settings):
    return [len(book.messages) for book in on_threads(program, 4, **settings).ledger]


@pytest.mark.slow
@pytest.mark.parametrize("program", [programs.ddp, programs.fsdp])
def test_our_algorithms_send_fewer_messages(program):
    ours, by_default = messages_of(program, algorithms=OURS), messages_of(program)
    assert all(np.array(ours) < by_default)


def bytes_with(hook):
    """What rank 1 sends, which is no root of a broadcast."""
    return on_threads(programs.ddp, 4, hook=hook).ledger[1].bytes_sent


@pytest.mark.slow
def test_torchs_hooks_send_fewer_bytes():
    """16 bits in place of 64; and in one of three steps two factors in place of a matrix."""
    whole = bytes_with("all-reduce")
    assert bytes_with("fp16") == pytest.approx(whole / 4, rel=0.01)
    assert 2 / 3 * whole < bytes_with("powerSGD of rank 2") < 0.8 * whole


# On a view that a layer of tensor parallelism returns FSDP2 warns of operations in place.
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize(
    ("name", "ranks"),
    [pytest.param(*mesh, marks=pytest.mark.slow) for mesh in MESHES[:2]]
    + [pytest.param(*mesh, marks=pytest.mark.long) for mesh in MESHES[2:]],
)
def test_a_way_on_a_mesh_equals_one_process(name, ranks):
    check(on_threads, ON_MESHES[name], ranks)


def check_pipeline(run, schedule, ranks):
    of_ranks = run(programs.pipeline, ranks, schedule=schedule).results
    parts = {stage: grads for of_rank in of_ranks for stage, grads in of_rank.items()}
    together = np.concatenate([parts[stage] for stage in sorted(parts)])
    assert distance([together], programs.one_process_gradients(len(parts))) <= EXACT


@pytest.mark.parametrize("ranks", ON_RANKS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_pipeline_equals_one_process(schedule, ranks):
    check_pipeline(on_threads, schedule, ranks)


def check_checkpoint(run, folder):
    saved = run(programs.save, 4, folder=folder).results
    loaded = run(programs.load, 2, folder=folder).results
    assert distance(saved + loaded, one_process()) <= EXACT


@pytest.mark.long
def test_a_checkpoint_of_four_ranks_is_read_by_two(tmp_path):
    check_checkpoint(on_threads, str(tmp_path))


# -- the same on real ranks ---------------------------------------------------------------------


@pytest.fixture
def on_processes(real):
    return partial(real, timeout=200)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", WAYS)
def test_a_way_on_real_ranks(on_processes, name, ranks):
    check(on_processes, WAYS[name], ranks)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.timeout(520)  # eight ranks on two busy cores
@pytest.mark.parametrize(("name", "ranks"), MESHES)
def test_a_way_on_a_mesh_of_real_ranks(on_processes, name, ranks):
    check(partial(on_processes, timeout=500), ON_MESHES[name], ranks)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_pipeline_on_real_ranks(on_processes, schedule, ranks):
    check_pipeline(on_processes, schedule, ranks)


@pytest.mark.long
def test_a_checkpoint_of_real_ranks(on_processes, tmp_path):
    check_checkpoint(on_processes, str(tmp_path))


@pytest.mark.slow
def test_ddp_on_two_real_ranks(on_processes):
    check(on_processes, WAYS["DDP"], 2)


def test_the_comparison_sees_one_step_less():
    two_steps = programs.weights(programs.train(programs.network(), steps=2))
    assert distance([two_steps], one_process()) > 1e-4
