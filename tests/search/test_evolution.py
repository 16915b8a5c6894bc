"""Evolution, controller, and the order in which they learn: laws, and the same on any ranks."""

import itertools
from collections import deque

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ddl_teach import simulate
from ddl_teach.search.architectures.cells import CELLS
from ddl_teach.search.architectures.evolution import Evolution, Individual, mutated, tournament
from ddl_teach.search.architectures.reinforce import Reinforce, slope
from ddl_teach.search.by_ranks import search
from ddl_teach.search.deciders.in_turn import PROPOSE
from ddl_teach.search.deciders.random import RandomSearch
from ddl_teach.search.space import Choice, LogUniform, Space
from ddl_teach.training.tasks.perceptron import softmax

RANKS = (1, 2, 3, 4, 5, 8)

TINY = Space({"a": Choice(0, 1, 2), "b": Choice("x", "y"), "c": Choice("only")})
LINE = Space({f"gene {place}": Choice(*range(5)) for place in range(8)})


def by_table(chosen, state, steps, seed):
    """A score without training: what is counted is how far genes are from 3; some tie."""
    return {}, sum(abs(gene - 3) for gene in chosen.values()) / 10


def carried_out(decider, training=by_table):
    """One worker by hand; the losses by trial."""
    losses = []
    while (job := decider.next()) is not None:
        losses.append(training(job.settings, None, job.steps, job.seed)[1])
        decider.tell(job, losses[-1])
    assert decider.finished
    return losses


def by_the_paper(space, trials, population, sample, seed):
    """Algorithm 1 of Real et al. 2019, line by line, drawing the same random numbers."""
    alive, history = deque(), []
    while len(history) < trials:
        number = len(history)
        random = np.random.default_rng([PROPOSE, seed, number])
        if number < population:
            child = space.sample(seed, number)
        else:
            drawn = [alive[place] for place in random.integers(population, size=sample)]
            parent = min(drawn, key=lambda one: (one[1], alive.index(one)))
            child = mutated(space, parent[0], random)
        alive.append((child, by_table(child, None, 1, 0)[1], number))
        history.append(child)
        if len(alive) > population:
            alive.popleft()
    return history


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_the_oldest_leaves_and_the_sequence_is_the_papers(population, sample, seed):
    decider = Evolution(LINE, 30, 1, seed, ahead=1, population=population, sample=sample)
    proposed = []
    while (job := decider.next()) is not None:
        assert [one.trial for one in decider.alive] == [*range(job.trial)][-population:]
        proposed.append(job.settings)
        decider.tell(job, by_table(job.settings, None, 1, 0)[1])
    assert proposed == by_the_paper(LINE, 30, population, sample, seed)
    assert [one.trial for one in decider.decisions] == list(range(30 - population))


def test_without_ageing_the_worst_leaves():
    decider = Evolution(LINE, 40, 1, 3, population=6, sample=2, ageing=False)
    losses = carried_out(decider)
    assert sorted(one.loss for one in decider.alive) == sorted(losses)[:6]


@given(st.lists(st.integers(0, 3), min_size=1), st.data())
def test_a_tournament_is_won_by_the_best_of_the_sample(losses, data):
    alive = [Individual(10 + place, {}, loss) for place, loss in enumerate(losses)]
    places = data.draw(st.lists(st.integers(0, len(losses) - 1), min_size=1))
    winner = tournament(alive, places)
    assert winner.loss == min(losses[place] for place in places)
    assert winner.trial == 10 + min(p for p in places if losses[p] == winner.loss)


def test_a_mutation_changes_one_choice_and_reaches_every_neighbour():
    parent = {"a": 1, "b": "x", "c": "only"}
    children = [mutated(TINY, parent, np.random.default_rng(seed)) for seed in range(100)]
    found = {tuple(child.values()) for child in children}
    assert found == {(0, "x", "only"), (2, "x", "only"), (1, "y", "only")}
    assert parent == {"a": 1, "b": "x", "c": "only"}


def test_evolution_and_controller_find_more_than_chance_at_the_same_budget():
    def mean_best(make):
        return np.mean([min(carried_out(make(seed))) for seed in range(8)])

    by_chance = mean_best(lambda seed: RandomSearch(LINE, 150, 1, seed))
    assert mean_best(lambda seed: Evolution(LINE, 150, 1, seed)) < by_chance - 0.1
    assert mean_best(lambda seed: Reinforce(LINE, 150, 1, seed)) < by_chance - 0.1


# -- the order of learning -------------------------------------------------------------------


def crashes_sometimes(chosen, state, steps, seed):
    if sum(chosen.values()) % 7 == 0:
        raise RuntimeError("this one never works")
    return by_table(chosen, state, steps, seed)


def searches(comm, pace=None):
    """Several deciders one after another; trials, settings and losses of each, on rank 0."""
    found = []
    for decider in DECIDERS:
        report = search(comm, crashes_sometimes, decider, pace=pace)
        if report is not None:
            ordered = sorted(report.records, key=lambda record: record.trial)
            found.append([(it.trial, it.settings, it.loss) for it in ordered])
    return found


DECIDERS = (
    Evolution(LINE, 24, 1, 5, ahead=3, population=5, sample=2),
    Evolution(LINE, 24, 1, 5, ahead=1, population=5, sample=2),
    Reinforce(LINE, 24, 1, 5, ahead=4),
)


def uneven(rank, job):
    return 1.0 + (job.trial * 7 % 5) / 2 + rank / 3


def test_a_search_with_a_bound_is_the_same_on_all_ranks(real):
    [expected] = simulate(searches, 1).results
    assert all(sum(loss is not None for *_, loss in trials) == 24 for trials in expected)
    assert any(loss is None for trials in expected for *_, loss in trials)
    for count in RANKS:
        assert real(searches, count).results[0] == expected
        assert simulate(searches, count, pace=uneven).results[0] == expected


def test_more_workers_are_used_up_to_the_bound_and_without_one_nobody_waits():
    def busiest(comm, ahead):
        decider = Evolution(LINE, 60, 1, 5, ahead=ahead, population=5, sample=2)
        report = search(comm, by_table, decider, pace=uneven)
        if report is not None:
            begun = sorted(record.start for record in report.records)
            together = [
                sum(it.start <= moment < it.end for it in report.records) for moment in begun
            ]
            return max(together), report.progress.seconds

    bounded, seconds = simulate(busiest, 9, ahead=3).results[0]
    free, fewer = simulate(busiest, 9, ahead=None).results[0]
    assert (bounded, free) == (3, 8)
    assert fewer < seconds


def test_without_a_bound_the_next_trial_is_always_there():
    decider = Evolution(LINE, 12, 1, population=4)
    jobs = [decider.next() for _ in range(12)]
    assert None not in jobs
    assert decider.next() is None
    assert not decider.finished
    for job in reversed(jobs):
        decider.tell(job, by_table(job.settings, None, 1, 0)[1])
    assert [one.trial for one in decider.alive] == [3, 2, 1, 0]
    assert decider.finished


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(TypeError, match="rate must be a Choice"):
        Evolution(Space({"rate": LogUniform(1e-3, 1)}))
    with pytest.raises(ValueError, match="ahead must be at least 1"):
        Reinforce(CELLS, ahead=0)
    with pytest.raises(ValueError, match="population must be at least 1"):
        Evolution(CELLS, population=0)


# -- the controller --------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.data())
def test_slopes_are_those_of_autograd(logits, data):
    drawn = data.draw(st.integers(0, len(logits) - 1))
    by_torch = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    torch.log_softmax(by_torch, 0)[drawn].backward()
    assert slope(np.array(logits), drawn) == pytest.approx(by_torch.grad.numpy(), abs=1e-12)


def test_in_the_mean_a_step_goes_down_the_expected_loss():
    logits = [np.array([0.3, -0.8, 0.1]), np.array([1.0, -0.5])]
    losses = np.random.default_rng(1).random((3, 2))
    baseline = 0.4  # changes nothing in the mean

    def expected(tables):
        return np.einsum("i,j,ij", softmax(tables[0]), softmax(tables[1]), losses)

    step = [np.zeros(3), np.zeros(2)]
    for drawn in itertools.product(range(3), range(2)):
        likely = np.prod([softmax(table)[one] for table, one in zip(logits, drawn, strict=True)])
        for table, one, sums in zip(logits, drawn, step, strict=True):
            sums += likely * (baseline - losses[drawn]) * slope(table, one)
    for which, place in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]:
        up, down = ([table.copy() for table in logits] for _ in range(2))
        up[which][place] += 1e-6
        down[which][place] -= 1e-6
        difference = (expected(up) - expected(down)) / 2e-6
        assert step[which][place] == pytest.approx(-difference, abs=1e-8)


def test_a_better_proposal_becomes_likelier_by_its_slope():
    decider = Reinforce(TINY, 3, 1, rate=2.0, forget=0.5, ahead=1)
    first, second = decider.next(), None
    decider.tell(first, 0.8)
    second = decider.next()
    assert decider.likely["a"] == pytest.approx([1 / 3] * 3)  # the first loss is the baseline
    decider.tell(second, 0.3)
    decider.next()
    drawn = TINY.axes["a"].options.index(second.settings["a"])
    expected = 2.0 * (0.8 - 0.3) * (np.eye(3)[drawn] - 1 / 3)
    assert decider.logits["a"] == pytest.approx(expected)
    assert decider.baseline == pytest.approx(0.55)
