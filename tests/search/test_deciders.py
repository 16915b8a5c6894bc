import math
from itertools import pairwise

import numpy as np
import pytest

from ddl_teach.search.deciders.asynchronous_halving import AsynchronousHalving
from ddl_teach.search.deciders.random import RandomSearch
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.space import LogUniform, Space

SPACE = Space({"rate": LogUniform(1e-3, 1)})


def loss_of(job):
    """Some loss that changes from rung to rung."""
    return float(np.random.default_rng([job.trial, job.rung]).random())


def never(job):
    return False


def sometimes(job):
    return np.random.default_rng([job.trial, job.rung, 1]).random() < 0.3


def play(decider, workers, order=0, crashes=never, most=math.inf):
    """Let so many workers end in some order; the jobs that were done, those that crashed."""
    random = np.random.default_rng(order)
    running, done, crashed = [], [], []
    while not decider.finished and len(done) < most:
        while len(running) < workers and (job := decider.next()) is not None:
            running.append(job)
        job = running.pop(random.integers(len(running)))
        if crashes(job):
            crashed.append(job)
            decider.crashed(job, "it did")
        else:
            done.append(job)
            decider.tell(job, loss_of(job))
    if decider.finished:
        assert not running
        assert decider.next() is None
    return done, crashed


def of_rungs(jobs, rungs):
    return [[job for job in jobs if job.rung == rung] for rung in range(rungs)]


PLANS = [(27, 3, 10), (81, 3, 1), (16, 2, 5), (10, 3, 9), (100, 3, 7), (5, 2, 1), (2, 4, 3)]


@pytest.mark.parametrize(("trials", "eta", "least"), PLANS)
def test_halving_spends_the_same_budget_in_each_rung(trials, eta, least):
    decider = SuccessiveHalving(SPACE, trials, eta=eta, least=least)
    rungs, schedule, planned = decider.rungs, decider.schedule, decider.planned
    assert eta ** (rungs - 1) <= trials < eta**rungs
    done, _ = play(decider, workers=4)
    spent = [sum(job.steps for job in rung) for rung in of_rungs(done, rungs)]
    assert [(len(rung), rung[0].steps) for rung in of_rungs(done, rungs)] == list(schedule)
    assert sum(spent) == planned
    for (count, _), steps in zip(schedule, spent, strict=True):
        assert trials * least - count < steps <= trials * least
    if trials == eta ** (rungs - 1):
        assert spent == [trials * least] * rungs


@pytest.mark.parametrize(("workers", "order"), [(2, 1), (3, 2), (8, 3), (100, 4), (100, 5)])
@pytest.mark.parametrize("make", [SuccessiveHalving, RandomSearch])
@pytest.mark.parametrize("crashes", [never, sometimes])
def test_neither_workers_nor_their_order_change_what_is_done(make, crashes, workers, order):
    def jobs(workers, order):
        decider = make(SPACE, seed=3)
        done, crashed = play(decider, workers, order, crashes)
        key = [sorted((job.trial, job.rung, job.steps) for job in it) for it in (done, crashed)]
        return key, sorted((it.trial, it.rung, it.what) for it in decider.decisions)

    reference = jobs(1, 0)
    assert (crashes is never) == (reference[0][1] == [])
    assert jobs(workers, order) == reference


def test_the_best_go_on_and_ties_go_to_the_first():
    decider = SuccessiveHalving(SPACE, 30, eta=3)
    done, _ = play(decider, workers=5)
    for rung in range(decider.rungs - 1):
        ranked = sorted(of_rungs(done, decider.rungs)[rung], key=loss_of)
        on = {it.trial for it in decider.decisions if (it.rung, it.what) == (rung, "promoted")}
        assert on == {job.trial for job in ranked[: 30 // 3 ** (rung + 1)]}
    tied = SuccessiveHalving(SPACE, 4, eta=2)
    jobs = [tied.next() for _ in range(4)]
    for job in reversed(jobs):
        tied.tell(job, 1.0)
    assert [tied.next().trial, tied.next().trial, tied.next()] == [0, 1, None]


@pytest.mark.parametrize(("trials", "eta"), [(27, 3), (16, 2), (10, 3)])
def test_who_crashes_is_replaced(trials, eta):
    decider = SuccessiveHalving(SPACE, trials, eta=eta)
    done, crashed = play(decider, 6, crashes=sometimes)
    rungs = of_rungs(done, decider.rungs)
    assert [len(rung) for rung in rungs] == [count for count, _ in decider.schedule]
    assert {job.rung for job in crashed} >= {0, 1}
    for below, rung in pairwise(rungs):
        # The best of the rung below, without those that crashed in this one.
        here = {job.trial for job in rung}
        gone = {job.trial for job in crashed if job.rung == rung[0].rung}
        ranked = [job.trial for job in sorted(below, key=loss_of) if job.trial not in gone]
        assert here == set(ranked[: len(rung)])


def test_a_random_search_replaces_all_that_crash():
    decider = RandomSearch(SPACE, 20)
    done, crashed = play(decider, 3, crashes=sometimes)
    assert len(done) == 20
    assert sorted(job.trial for job in done + crashed) == list(range(20 + len(crashed)))


def test_a_rung_in_which_all_crash_ends_the_search():
    decider = SuccessiveHalving(SPACE, 9, eta=3)
    done, crashed = play(decider, 4, crashes=lambda job: job.rung == 1)
    assert len(done) == len(crashed) == 9


def promotable(finished, promoted, eta):
    """The rule of Li et al. as it stands there: all is looked at anew."""
    for rung in reversed(range(len(finished) - 1)):
        ranked = sorted(finished[rung], key=lambda trial: (finished[rung][trial], trial))
        for trial in ranked[: len(ranked) // eta]:
            if trial not in promoted[rung]:
                return trial, rung + 1
    return None


@pytest.mark.parametrize("crashes", [never, sometimes])
@pytest.mark.parametrize(
    ("workers", "eta", "rungs"), [(1, 3, 4), (7, 2, 5), (50, 3, 3), (4, 2, 1)]
)
@pytest.mark.sampled(2)
def test_asynchronous_halving_always_has_something_to_do(workers, eta, rungs, crashes):
    class Watched(AsynchronousHalving):
        given = 0

        def next(self):
            job = super().next()
            if job is None:
                assert self.given + self.least > self.budget
            else:
                self.given += job.steps
            return job

        def crashed(self, job, error):
            self.given -= job.steps
            super().crashed(job, error)

    decider = Watched(SPACE, 1003, rungs, eta, least=5)
    done, crashed = play(decider, workers, crashes=crashes)
    assert 1003 - 5 < sum(job.steps for job in done) <= 1003
    assert all(job.steps == 5 * eta**job.rung for job in done)
    assert (crashes is never) == (not crashed)
    for below, rung in pairwise(of_rungs(done, rungs)):
        assert {job.trial for job in rung} <= {job.trial for job in below}
    # Far from the end of the budget, the fast rule and the plain one do the same.
    fast, plain = (
        play(AsynchronousHalving(SPACE, 10**9, rungs, eta, promote=it), workers, 0, crashes, 300)
        for it in (None, promotable)
    )
    assert fast == plain
    assert {job.rung for job in fast[0]} == set(range(rungs))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RandomSearch(SPACE, 0), "RandomSearch: trials must be at least 1"),
        (lambda: RandomSearch({"rate": 1}), "space must be a Space"),
        (lambda: RandomSearch(SPACE, seed=-1), "seed must be at least 0"),
        (lambda: SuccessiveHalving(SPACE, 9, rungs=4), "rungs is at most 3, not 4"),
        (lambda: SuccessiveHalving(SPACE, 9, eta=1), "eta must be at least 2"),
        (lambda: SuccessiveHalving(SPACE, 9.0), "trials must be a whole number"),
        (lambda: AsynchronousHalving(SPACE, 9), "does not pay for the first 10 steps"),
    ],
    ids=range(7),
)
def test_what_is_no_plan_is_refused(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_a_rule_of_ones_own_may_not_promote_what_is_not_there():
    for wrong in ((0, 1), (0, 0), (0, 9), (99, 1)):
        decider = AsynchronousHalving(SPACE, promote=lambda *_, wrong=wrong: wrong)
        with pytest.raises(ValueError, match="after it has finished the one below"):
            decider.next()


def test_budgets_agree_with_the_formula():
    decider = SuccessiveHalving(SPACE, 81, eta=3, least=10)
    longest = sum(steps for _, steps in decider.schedule)
    assert decider.planned == decider.rungs * 81 * 10
    assert 81 * longest == (3**5 - 1) // (3 - 1) * 81 * 10  # to train all of them that long
