"""Any legal program ends, with the same messages on both grounds; any other ends in its story."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import TYPES, follow, random_steps

from ddl_runtime.diagnosis.deadlock import Deadlock, RankFailed
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.point_to_point import Machine, TwoLevel, Uniform
from ddl_teach import simulate

SEEDS = range(12)
NETWORKS = (Uniform(), Uniform(1e-6, 1e9, 1e-7, 1e-7), TwoLevel(3), FatTree(4))


def one_after_another(comm, seeds, depth):
    return [follow(comm, random_steps(seed, comm.size, depth=depth)) for seed in seeds]


def host_messages(run):
    return sum(ledger.by_kind()["host"] for ledger in run.ledger)


@pytest.mark.parametrize("depth", [0, 1], ids=["", "with background functions"])
@pytest.mark.sampled(8)
def test_legal_programs_end_with_the_same_messages_on_both_grounds(real, ranks, depth):
    measured = real(one_after_another, ranks, seeds=SEEDS, depth=depth)
    simulated = simulate(one_after_another, ranks, seeds=SEEDS, depth=depth)
    assert measured.results == simulated.results
    assert sum(map(sum, measured.results)) == host_messages(measured)
    for one, other in zip(measured.ledger, simulated.ledger, strict=True):
        if depth:  # what runs beside the program sends when it comes to it
            assert Counter(one.messages) == Counter(other.messages)
        else:
            assert one.messages == other.messages


@pytest.mark.slow
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(NETWORKS),
    st.sampled_from([Machine(), Machine(jitter=0.5, latency_jitter=1.0)]),
)  # fmt: skip
@settings(max_examples=100)
def test_no_legal_program_deadlocks_on_simulated_ranks(seed, ranks, network, machine):
    steps = random_steps(seed, ranks)
    run = simulate(follow, ranks, network=network, machine=machine, steps=steps)
    assert sum(run.results) == host_messages(run)


# -- one mistake ----------------------------------------------------------------------------


def with_a_mistake(seed, ranks, kind):
    """A program in which one message is not what its receiver expects, and that message."""
    dice = random.Random(f"{seed} {kind}")
    for attempt in itertools.count():
        steps = random_steps((seed, attempt), ranks, depth=0, tags=itertools.count())
        messages = [position for position, step in enumerate(steps) if step.kind == "message"]
        if messages:
            break
    position = dice.choice(messages)
    right = steps[position]
    others = [name for name in TYPES if name != right.dtype]
    wrong = {
        "no send": None,
        "another tag": replace(right, tag=9999),
        "another type": replace(right, dtype=dice.choice(others)),
        "another size": replace(right, count=right.count + 1),
    }[kind]
    return steps, [*steps[:position], wrong, *steps[position + 1 :]], right, wrong


def told(ground, ranks, seed, kind):
    """The error of a program with a mistake, which must name the message; and whether it is short,
    so that nobody waits to get rid of it."""
    steps, sends, right, wrong = with_a_mistake(seed, ranks, kind)
    with pytest.raises((Deadlock, RankFailed)) as caught:
        ground(follow, ranks, steps=steps, sends=sends)
    error, text = caught.value, str(caught.value)
    short = right.count <= 100
    if isinstance(error, RankFailed):
        assert kind in ("another type", "another size"), text
        assert f"(tag {right.tag}) that does not fit" in text
        names = [step.dtype.replace("torch", "bfloat16") for step in (right, wrong)]
        assert all(name in text for name in names), text
    else:
        assert kind in ("no send", "another tag") or (not short and ground is not simulate), text
        calls = [wait.call for wait in error.waits]
        named = [f"(source={right.source}, tag={right.tag})"]
        named += [] if short or wrong is None else [f"(to={right.dest}, tag={wrong.tag})"]
        assert any(name in call for name in (*named, "wait_any") for call in calls), text
    return error, short


MISTAKES = ("no send", "another tag", "another type", "another size")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", MISTAKES)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.sampled(12)
def test_one_mistake_ends_in_the_same_story_on_both_grounds(real, ranks, kind, seed):
    (measured, short), (simulated, _) = (
        told(ground, ranks, seed, kind) for ground in (real, simulate)
    )
    assert not short or type(measured) is type(simulated)
    if isinstance(measured, RankFailed):
        assert measured.rank == simulated.rank


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(2, 12), st.sampled_from(MISTAKES))
@settings(max_examples=150)
def test_one_mistake_ends_in_a_story_on_simulated_ranks(seed, ranks, kind):
    told(simulate, ranks, seed, kind)
