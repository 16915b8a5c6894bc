"""Simulated ranks in PyPy do the same as in CPython: results, times, messages, errors."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import any_interpreter
import pytest

FOLDER = Path(__file__).parent
PYPY = shutil.which("pypy3")
pytestmark = pytest.mark.skipif(PYPY is None, reason="there is no pypy3 (3.11 or later) here")


def in_pypy(*words):
    return subprocess.run(
        [PYPY, "-B", *words], capture_output=True, text=True, timeout=100,
        env=os.environ | {"PYTHONPATH": str(FOLDER.parents[1])},
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcomes():
    if in_pypy("-c", "import sys, numpy; assert sys.version_info >= (3, 11)").returncode:
        pytest.skip("this pypy3 is older than 3.11, or has no NumPy")
    shown = in_pypy(str(FOLDER / "any_interpreter.py"))
    assert shown.returncode == 0, shown.stderr
    return {name: outcome for name, *outcome in map(json.loads, shown.stdout.splitlines())}


@pytest.mark.parametrize("name", any_interpreter.SIMULATIONS)
def test_a_simulation_is_the_same(outcomes, name):
    assert outcomes[name] == any_interpreter.outcome(any_interpreter.SIMULATIONS[name])


def test_threads_are_refused(outcomes):
    shown = in_pypy("-c", "from ddl_teach import simulate; simulate(print, 2, threads=True)")
    assert "ValueError: threads=True needs CPython" in shown.stderr


def test_what_both_run_is_more_than_one_kind():
    kinds = {any_interpreter.outcome(each)[0] for each in any_interpreter.SIMULATIONS.values()}
    assert {"Deadlock", "RankFailed", "TimedOut"} < kinds
    assert sys.implementation.name == "cpython"
