"""Which cores stand near which memory, on this machine and on planted ones, and what far costs."""

import os

import pytest

from ddl_measure.near_memory import copy_rates, parts_of_node


def planted(folder, lists):
    for number, text in enumerate(lists):
        part = folder / f"node{number}"
        part.mkdir(parents=True)
        (part / "cpulist").write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (["0-3", "4-7"], [{0, 1, 2, 3}, {4, 5}]),
        (["0,2,4-5", "1,3"], [{0, 2, 4, 5}, {1, 3}]),
        (["0-5", ""], [{0, 1, 2, 3, 4, 5}]),  # memory without cores
        (["0-1", "8-9"], [{0, 1}]),  # of which this process may use none
        ([], []),
    ],
)
def test_parts_are_those_whose_cores_this_process_may_use(tmp_path, monkeypatch, lists, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    assert parts_of_node(planted(tmp_path, lists)) == expected


def test_every_part_copies_the_memory_of_every_part_and_the_process_is_as_before():
    before = os.sched_getaffinity(0)
    parts = [{core} for core in sorted(before)[:2]]
    rates = copy_rates(parts, nbytes=1 << 16, repetitions=3)
    assert set(rates) == {(a, b) for a in range(len(parts)) for b in range(len(parts))}
    assert min(rates.values()) > 0
    assert os.sched_getaffinity(0) == before


def test_this_machine_has_at_least_one_part():
    assert set().union(*parts_of_node()) <= os.sched_getaffinity(0)


def test_where_no_process_can_be_bound_nothing_is_measured(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    assert copy_rates(parts_of_node()) == {}
