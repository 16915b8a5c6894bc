"""The labs' batch scripts under a real Slurm, on two nodes of a box."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from boxes import box_or_skip

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course, with notes of a site that name this Python."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "cluster_setup", folder / "cluster_setup")
    for name in ("ddl_teach", "labs"):
        (folder / name).symlink_to(ROOT / name)
    with open(folder / "cluster_setup" / "site.sh", "a") as notes:
        notes.write(f"SITE_PYTHON='{sys.executable}'\n")
    return folder


@pytest.fixture(scope="module")
def submitted(course):
    """`submitted(script, *words)`: what a job on two nodes has printed."""
    shared = [str(course), str(ROOT)]
    box = box_or_skip(f"jobs-{os.getpid()}", share=shared, with_slurm=True)

    def run(script, *words):
        submit = str(course / "cluster_setup" / "slurm" / "submit")
        told = course / "job.out"
        words = ["--wait", "--nodes=2", f"--output={told}", str(script), *words]
        done = box.hosts.run("head", [submit, *words], capture_output=True, text=True)
        log = told.read_text() if told.exists() else ""
        assert done.returncode == 0, done.stdout + done.stderr + log
        return log

    with box:
        yield run


@pytest.fixture(scope="module")
def job(course, submitted):
    """`job("9_competition", "--short")`: what its program has measured on two nodes."""

    def run(lab, *words):
        out = course / lab
        submitted(course / "labs" / lab / "job.sbatch", *words, "--out", str(out))
        return json.loads((out / "measured.json").read_text())

    return run


@pytest.mark.long
def test_a_race_on_the_nodes_of_a_job_names_them(job):
    measured = job("9_competition", "--short", "--set", "seeds=1")
    assert measured["ground"]["nodes"] == ["node0", "node1"]
    for report in measured["results"].values():
        [machine] = report["machines"].values()
        assert machine["nodes"] == "2, ranks on each: 1, 1"
        assert "Mbit/s" in machine["network"]


@pytest.mark.long
def test_links_may_be_slowed_by_delay_where_one_cannot_have_slow_ones(job):
    measured = job("7_compression", "--short", "--set", "bandwidth=1e6")
    results = measured["results"]
    assert measured["ground"]["nodes"] == ["node0", "node1"]
    assert results["injected"]
    assert results["per byte"] > 1e-6
    # The bytes alone take so long, by the sleeps that are the delay.
    nbytes = 4 * measured["settings"]["numbers"]
    assert min(results["dense"]) >= nbytes * 1e-6


@pytest.mark.long
def test_torchrun_meets_on_the_nodes_of_a_job(course, submitted):
    script = course / "labs" / "3_scaling" / "torchrun.sbatch"
    told = submitted(script, "--samples", "8", "--width", "16")
    assert "gloo, 2 ranks on cpu: a step takes" in told
