"""`ddl-teach run script.py --torch`: a script as torchrun takes it, on ranks."""

import copy
import json
import os
import re
import sys
from pathlib import Path

import pytest
import torch
from matplotlib.image import imread
from torch import nn

from ddl_class.cli import main
from ddl_teach.torch_backend.script import ranks_have_environments

SCRIPT = str(Path(__file__).with_name("a_script.py"))


def weights_of_one_process(ranks, steps):
    """The mean gradient of a sum of outputs is the mean input."""
    torch.manual_seed(0)
    layer, mean = nn.Linear(3, 2), (ranks - 1) / 2
    total = float(sum(p.detach().sum() for p in layer.parameters()))
    return total - steps * 0.1 * (6 * mean + 2)


def said(ranks, steps):
    return f"the weights of {ranks} ranks sum up to {weights_of_one_process(ranks, steps):.6f}"


def test_a_script_on_simulated_ranks(capsys):
    environment, words = os.environ, sys.argv
    network = "two-level:ranks_per_node=2"
    run = ["run", SCRIPT, "--torch", "--simulate", "4", "--network", network]
    assert main([*run, "--argv", "--steps 3"]) == 0
    printed = capsys.readouterr().out
    assert said(4, 3) in printed
    assert "4 simulated ranks" in printed
    assert (os.environ, sys.argv) == (environment, words)


def profiled(rank):
    """What torch's profiler writes on a rank: a kernel, and an all-reduce beside it."""
    events = [("kernel", "sgemm", 10, 60), ("kernel", "ncclDevKernel_AllReduce_Sum_f32", 40, 60)]
    return {
        "distributedInfo": {"rank": rank, "world_size": 2},
        "traceEvents": [
            {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": name, "args": {}}
            for cat, name, ts, dur in events
        ],
    }


def test_pictures_and_traces_beside_what_torch_s_profiler_has_recorded(tmp_path, capsys):
    (tmp_path / "traces").mkdir()
    for rank in range(2):
        (tmp_path / "traces" / f"{rank}.json").write_text(json.dumps(profiled(rank)))
    run = ["run", SCRIPT, "--torch", "--simulate", "2"]
    plot, trace = tmp_path / "both.png", tmp_path / "run.json"
    beside = ["--beside", str(tmp_path / "traces")]
    assert main([*run, "--plot", str(plot), "--trace", str(trace), *beside]) == 0
    printed = capsys.readouterr().out
    assert "here: 2 ranks take" in printed
    assert "torch's profiler: 2 ranks take 90 µs, 33% of it in messages" in printed
    assert "recv from 1" in {e["name"] for e in json.loads(trace.read_text())["traceEvents"]}
    both = imread(plot)
    assert main([*run, "--plot", str(plot)]) == 0
    assert "profiler" not in capsys.readouterr().out
    assert len(both) > len(imread(plot))


@pytest.mark.slow
@pytest.mark.real
def test_a_script_on_real_ranks(capfd):
    assert main(["run", SCRIPT, "--torch", "--ranks", "2", "--timeout", "200"]) == 0
    assert said(2, 1) in capfd.readouterr().out


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ([SCRIPT, "--torch", "--simulate", "2", "--arg", "x=1"], "takes --argv"),
        (["nowhere.py", "--torch", "--simulate", "2"], "There is no script nowhere.py"),
        ([SCRIPT + ":main", "--simulate", "2", "--argv", "x"], "for scripts of torch's"),
        ([SCRIPT, "--torch", "--beside", "nowhere"], "--beside is drawn .*: add --plot"),
        (
            [SCRIPT, "--torch", "--beside", "nowhere", "--plot", "both.png"],
            "--beside nowhere: .* give a file for each",
        ),
    ],
)
def test_what_is_typed_wrongly(line, error, capsys):
    assert main(["run", *line]) == 2
    assert re.search(error, capsys.readouterr().err)


def test_what_a_rank_writes_into_its_environment_no_other_sees(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("INHERITED", "once")
    script = tmp_path / "writes.py"
    script.write_text(
        "import os\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n"
        "os.environ['OWN'] = os.environ['RANK'] + os.environ.pop('INHERITED')\n"
        "dist.barrier()\nprint(os.environ['OWN'], 'INHERITED' in os.environ.copy())\n"
    )
    assert main(["run", str(script), "--torch", "--simulate", "3"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{rank}once False" in printed for rank in range(3))
    assert (os.environ["INHERITED"], "OWN" in os.environ) == ("once", False)


def test_a_script_that_fails_says_where(tmp_path, capsys):
    script = tmp_path / "fails.py"
    script.write_text("import os\nif os.environ['RANK'] == '1':\n    raise ValueError('here')\n")
    assert main(["run", str(script), "--torch", "--simulate", "2"]) == 1
    assert "rank 1 raised ValueError: here" in capsys.readouterr().err


def test_a_ranks_environment_is_joined_and_copied_as_any_other():
    with ranks_have_environments():
        joined = [os.environ | {"DDL_A": "1"}, {"DDL_A": "2", "PATH": ""} | os.environ]
        apart = copy.copy(os.environ)
        apart["DDL_B"] = "here"
        assert "DDL_B" not in os.environ
    assert joined[0]["DDL_A"] == "1"
    assert joined[1]["DDL_A"] == "2"
    assert all(each["PATH"] == os.environ["PATH"] for each in joined)
