"""Lab 3 as torch starts it: under torchrun, and who was missing."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_class.commands.program_file import import_file

LAB = Path(__file__).resolve().parents[2] / "labs" / "3_scaling"


def torchrun(folder, ranks, *words):
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
        str(LAB / "under_torchrun.py"), "--out", str(folder), "--samples", "8", "--width", "16",
    ]  # fmt: skip
    return subprocess.run(
        [*command, *words], cwd=LAB.parents[1], capture_output=True, text=True, timeout=200
    )


@pytest.mark.slow
def test_a_step_under_torchrun_is_timed(tmp_path):
    done = torchrun(tmp_path, 2)
    assert done.returncode == 0, done.stderr
    assert re.search(r"gloo, 2 ranks on cpu: a step takes \d+\.\d+ ms", done.stdout)


@pytest.mark.slow
def test_the_flight_recorder_names_who_was_missing(tmp_path):
    done = torchrun(tmp_path, 3, "--missing", "1", "--timeout", "8")
    assert done.returncode != 0
    assert "Timed out" in done.stdout
    story = import_file(LAB / "flight_recorder.py").compared(tmp_path)
    [odd] = [line for line in story if "was missing" in line]
    assert odd.startswith("Rank 1")
    assert "gloo:all_reduce of" in odd
    assert "called at under_torchrun.py:" in odd


def a_record(folder, rank, *collectives, by_watchdog=False):
    frames = [
        {"filename": "/lib/site-packages/torch/nn.py", "line": 7},
        {"filename": "ours/train.py", "line": 12},
    ]
    entries = [
        {"record_id": number, "collective_seq_id": number + 1, "profiling_name": name,
         "input_sizes": [[size]], "frames": frames}
        for number, (name, size) in enumerate(collectives)
    ]  # fmt: skip
    if by_watchdog:
        (folder / f"nccl-{rank}").write_bytes(pickle.dumps({"entries": entries}))
    else:
        (folder / f"rank-{rank}.json").write_text(json.dumps({"entries": entries}))


def test_what_the_watchdog_wrote_counts_where_a_rank_wrote_nothing(tmp_path):
    for rank in (0, 2):
        a_record(tmp_path, rank, ("all_reduce", 4), ("all_reduce", 4), by_watchdog=True)
    a_record(tmp_path, 1, ("all_reduce", 4), ("broadcast", 7), by_watchdog=True)
    a_record(tmp_path, 1, ("all_reduce", 4))
    *ranks, difference = import_file(LAB / "flight_recorder.py").compared(tmp_path)
    assert [line.split(":")[0] for line in ranks] == ["rank 0", "rank 1", "rank 2"]
    assert difference.startswith("Rank 1 was missing: others are in collective 2: all_reduce")


@pytest.mark.parametrize(
    ("third", "said"),
    [
        ([("all_reduce", 4)], "Rank 2 was missing: others are in collective 2: all_reduce of [["),
        ([("all_reduce", 4), ("broadcast", 4)], "rank 2: collective 2: broadcast"),
        ([("all_reduce", 4), ("all_reduce", 5)], "rank 2: collective 2: all_reduce of [[5]]"),
        ([("all_reduce", 4), ("all_reduce", 4)], "All were in the same collective"),
        ([], "rank 2: no collective at all"),
    ],
)
def test_every_difference_is_told(tmp_path, third, said):
    for rank in (0, 1):
        a_record(tmp_path, rank, ("all_reduce", 4), ("all_reduce", 4))
    a_record(tmp_path, 2, *third)
    story = import_file(LAB / "flight_recorder.py").compared(tmp_path)
    assert any(line.startswith(said) for line in story)
    assert all("train.py:12" in line for line in story[:2])


def test_one_record_is_not_enough(tmp_path):
    a_record(tmp_path, 0, ("all_reduce", 4))
    assert (
        import_file(LAB / "flight_recorder.py")
        .compared(tmp_path)[0]
        .endswith("two are needed to compare")
    )


def test_of_two_ranks_the_one_behind_is_the_missing_one(tmp_path):
    a_record(tmp_path, 0, ("all_reduce", 4))
    a_record(tmp_path, 1, ("all_reduce", 4), ("all_reduce", 4))
    assert (
        import_file(LAB / "flight_recorder.py")
        .compared(tmp_path)[-1]
        .startswith("Rank 0 was missing: others are in collective 2")
    )
