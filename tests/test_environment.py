"""The lock file, pyproject.toml and environment.yml say the same."""

import re
import sys
import sysconfig
import tomllib
from importlib.metadata import distributions, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from rattler import MatchSpec
from rattler.exceptions import InvalidMatchSpecError

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CORE = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
EXTRAS = {
    extra: [Requirement(line) for line in lines]
    for extra, lines in PROJECT["project"]["optional-dependencies"].items()
}
BUILD = [Requirement(line) for line in PROJECT["build-system"]["requires"]]
ASKED = [*BUILD, *CORE, *(each for extra in EXTRAS.values() for each in extra)]
REQUIREMENTS = [each for each in ASKED if each.name != "ddl-teach"]
LOCKED = {
    canonicalize_name(pin.name): pin
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line and not line.startswith("#")
    for pin in [Requirement(line)]
}
CONDA_LINES = [
    line
    for line in re.findall(r"^  - (.*)$", (ROOT / "environment.yml").read_text(), re.MULTILINE)
    if line != "conda-forge"  # the channel stands in the same form
]
CONDA_NAMES = {"torch": "pytorch"}  # where conda's name differs
CUDA = re.compile("nvidia-|cuda-|triton$")  # what torch adds where it comes with CUDA
only_in_venv = pytest.mark.skipif(
    Path(sys.prefix) != ROOT / ".venv", reason="only .venv is made from the lock"
)


def test_simulated_ranks_need_numpy_and_greenlet_alone():
    assert [each.name for each in CORE] == ["numpy", "greenlet"]


def test_a_class_gets_all_but_the_tests_and_the_tests_get_all():
    own = {extra: [r for r in EXTRAS[extra] if r.name == "ddl-teach"] for extra in EXTRAS}
    taken = {extra: set().union(*(r.extras for r in own[extra])) for extra in EXTRAS}
    assert taken["class"] == EXTRAS.keys() - {"class", "test"}
    assert taken["test"] == {"class"}


def version_of(pin):
    (exact,) = pin.specifier
    assert exact.operator == "==", f"{pin} is no exact pin"
    return exact.version


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_each_range_contains_its_pin(requirement):
    pin = LOCKED[canonicalize_name(requirement.name)]
    assert version_of(pin) in requirement.specifier


@pytest.mark.parametrize("pin", LOCKED.values(), ids=LOCKED)
def test_lock_pins_exactly(pin):
    assert version_of(pin)


def test_conda_has_the_same_packages_and_ranges():
    ours = {CONDA_NAMES.get(r.name, r.name): r.specifier for r in REQUIREMENTS}
    ours |= {"python": SpecifierSet(PROJECT["project"]["requires-python"]), "pip": SpecifierSet()}
    specs = {line.split()[0]: MatchSpec(line, strict=True) for line in CONDA_LINES}
    theirs = {name: SpecifierSet(spec.version or "") for name, spec in specs.items()}
    assert theirs == ours


def test_a_wrong_conda_line_is_noticed():
    with pytest.raises(InvalidMatchSpecError):
        MatchSpec("numpy >=2.0,<<3", strict=True)


@pytest.mark.parametrize(("name", "pin"), LOCKED.items(), ids=LOCKED)
@only_in_venv
def test_every_pin_runs_on_the_oldest_python(name, pin):
    oldest = f"{SpecifierSet(PROJECT['project']['requires-python'])}".removeprefix(">=") + ".0"
    if pin.marker is None or pin.marker.evaluate():
        needed = SpecifierSet(metadata(name).get("Requires-Python", ""))
        assert oldest in needed, f"{pin} needs Python {needed}"


@only_in_venv
def test_everything_installed_is_locked():
    # Not what packages carry inside themselves, and put on the path when they are imported.
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    found = distributions(path=folders)
    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in found}
    for name, version in installed.items():
        if name != "ddl-teach" and not CUDA.match(name):
            assert name in LOCKED, f"{name} is not locked: delete .venv, start.py makes it anew"
            assert version.partition("+")[0] == version_of(LOCKED[name])
