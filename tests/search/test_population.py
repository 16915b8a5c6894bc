"""A population is the same on any ranks, to the bit; losers copy winners; a kill costs time."""

import os
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from ddl_runtime.diagnosis.deadlock import Interrupted, RankFailed
from ddl_teach import simulate
from ddl_teach.search.attempt import SearchFailed
from ddl_teach.search.journal import Generations
from ddl_teach.search.population import PopulationPlan, copy_states, exploit, train_population
from ddl_teach.search.space import Choice, LogUniform, Space

RANKS = (1, 2, 3, 4, 5, 8)
SPACE = Space({"rate": LogUniform(0.01, 10), "size": Choice(3, 40)})
PLANS = [
    PopulationPlan(7, 4, 3, 0.25, seed=1),
    PopulationPlan(3, 3, 2, 0.4),
    PopulationPlan(8, 3, 1, 0.5, seed=5),
    PopulationPlan(1, 2),
]


def descend(settings, state, steps, seed, marks=None, bomb=None):
    """A parabola of so many dimensions; rates above 2 crash. `marks` is a file of all runs."""
    weights = np.full(settings["size"], 1.0 + seed) if state is None else state["weights"].copy()
    done = steps + (0 if state is None else state["done"])
    if bomb is not None and settings["rate"] <= 2 and done > bomb:
        raise KeyboardInterrupt
    if marks is not None:
        with open(marks, "a") as file:
            file.write("x")
    if settings["rate"] > 2:
        raise OverflowError("this rate is too large")
    for _ in range(steps):
        weights -= settings["rate"] * weights * np.linspace(0.1, 1, len(weights))
    return {"weights": weights, "done": done}, float(weights @ weights)


def populations(comm, plans):
    return [train_population(comm, descend, SPACE, plan) for plan in plans]


ALONE = simulate(populations, 1, plans=PLANS).results[0]


def as_known(family):
    """What all ranks must agree about."""
    rows = [np.array(family.losses), np.array(family.parents), family.winner["weights"]]
    return [row.tobytes() for row in rows], family.settings, str(family)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.sampled(3)
def test_any_ranks_train_the_same_population(real, ranks):
    grounds = [simulate(populations, ranks, plans=PLANS), real(populations, ranks, plans=PLANS)]
    for run in grounds:
        for place, alone in enumerate(ALONE):
            families = [result[place] for result in run.results]
            for family in families:
                assert as_known(family) == as_known(alone)
            states = {member: s for family in families for member, s in family.states.items()}
            assert states.keys() == alone.states.keys()
            for member, state in alone.states.items():
                assert (state is None) == (states[member] is None)
                assert state is None or states[member].tobytes() == state.tobytes()
            assert {at: why for one in families for at, why in one.errors.items()} == alone.errors


def test_the_populations_above_crash_and_copy():
    assert {*ALONE[0].errors.values()} == {"OverflowError: this rate is too large"}
    for family in ALONE[:3]:
        assert (np.array(family.parents) != np.arange(len(family.losses[0]))).any()


def copies(comm, parents, sizes):
    """Each member's state are bytes that nobody else has."""
    members = np.arange(len(parents))
    mine = members[
        len(members) * comm.rank // comm.size : len(members) * (comm.rank + 1) // comm.size
    ]
    states = {
        m: np.random.default_rng(m).integers(0, 256, sizes[m], np.uint8) for m in mine.tolist()
    }
    before = comm.ledger.bytes_sent
    return copy_states(comm, parents, states), comm.ledger.bytes_sent - before


@pytest.mark.parametrize("ranks", RANKS)
def test_exploit_copies_bit_for_bit_and_sends_only_what_must_travel(real, ranks):
    sizes = [0, 1, 1000, 17, 70_000, 5, 5, 9, 300, 2, 64]
    parents = np.array([2, 1, 2, 4, 4, 4, 8, 8, 8, 2, 4])
    owner = [
        rank for rank in range(ranks) for _ in range(11 * rank // ranks, 11 * (rank + 1) // ranks)
    ]
    for run in (
        simulate(copies, ranks, parents=parents, sizes=sizes),
        real(copies, ranks, parents=parents, sizes=sizes),
    ):
        found = {child: state for states, _ in run.results for child, state in states.items()}
        for child, parent in enumerate(parents.tolist()):
            expected = np.random.default_rng(parent).integers(0, 256, sizes[parent], np.uint8)
            assert found[child].tobytes() == expected.tobytes()
        travelled = sum(sizes[p] for c, p in enumerate(parents) if owner[c] != owner[p])
        assert sum(sent for _, sent in run.results) == travelled + 8 * 11 * (ranks - 1)


@pytest.mark.parametrize("crashed", range(4))
def test_the_worst_copy_the_best(crashed):
    random = np.random.default_rng(crashed)
    for generation in range(30):
        plan = PopulationPlan(members=int(random.integers(4, 40)), share=random.uniform(0, 0.5))
        losses = random.random(plan.members)
        losses[random.choice(plan.members, crashed, replace=False)] = np.inf
        parents = exploit(losses, plan, generation)
        few = int(plan.share * plan.members)
        copied = parents != np.arange(plan.members)
        assert copied.sum() == max(few, crashed)
        assert copied[np.isinf(losses)].all()
        assert losses[~copied].max() <= losses[copied].min() if copied.any() else few == 0
        best = np.sort(losses)[max(few, 1) - 1]
        assert (losses[parents[copied]] <= best).all()
        assert np.isfinite(losses[parents]).all()
        assert (parents == exploit(losses, plan, generation)).all()


def test_lines_lead_back_to_the_beginning():
    family = ALONE[0]
    line = family.ancestors(family.best)
    for parents, (before, after) in zip(family.parents[1:], pairwise(line), strict=True):
        assert parents[after] == before
    for before, after in pairwise(family.schedule("rate")):
        assert after in (before, *np.clip([0.8 * before, 1.2 * before], 0.01, 10))


def test_a_killed_population_goes_on_on_other_ranks_and_is_as_if_nothing_had_been(real, tmp_path):
    plan, alone, marks = PLANS[0], ALONE[0], tmp_path / "marks"
    where = {"space": SPACE, "plan": plan, "journal": partial(Generations, tmp_path / "journal")}
    grounds = [partial(simulate, ranks=3), partial(real, ranks=2), partial(simulate, ranks=5)]
    for generations, run in enumerate(grounds, 1):
        bomb = partial(descend, marks=marks, bomb=3 * generations)
        with pytest.raises((Interrupted, RankFailed)):
            run(train_population, training=bomb, **where)
    resumed = real(train_population, 4, training=partial(descend, marks=marks), **where)
    for family in resumed.results:
        assert as_known(family) == as_known(alone)
    # A generation that was interrupted is done again, one that was finished is not.
    done = marks.stat().st_size
    assert 7 * plan.generations <= done <= 7 * (plan.generations + len(grounds))
    again = simulate(train_population, 2, training=partial(descend, marks=marks), **where)
    assert as_known(again.results[1]) == as_known(alone)
    assert marks.stat().st_size == done
    assert len(os.listdir(tmp_path / "journal")) <= 1 + 2 * plan.members
    other = {**where, "plan": PopulationPlan(7, 4, 3, 0.25, seed=2)}
    with pytest.raises(RankFailed, match="of another search"):
        simulate(train_population, 2, training=descend, **other)


def test_when_nobody_is_left_the_error_says_why():
    hopeless = Space({"rate": LogUniform(2.5, 3), "size": Choice(1)})
    with pytest.raises(
        RankFailed, match=r"all 4 members crashed in generation 0.*too large"
    ) as told:
        simulate(train_population, 2, training=descend, space=hopeless, plan=PopulationPlan(4))
    assert isinstance(told.value.__cause__, SearchFailed)


@pytest.mark.parametrize(
    "wrong", [{"members": 0}, {"generations": 0}, {"steps": 0}, {"share": 0.6}]
)
def test_plans_that_cannot_be_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        PopulationPlan(**wrong)
