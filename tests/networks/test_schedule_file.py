"""Schedules as torch's files: what one writes the other reads, and runs to the same gradients."""

import copy
import csv

import numpy as np
import pytest
import torch
from pipeline_cases import every_schedule
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
from torchs_schedules import TORCHS, place, theirs_of

from ddl_class.notebook import gloo
from ddl_class.notebook.torchs_runtime import gradients
from ddl_teach import simulate
from ddl_teach.comm import DiagnosedError
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines.cells import schedule_of, written
from ddl_teach.networks.pipelines.dualpipe_v import dualpipe_v
from ddl_teach.networks.pipelines.gems import gems
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.message_driven import message_driven
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.schedule_file import cells, read_schedule, write_schedule
from ddl_teach.networks.pipelines.validator import InvalidSchedule, refusal
from ddl_teach.networks.pipelines.zb_v import zb_v

WITH_ORDER = [
    schedule
    for schedule in every_schedule(3, 7)
    if schedule.replicas == 1 and schedule.name != "message-driven"
]
each = pytest.mark.parametrize("schedule", WITH_ORDER, ids=lambda schedule: schedule.name)
thin = pytest.mark.parametrize("ours", TORCHS, ids=lambda make: make.__name__)


def facts(schedule):
    return schedule.micro_batches, schedule.placement, schedule.orders, schedule.overlapped


@each
def test_what_is_written_is_read_back(schedule, tmp_path):
    write_schedule(schedule, tmp_path / "mine.csv")
    assert facts(read_schedule(tmp_path / "mine.csv")) == facts(schedule)
    assert read_schedule(tmp_path / "mine.csv").name == "mine"


@each
def test_what_is_printed_can_be_written_by_hand(schedule):
    texts = [line.split()[2:] for line in str(schedule).splitlines()[1:]]
    assert facts(written("copied", texts)) == facts(schedule)


@each
def test_torch_reads_what_is_written(schedule, tmp_path):
    write_schedule(schedule, tmp_path / "mine.csv")
    theirs = loaded(tmp_path / "mine.csv", schedule, place(3, schedule.stages // 3))
    for rank in range(schedule.ranks):
        assert list(map(str, theirs.pipeline_order[rank])) == cells(schedule, rank)
    assert dict(enumerate(schedule.placement[0])) == theirs.stage_index_to_group_rank


def loaded(path, schedule, stages, **more):
    """Torch's own runtime with the schedule of a file."""
    runtime = _PipelineScheduleRuntime(stages, schedule.micro_batches, **more)
    runtime._load_csv(str(path))
    return runtime


@thin
@pytest.mark.parametrize("kind", ["compute_only", "compute_comms"])
def test_what_torch_dumps_is_read(ours, kind, tmp_path):
    theirs_of(ours, 3, 6)._dump_csv(str(tmp_path / "theirs.csv"), format=kind)
    assert facts(read_schedule(tmp_path / "theirs.csv")) == facts(ours(3, 6))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["0F0,0B0", "1F0,1X0"], "bad.csv, row 2 \\(rank 1\\), column 2: '1X0' is no pass"),
        (["0F0,0B0", "1F0,1SENDF0"], "row 2 .*, column 2: '1SENDF0' is no pass"),
        (["0F0,,0B", "1F0,1B0"], "row 1 .*, column 3: '0B' is no pass .* F3 is micro-batch 3"),
        (["0F0,(0F1;0F2)OVERLAP_F_B"], "row 1 .*, column 2: .* must pair a forward pass F with"),
        (["0F0,(0F1;0B0"], "row 1 .*, column 2: .* is no pass"),
        (["0F0,0B0", "2F0,2B0"], "no rank computes stage 1, .* Is a row missing"),
        (["0F0,0B0", ""], "row 2 \\(rank 1\\) has no pass: give the rank a stage"),
        ([], "bad.csv is empty: write a row of passes for each rank"),
        (
            ["0F0,1F0,0B0", "1B0"],
            "row 2 .*, column 1: 1B0 is of stage 1, which .* row 1 .*col.* 2",
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_row_and_column(rows, says, tmp_path):
    (tmp_path / "bad.csv").write_text("".join(f"{row}\n" for row in rows))
    with pytest.raises(ValueError, match=says):
        read_schedule(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["0F0,0B1,0F1,0B0"], ["row 1 (rank 0), column 2", "have the activations of stage 0"]),
        (["0F0,0F1,0B0,0B1", "1F1,1B1,1F0"], ["row 2 (rank 1), column 3", "not been all the way"]),
        (
            ["0F0,2F1,0F1,2F0,2B0,2B1,0B0,0B1", "1F0,1F1,1B0,1B1"],
            ["no rank can go on", "row 1 (rank 0), column 2", "row 2 (rank 1), column 2"],
        ),
    ],
)
def test_what_cannot_be_carried_out_is_named_by_row_and_column(rows, says, tmp_path):
    (tmp_path / "bad.csv").write_text("".join(f"{row}\n" for row in rows))
    with pytest.raises(InvalidSchedule) as refused:
        read_schedule(tmp_path / "bad.csv")
    assert [part for part in says if part not in str(refused.value)] == []


def test_what_the_format_does_not_know_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="2 replicas, and the format knows one copy"):
        write_schedule(gems(2, 4), tmp_path / "mine.csv")
    with pytest.raises(ValueError, match="the format needs the order of all passes"):
        write_schedule(message_driven(2, 4), tmp_path / "mine.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_function_may_name_stages():
    def mine(rank, ranks, micro_batches):
        return ["0F0", "3F0", "3B0", "0B0"] if rank == 0 else ["1F0", "2F0", "2B0", "1B0"]

    schedule = schedule_of(mine, 2, 1)
    assert refusal(schedule) == ""
    assert schedule.placement == ((0, 1, 1, 0),)


def test_a_last_rank_without_a_pass_lacks_its_stage():
    with pytest.raises(ValueError, match=r"no rank computes stage 1, .* stages 0 to 1 on 2 ranks"):
        written("mine", [["F0", "B0"], []])


def test_an_order_that_is_a_stub_is_no_order_yet():
    def mine(rank, ranks, micro_batches):
        raise NotImplementedError

    with pytest.raises(DiagnosedError, match="mine is not written yet"):
        schedule_of(mine, 2, 1)


def test_an_empty_cell_is_a_step_of_waiting(tmp_path):
    with (tmp_path / "mine.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["0F0", None, None, "0B0"], [None, "1F0", "1B0"]])
    assert facts(read_schedule(tmp_path / "mine.csv")) == facts(gpipe(2, 1))


def data(schedule):
    """A network that can be cut into the schedule's stages, and a batch."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(48, 16, generator=generator).double()
    return mlp((16, *[12] * schedule.stages)).double(), (
        x,
        torch.randint(12, (48,), generator=generator),
    )


def in_torchs_runtime(comm, schedules, backend):
    """The largest differences of gradients from a single process's, for each schedule."""
    torch.set_num_threads(1)
    if backend == "gloo":
        gloo.allreduce(comm, np.zeros(1))  # here torch's ranks meet
    differences = []
    for schedule in schedules:
        model, (x, y) = data(schedule)
        alone = copy.deepcopy(model)
        mean_loss(alone(x), y).backward()
        wanted = {name: weight.grad for name, weight in alone.named_parameters()}
        for name, gradient in gradients(comm, schedule, model, (x, y)).items():
            difference = (gradient - wanted[name]).abs().max().item()
            differences.append(difference / wanted[name].abs().max().item())
    return differences


def check_gradients(run, schedules):
    for differences in run.results:
        assert len(differences) >= 2 * len(schedules)
        assert max(differences) < 1e-10


def of_all_kinds(ranks):
    assert {zb_v, dualpipe_v} < set(TORCHS)
    return [make(ranks, 8) for make in (*TORCHS, gpipe, one_f_one_b)]


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("backend", ["gloo", "ddl_teach"])
def test_torchs_runtime_runs_what_is_written(ranks, backend, real):
    """On processes, with the gradients of one process."""
    given = {"schedules": of_all_kinds(ranks), "backend": backend}
    check_gradients(real(in_torchs_runtime, ranks, **given, timeout=250), given["schedules"])


@pytest.mark.parametrize("ranks", [1, 2, pytest.param(3, marks=pytest.mark.long), 4])
def test_torchs_runtime_runs_it_on_simulated_ranks(ranks):
    schedules = of_all_kinds(ranks)
    given = {"schedules": schedules, "backend": "ddl_teach"}
    check_gradients(simulate(in_torchs_runtime, ranks, threads=True, **given), schedules)


def on_the_stand_in(comm, **given):
    comm.device = "standin"
    differences = in_torchs_runtime(comm, **given)
    kinds = {message.kind for message in comm.ledger.messages}
    return differences if any(kind.startswith("device") for kind in kinds) else []


def test_torchs_runtime_runs_it_on_the_rank_s_device():
    pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
    given = {"schedules": [zb_v(2, 4), one_f_one_b(2, 4)], "backend": "ddl_teach"}
    check_gradients(simulate(on_the_stand_in, 2, threads=True, **given), given["schedules"])
