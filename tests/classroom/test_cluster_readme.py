"""What `cluster_setup/README.md` says to type: each line runs, where this machine can run it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "cluster_setup"
README = (SETUP / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
TYPED = [line.split("  ")[0] for line in re.findall(r"(?:^    |`)(\S+ [^`\n]+)", README, re.M)]
SUBMITTED = [line for line in TYPED if line.startswith("cluster_setup/slurm/submit")]
PATIENCE = 200  # seconds, on the busiest machine


def typed(line, folder, **variables):
    """Type this line in the checkout, where `ddl-teach` and `python` are the course's."""
    for name in ("ddl-teach", "python"):
        module = " -m ddl_teach" if name == "ddl-teach" else ""
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable}{module} "$@"\n')
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "IPYTHONDIR": str(folder / "ipython")} | variables
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.real
def test_a_notebook_s_line_starts_engines_here(tmp_path):
    program = f"{SNIPPETS[0]}\nprint(engines.run(lambda comm: comm.rank).results)"
    answer = typed(f"python -c {shlex.quote(program)}", tmp_path)
    assert "[0, 1, 2, 3]" in answer


@pytest.mark.real
@pytest.mark.long
def test_engines_that_outlive_a_notebook_are_started_checked_used_and_stopped(tmp_path):
    [start, check, stop] = (
        next(line for line in TYPED if line.startswith(f"ddl-teach cluster {verb} laptop"))
        for verb in ("start", "check", "stop")
    )
    assert "4 engines run" in typed(start, tmp_path)
    try:
        answer = typed(f"python -c {shlex.quote(SNIPPETS[1])}", tmp_path)
        assert [f"{rank} 4 0" in answer for rank in range(4)] == [True] * 4, answer
        assert "fit for the course" in typed(check, tmp_path)
    finally:
        typed(stop, tmp_path)


@pytest.mark.real
@pytest.mark.long
def test_a_long_run_on_the_laptop_is_started_until_it_is_done(tmp_path):
    [line] = [line for line in TYPED if line.startswith("ddl-teach again --")]
    kept = tmp_path / "kept"
    # The tests' machine may have fewer cores, and its user may be root.
    allowed = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    allowed |= {f"OMPI_ALLOW_RUN_AS_ROOT{more}": "1" for more in ("", "_CONFIRM")}
    typed(line.replace("FOLDER", str(kept)), tmp_path, **allowed)
    assert (kept / "result.json").exists()


@pytest.mark.parametrize("line", SUBMITTED)
def test_jobs_are_submitted_with_scripts_that_exist(line, tmp_path):
    """By a planted `sbatch`; test_slurm_box runs such jobs on a real Slurm."""
    (tmp_path / "sbatch").write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    (tmp_path / "sbatch").chmod(0o755)
    words = typed(line, tmp_path).splitlines()
    assert "--time=00:30:00" in words
    [script] = [word for word in words if re.fullmatch(r"\S+\.sbatch|SCRIPT", word)]
    assert script == "SCRIPT" or (ROOT / script).exists()


def test_every_file_that_is_named_exists():
    rooms = "|".join(path.name for path in SETUP.iterdir() if path.is_dir())
    named = re.findall(rf"`((?:cluster_setup/)?(?:{rooms})/[\w./]+)`", README)
    assert named
    for path in named:
        assert any((top / path).exists() for top in (ROOT, SETUP)), path
