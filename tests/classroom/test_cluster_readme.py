"""What `cluster_setup/README.md` says to type: each line runs, where this machine can run it."""

import json
import re

import nbformat
import pytest
from readme_of_clusters import COMMANDS, README, ROOT, SETUP, SNIPPETS, line, typed

SUBMITTED = [each for each in COMMANDS if each.startswith("cluster_setup/slurm/submit")]
# The beginnings of those that other tests type, and in which file they stand in these words.
ELSEWHERE = {
    "ddl-teach box up": "classroom/test_cluster_readme_nodes",
    "ddl-teach box exec head": "classroom/test_cluster_readme_nodes",
    "ddl-teach box down": "classroom/test_cluster_readme_nodes",
    "ddl-teach cluster start box": "classroom/test_cluster_readme_nodes",
    "ddl-teach cluster check box": "classroom/test_cluster_readme_nodes",
    "ddl-teach cluster stop box": "classroom/test_cluster_readme_nodes",
    "ddl-teach cluster start slurm": "classroom/test_slurm_box",
    "ddl-teach cluster check slurm": "classroom/test_slurm_box",
    "ddl-teach cluster stop slurm": "classroom/test_slurm_box",
    "srun --mpi=": "classroom/test_slurm_box",
    ". ": "classroom/test_slurm_box",
    "$SITE_MPI": "classroom/test_slurm_box",
    "cluster_setup/jupyter/install_kernel": "classroom/test_site_files",
    "scancel --batch": "classroom/test_slurm_box",
    "scontrol requeue": "classroom/test_slurm_box",
    "ddl-teach cluster start hosts": "classroom/test_hosts_by_ssh",
    "ddl-teach cluster check hosts": "classroom/test_hosts_by_ssh",
    "ddl-teach cluster stop hosts": "classroom/test_hosts_by_ssh",
    "ssh-keygen": "classroom/test_hosts_by_ssh",
    "ssh-copy-id": "classroom/test_hosts_by_ssh",
    "ssh -L": "classroom/test_hosts_by_ssh",
    "cluster_setup/system_mpi": "classroom/test_system_mpi",
    ".venv/bin/pip install": "hub_site",
    "npm install": "hub_site",
    "install -d": "hub_site",
    "export DDL_HUB_ADDRESS": "hub_site",
    ".venv/bin/jupyterhub": "hub_site",
}
HERE = ("ddl-teach cluster start laptop", "ddl-teach cluster check laptop", "ddl-teach again --")
HERE += ("ddl-teach cluster stop laptop", "cluster_setup/slurm/submit")
# Those that are not typed, and why.
UNTYPED = {
    "python3 start.py": "it makes the environment that the tests run in; test_start types it",
    "ddl-teach cluster check GROUND": "the rows of the grounds say it with each name",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_typed_or_it_is_known_why_not(command):
    known = [each for each in (*ELSEWHERE, *HERE, *UNTYPED) if command.startswith(each)]
    assert len(known) == 1, known
    if test := ELSEWHERE.get(known[0]):
        assert f'"{known[0]}' in (ROOT / "tests" / f"{test}.py").read_text()


def in_a_script(code, folder):
    (folder / "script.py").write_text(code)
    return typed(f"python {folder}/script.py", folder, PYTHONPATH=str(ROOT))


def in_a_notebook(code, folder):
    cells = [nbformat.v4.new_code_cell(part) for part in code.split("\n\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "own.ipynb")
    line = f"jupyter execute --inplace {folder}/own.ipynb"
    typed(line, folder, PYTHONPATH=str(ROOT))
    ran = json.loads((folder / "own.ipynb").read_text())
    return json.dumps([cell["outputs"] for cell in ran["cells"]])


ways = pytest.mark.parametrize("way", [in_a_script, in_a_notebook])


@pytest.mark.real
@ways
def test_the_first_snippet_starts_engines_here(way, tmp_path):
    answer = way(f"{SNIPPETS[0]}\nprint(engines.run(lambda comm: comm.rank).results)", tmp_path)
    assert "[0, 1, 2, 3]" in answer


@pytest.mark.real
@pytest.mark.long
@ways
def test_engines_that_outlive_a_notebook_are_started_checked_used_and_stopped(way, tmp_path):
    [start, check, stop] = (
        line(f"ddl-teach cluster {verb} laptop") for verb in ("start", "check", "stop")
    )
    assert "4 engines run" in typed(start, tmp_path)
    try:
        answer = way(SNIPPETS[1], tmp_path)
        assert [f"{rank} 4 0" in answer for rank in range(4)] == [True] * 4, answer
        assert "fit for the course" in typed(check, tmp_path)
    finally:
        typed(stop, tmp_path)


@pytest.mark.real
@pytest.mark.long
def test_a_long_run_on_the_laptop_is_started_until_it_is_done(tmp_path):
    kept = tmp_path / "kept"
    # The tests' machine may have fewer cores, and its user may be root.
    allowed = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    allowed |= {f"OMPI_ALLOW_RUN_AS_ROOT{more}": "1" for more in ("", "_CONFIRM")}
    typed(line("ddl-teach again --").replace("FOLDER", str(kept)), tmp_path, **allowed)
    assert (kept / "result.json").exists()


@pytest.mark.parametrize("command", SUBMITTED)
def test_jobs_are_submitted_with_scripts_that_exist(command, tmp_path):
    """By a planted `sbatch`; test_slurm_box runs such jobs on a real Slurm."""
    (tmp_path / "sbatch").write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    (tmp_path / "sbatch").chmod(0o755)
    words = typed(command, tmp_path).splitlines()
    assert "--time=00:30:00" in words
    [script] = [word for word in words if re.fullmatch(r"\S+\.sbatch|SCRIPT", word)]
    assert script == "SCRIPT" or (ROOT / script).exists()


def test_every_file_that_is_named_exists():
    rooms = "|".join(path.name for path in SETUP.iterdir() if path.is_dir())
    named = re.findall(rf"`((?:cluster_setup/)?(?:{rooms})/[\w./]+)`", README)
    assert named
    for path in named:
        assert any((top / path).exists() for top in (ROOT, SETUP)), path
