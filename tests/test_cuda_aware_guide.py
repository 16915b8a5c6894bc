"""What the guide to CUDA-aware MPI and environment.yml tell people to type can be typed."""

import re
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from rattler import MatchSpec

from ddl_class.doctor.gpu_checks import GUIDE, SWITCHES

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / GUIDE.split()[0]).read_text()
HEAD = re.findall(r"^#(     .*)$", (ROOT / "environment.yml").read_text(), re.MULTILINE)
LINES = [
    line.partition("  #")[0].strip()
    for line in [*re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE), *HEAD]
]
OPTIONS_WITH_WORD = ("-c", "--channel")


def packages(command):
    """The packages that the lines with this command name."""
    for line in LINES:
        if line.startswith(command):
            words = iter(shlex.split(line.removeprefix(command)))
            for word in words:
                if word in OPTIONS_WITH_WORD:
                    next(words)
                elif not word.startswith("-"):
                    yield word


def test_conda_accepts_each_package():
    names = [MatchSpec(spec, strict=True).name.normalized for spec in packages("conda install")]
    assert set(names) == {"openmpi", "ucx", "cuda-version", "mpich"}


def test_openmpi_is_in_the_range_of_the_environment():
    declared = re.search(
        r"^  - (openmpi .*)$", (ROOT / "environment.yml").read_text(), re.MULTILINE
    )
    ranges = {spec for spec in packages("conda install") if spec.startswith("openmpi")}
    assert ranges == {declared[1]}


def test_pip_accepts_each_package():
    named = [*packages("pip uninstall"), *re.findall(r"`pip install (\S+)`", PAGE)]
    assert {Requirement(word).name for word in named} == {"openmpi", "mpich", "libucx-cu12"}


def test_the_doctor_asks_for_the_variables_that_the_page_sets():
    settings = [line for line in LINES if line.startswith("conda env config vars set")]
    assert len(settings) == 2  # on the page and in environment.yml
    for line in settings:
        pairs = dict(word.split("=") for word in line.split() if "=" in word)
        assert pairs == SWITCHES


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_shell_understands_each_line(line):
    assert shlex.split(line, posix=True)
