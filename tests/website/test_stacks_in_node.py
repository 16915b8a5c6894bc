"""Both kinds of stacks give the same, to the bit; the simulator's own tests pass in Pyodide.

No registry has NumPy for Pyodide: a stand-in beside this file takes its place, so what needs more
than small arrays is not tried here.
"""

import contextlib
import io
import json
import re
import runpy

import pytest
from in_node import HERE, run_in_node

pytestmark = [pytest.mark.long, pytest.mark.browser]
FILES = ("test_simulator.py", "test_simulated_endings.py", "test_timeline_columns.py")
SUBPROCESS = "test_simulator.py::test_a_run_is_the_same_to_the_bit_in_any_process"


def test_programs_give_the_same_on_both_kinds_of_stacks():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(HERE / "both_stacks.py"))
    there, status = run_in_node(HERE / "both_stacks.py")
    assert status == 0, there
    own, given = json.loads(printed.getvalue()), json.loads(there.splitlines()[-1])
    assert given.keys() == own.keys()
    assert {name: (own[name], given[name]) for name in own if own[name] != given[name]} == {}


def test_the_simulators_own_tests_pass_in_pyodide():
    words = [f"tests/runtime/{name}" for name in FILES]
    printed, _ = run_in_node(
        HERE / "pytest_in_pyodide.py", *words, f"--deselect=tests/runtime/{SUBPROCESS}"
    )
    passed = re.search(r"^(\d+) passed", printed.splitlines()[-1])
    assert passed, printed
    assert int(passed[1]) >= 30


def test_a_browser_without_jspi_is_told_which_can():
    printed, status = run_in_node(HERE / "both_stacks.py", WITHOUT_JSPI="1")
    assert status
    assert "This browser cannot lay a stack aside" in printed
    assert "Chrome and Edge can" in printed
