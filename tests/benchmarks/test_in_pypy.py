"""The benchmark of interpreters: what a process tells, and a table of two of them."""

import sys

import pytest

from benchmarks import in_pypy
from ddl_teach import simulate


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(in_pypy, "RING", 16)
    small = (2 * 16 * 15, 0.05, lambda: simulate(in_pypy.summed, 16, trace=False))
    monkeypatch.setitem(in_pypy.PROGRAMS, "small", small)


def test_a_process_tells_its_interpreter_and_each_rate(small, capsys):
    in_pypy.alone("small")
    kind, version, *rates = capsys.readouterr().out.split()
    assert (kind, version) == ("CPython", ".".join(map(str, sys.version_info[:3])))
    assert len(rates) > 1
    assert all(float(rate) > 1000 for rate in rates)


def test_each_interpreter_has_a_row_of_its_first_and_later_programs(monkeypatch):
    told = {"one": ("CPython 3", [1e6, 2e6, 4e6]), "two": ("PyPy 7", [3e6, 8e6, 6e6])}
    monkeypatch.setattr(in_pypy, "in_a_process", lambda interpreter, _: told[interpreter])
    first, second = in_pypy.rows(["one", "two"], "ring", 3)
    assert first.split() == "ring, CPython 3 1.000 (1.000 to 1.000) 3.000 (3.000 to 3.000)".split()
    assert second.split() == "ring, PyPy 7 3.000 (3.000 to 3.000) 7.000 (7.000 to 7.000)".split()


@pytest.mark.parametrize("name", list(in_pypy.PROGRAMS)[:3])
def test_a_program_sends_as_many_messages_as_it_is_counted_with(name):
    messages, _, run = in_pypy.PROGRAMS[name]
    if name == "ring of 1,024 ranks":
        assert run().messages_sent == messages
    else:
        assert sum(len(book.messages) for book in run().ledger) == messages
