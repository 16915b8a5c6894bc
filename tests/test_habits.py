"""Versions, workflows, forms and guides agree with the code that they describe."""

import ast
import re
import shlex
import tomllib
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ddl_class.grading.inside import system_calls
from ddl_class.grading.inside.project import SHOWN
from ddl_class.grading.sandbox import NO_WALLS, Limits
from tests import test_walls as walls

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RELEASES = re.findall(r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def read_yaml(name):
    return yaml.safe_load((ROOT / name).read_text())


def test_the_newest_release_of_the_change_log_is_this_version():
    newest, released = RELEASES[0]
    ending = ".dev0" if released == "unreleased" else ""
    assert PROJECT["version"] == newest + ending


def test_releases_stand_newest_first_with_their_dates():
    versions = [Version(number) for number, _ in RELEASES]
    assert versions == sorted(set(versions), reverse=True)
    dates = [date.fromisoformat(day) for _, day in RELEASES if day != "unreleased"]
    assert len(dates) >= len(RELEASES) - 1
    assert dates == sorted(dates, reverse=True)


def test_the_citation_says_what_the_package_says():
    citation = read_yaml("CITATION.cff")
    assert citation.keys() >= {"cff-version", "message", "title", "authors"}  # required by 1.2.0
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]


SECURITY = (ROOT / "SECURITY.md").read_text()
MIB = 2**20


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("time by the clock", f"{Limits().seconds:g} s"),
        (
            "memory of all ranks together, with what they map to share",
            f"{Limits().memory // MIB} MiB",
        ),
        ("private `/tmp`, and any file", f"{Limits().scratch // MIB} MiB"),
        ("messages under way", f"{Limits().under_way // MIB} MiB"),
    ],
)
def test_the_security_page_says_the_limits_that_hold(limit, value):
    assert f"\n| {limit} | {value} |\n" in SECURITY


def test_the_security_page_says_what_a_submission_sees_and_what_it_takes():
    *others, last = (f"`{name}`" for name in SHOWN)
    assert f"of this project only {', '.join(others)} and {last}." in SECURITY
    assert f"seccomp knows {' and '.join(system_calls.PROCESSORS)}." in SECURITY
    (command,) = re.findall(r"sudo .*", NO_WALLS)
    assert f"`{command}`" in SECURITY


@pytest.mark.parametrize(
    "path", re.findall(r"`(inside/\w+\.py|tests/\S+\.py|[A-Z]+\.md)`", SECURITY)
)
def test_files_that_the_security_page_names_are_there(path):
    folder = ROOT / "ddl_class" / "grading" if path.startswith("inside") else ROOT
    assert (folder / path).is_file()


JOBS = read_yaml(".github/workflows/ci.yml")["jobs"]
CLASSIFIED = [
    word
    for classifier in PROJECT["classifiers"]
    if (word := classifier.removeprefix("Programming Language :: Python :: "))[:2] == "3."
]


def commands_of(job):
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


def test_hosted_tests_run_on_each_python_that_the_package_names():
    assert JOBS["linux"]["strategy"]["matrix"]["python"] == CLASSIFIED
    allowed = SpecifierSet(PROJECT["requires-python"])
    first = Version(CLASSIFIED[0])
    assert all(f"{version}.0" in allowed for version in CLASSIFIED)
    assert f"{first.major}.{first.minor - 1}.99" not in allowed


@pytest.mark.parametrize("version", CLASSIFIED)
def test_start_py_looks_for_each_python_that_the_package_names(version):
    assert f'"python{version}"' in (ROOT / "start.py").read_text()


@pytest.mark.parametrize("name", ["linux", "macos", "mpich"])
def test_hosted_tests_are_the_readme_s_test_command(name):
    (command,) = (ROOT / ".ci" / "run").read_text().splitlines()[1:]
    assert commands_of(JOBS[name])[-1].startswith(command)


def test_hosted_tests_leave_out_only_files_that_are_there():
    words = shlex.split("\n".join(line for job in JOBS.values() for line in commands_of(job)))
    left_out = [word.partition("=")[2] for word in words if word.startswith("--ignore")]
    assert left_out == ["tests/test_environment.py"]
    assert (ROOT / left_out[0]).is_file()


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_forms_for_issues_are_whole(name):
    form = read_yaml(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form.keys() >= {"name", "description", "body"}  # required by forms
    assert {field["type"] for field in form["body"]} <= {"markdown", "textarea", "input"}
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["attributes"]["label"] for field in asked)
    names = [field["id"] for field in asked]
    assert sorted(names) == sorted(set(names))
    assert any(field.get("validations", {}).get("required") for field in asked)


@pytest.mark.parametrize(("asked", "lines"), [("gpu", ["Skipped: no GPU"]), ("not long", [])])
def test_who_asked_for_tests_of_a_gpu_alone_reads_why_they_were_skipped(request, asked, lines):
    written = []
    report = SimpleNamespace(longrepr=("a file", 1, "Skipped: no GPU"))
    reporter = SimpleNamespace(stats={"skipped": [report] * 2}, write_line=written.append)
    guards = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    config = SimpleNamespace(option=SimpleNamespace(markexpr=asked))
    guards.pytest_terminal_summary(reporter, config)
    assert written == lines


def test_hooks_before_a_commit_need_no_network():
    for repository in read_yaml(".pre-commit-config.yaml")["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            python, *words = hook["entry"].split()
            assert (hook["language"], python) == ("system", ".venv/bin/python")
            assert words[0] == "-m" or (ROOT / words[0]).is_file()


HOUSE = (ROOT / "docs" / "architecture.md").read_text()
(PICTURE,) = re.findall(r"```text\n(.*?)```", HOUSE, re.DOTALL)
FLOORS = [line.split() for line in PICTURE.splitlines()]
IN_WORDS = {
    "nothing": set(),
    "the ground": walls.GROUND,
    "the package's face": {""},
    "every room below": walls.BELOW["ddl_measure"],
    "every room": walls.BELOW["ddl_class"],
}
ROWS = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", HOUSE, re.MULTILINE)


def test_each_room_has_one_place_in_the_picture_of_the_house():
    assert sorted(room for floor in FLOORS for room in floor) == sorted(walls.BELOW)
    assert sorted(room for room, _ in ROWS) == sorted(walls.BELOW)


@pytest.mark.parametrize("level", range(len(FLOORS)))
def test_rooms_import_only_floors_below(level):
    below = {room for floor in FLOORS[level + 1 :] for room in floor}
    for room in FLOORS[level]:
        assert walls.BELOW[room] <= {"", *below}


@pytest.mark.parametrize(("room", "words"), ROWS)
def test_the_page_about_the_house_says_what_each_room_may_import(room, words):
    parts = [IN_WORDS.get(part, {part.strip("`")}) for part in words.split(", ")]
    assert set().union(*parts) == walls.BELOW[room]


@pytest.mark.parametrize("step", re.findall(r"^\d+\. `(\S+\.py:\S+)`", HOUSE, re.MULTILINE))
def test_each_step_of_a_walk_is_there(step):
    path, _, name = step.partition(":")
    body = ast.parse((ROOT / path).read_text()).body
    for part in name.split("."):
        (found,) = [one for one in body if getattr(one, "name", "") == part]
        body = found.body
    assert isinstance(found, ast.FunctionDef)


NAMED = {
    path
    for page in ("CONTRIBUTING.md", "docs/architecture.md", "SECURITY.md")
    for path in re.findall(r"`([\w.]+/[\w./]*)`", (ROOT / page).read_text())
    if not re.search(r"NN|N_|_N\b|NAME|inside/|/built/", path)
}


@pytest.mark.parametrize("path", sorted(NAMED))
def test_paths_that_the_guides_name_are_there(path):
    assert (ROOT / path).exists()
