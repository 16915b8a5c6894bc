"""Plain searches, distillation and checkpoints decide as their products do."""

from functools import cache

import numpy as np
import pytest
from comparing import assert_close, vector

from ddl_teach import simulate
from ddl_teach.plain import distillation, population_based, successive_halving
from ddl_teach.search.by_ranks import search as search_product
from ddl_teach.search.consolidation import distillation as distillation_product
from ddl_teach.search.consolidation.ensemble import probabilities
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.population import EXPLOIT, PopulationPlan, train_population
from ddl_teach.search.space import LogUniform, Space
from ddl_teach.training.tasks.perceptron import Perceptron

SPACE = Space({"rate": LogUniform(0.001, 1)})
SEED = 4


def descended(weights, settings, steps=1):
    """A bowl of five dimensions; the loss after so many steps."""
    for _ in range(steps):
        weights -= settings["rate"] * weights * np.linspace(0.1, 1, 5)
    return float(weights @ weights)


def advance(settings, state, steps, seed):
    """The same as a training of the product: a new state and its loss."""
    weights = np.ones(5) if state is None else state["weights"].copy()
    loss = descended(weights, settings, steps)
    return {"weights": weights}, loss


# -- successive halving ---------------------------------------------------------------------

SIZES = [(27, 3, 2), (10, 2, 3), (7, 3, 1), (1, 2, 5)]  # trials, eta, least


def halved_plainly(comm, trials, eta, least):
    done = []

    def advanced(trial, state, steps):
        done.append(steps)
        return advance(SPACE.sample(SEED, trial), state, steps, SEED)

    return successive_halving.search(comm, advanced, trials, eta, least), sum(done)


@cache
def halved_by_the_product(trials, eta, least):
    decider = SuccessiveHalving(SPACE, trials, eta=eta, least=least, seed=SEED)
    return simulate(search_product, 3, training=advance, decider=decider).results[0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.sampled(3)
def test_successive_halving_decides_as_its_product(run, size):
    results = run(halved_plainly, trials=size[0], eta=size[1], least=size[2]).results
    report = halved_by_the_product(*size)
    for rungs, _ in results:
        assert len(rungs) == len(report.decider.schedule)
        for number, rung in enumerate(rungs):
            expected = {it.trial: it.loss for it in report.records if it.rung == number}
            assert rung.keys() == expected.keys()
            assert_close([rung[trial] for trial in sorted(rung)],
                         [expected[trial] for trial in sorted(rung)])  # fmt: skip
        assert next(iter(rungs[-1])) == report.winner.trial
    assert sum(steps for _, steps in results) == report.progress.steps


def test_each_rung_keeps_the_best(run):
    rungs, _ = run(halved_plainly, trials=27, eta=3, least=2).results[0]
    assert [len(rung) for rung in rungs] == [27, 9, 3, 1]
    for above, below in zip(rungs[1:], rungs, strict=False):
        assert list(below.values()) == sorted(below.values())
        assert set(above) == set(list(below)[: len(above)])


# -- population-based training --------------------------------------------------------------

PLANS = [
    PopulationPlan(8, 5, 1, 0.25, SEED),
    PopulationPlan(7, 4, 1, 0.4, SEED),
    PopulationPlan(4, 3, 1, 0.0, SEED),
]


class AsTheProductDraws:
    """The product has a generator for each generation: the n-th choice is that of generation n."""

    def __init__(self, seed):
        self.seed, self.generation = seed, 0

    def choice(self, best, count):
        self.generation += 1
        return np.random.default_rng([EXPLOIT, self.seed, self.generation]).choice(best, count)


def population_plainly(comm, plan, random):
    weights = [np.ones(5) for _ in range(plan.members)]
    settings = [SPACE.sample(plan.seed, member) for member in range(plan.members)]

    def explore(parents, member, generation):
        return SPACE.perturb(parents, plan.seed, generation * plan.members + member)

    losses = population_based.train(
        comm, weights, settings, descended, explore, plan.generations, plan.share, random
    )
    mine = range(comm.rank, plan.members, comm.size)
    return np.array(losses), settings, {member: weights[member] for member in mine}


@cache
def population_by_the_product(plan):
    def program(comm):
        return train_population(comm, advance, SPACE, plan)

    return simulate(program, 1).results[0]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.sampled(3)
def test_a_population_trains_as_its_product(run, plan):
    results = run(population_plainly, plan=plan, random=AsTheProductDraws(SEED)).results
    expected = population_by_the_product(plan)
    trained = {}
    for losses, settings, weights in results:
        assert_close(losses, expected.losses)
        assert settings == expected.settings[-1]
        trained |= weights
    assert trained.keys() == set(range(plan.members))
    assert_close(trained[expected.best], expected.winner["weights"])
    copies = sum((parents != np.arange(plan.members)).sum() for parents in expected.parents)
    assert copies == int(plan.share * plan.members) * (plan.generations - 1)


@pytest.mark.sampled(3)
def test_a_population_is_the_same_on_any_ranks(run, ranks):
    plan = PLANS[0]
    alone = simulate(population_plainly, 1, plan=plan, random=np.random.default_rng(1)).results[0]
    for losses, settings, weights in run(
        population_plainly, plan=plan, random=np.random.default_rng(1)
    ).results:
        assert_close(losses, alone[0])
        assert settings == alone[1]
        for member, own in weights.items():
            assert_close(own, alone[2][member])


# -- distillation ---------------------------------------------------------------------------

NETWORK, SAMPLES = Perceptron(4, 6, 3), 7


def member(comm):
    """This rank's member of the ensemble, and what all are asked."""
    return NETWORK.initial(comm.rank), vector(100, SAMPLES * 4).reshape(SAMPLES, 4)


def distilled_plainly(comm, temperature, soft):
    weights, x = member(comm)
    q = distillation.teacher(comm, NETWORK.forward(weights, x)[1], temperature)
    scores, answers = NETWORK.forward(NETWORK.initial(50), x)[1], np.arange(SAMPLES) % 3
    return [q, *distillation.loss(scores, q, answers, temperature, soft)]


def distilled_by_the_product(comm, temperature, soft):
    weights, x = member(comm)
    q = probabilities(comm, NETWORK, [weights], x, temperature)
    scores, answers = NETWORK.forward(NETWORK.initial(50), x)[1], np.arange(SAMPLES) % 3
    return [q, *distillation_product.loss(scores, q, answers, temperature, soft)]


@pytest.mark.parametrize(("temperature", "soft"), [(1.0, 0.5), (3.0, 0.9), (0.5, 0.0)])
@pytest.mark.sampled(3)
def test_distillation_has_the_loss_and_gradient_of_its_product(run, ranks, temperature, soft):
    how = {"temperature": temperature, "soft": soft}
    expected = simulate(distilled_by_the_product, ranks, **how).results
    for plain, its in zip(run(distilled_plainly, **how).results, expected, strict=True):
        for mine, other in zip(plain, its, strict=True):
            assert_close(mine, other)


def test_who_answers_as_the_teacher_has_nothing_to_learn_from_it():
    scores = vector(0, 12).reshape(4, 3)
    q = distillation.softmax(scores, 2.0)
    _, gradient = distillation.loss(scores, q, np.zeros(4, int), 2.0, 1.0)
    assert np.abs(gradient).max() < 1e-15
    _, other = distillation.loss(2 * scores, q, np.zeros(4, int), 2.0, 1.0)
    assert np.abs(other).max() > 0.01
