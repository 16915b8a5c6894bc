"""Engines that fail, die or are interrupted cost time, and no trial; they find what ranks find."""

import contextlib
import re
import threading
from collections import Counter
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace

import pytest
from ipyparallel.error import RemoteError

from ddl_class.engines.by_view import EnginesGone, search
from ddl_runtime.diagnosis.deadlock import Interrupted
from ddl_teach import simulate
from ddl_teach.search import by_ranks
from ddl_teach.search.deciders.successive_halving import SuccessiveHalving
from ddl_teach.search.space import LogUniform, Space

HALVING = SuccessiveHalving(Space({"rate": LogUniform(1e-3, 3)}), 9, eta=3, least=4)


class View:
    """So many engines, which are threads here; GeneratorExit is the death of one, or of so many
    at the same moment, each in another job."""

    def __init__(self, engines, together=1):
        self.client = SimpleNamespace(ids=list(range(engines)))
        self.lock, self.busy, self.too_many = threading.Lock(), 0, 0
        self.deaths = threading.Barrier(together, self._lose)

    def _lose(self):
        del self.client.ids[-self.deaths.parties :]

    def apply_async(self, function, *args):
        with self.lock:
            self.busy += 1
            self.too_many = max(self.too_many, self.busy - len(self.client.ids))
        result = Future()
        threading.Thread(target=self._do, args=(result, function, args)).start()
        return result

    def _do(self, result, function, args):
        value = error = None
        try:
            value = function(*args)
        except GeneratorExit:
            self.deaths.wait(timeout=60)
            error = RemoteError("EngineError", "it died", "")
        except BaseException as raised:
            error = RemoteError(type(raised).__name__, str(raised), "")
        with self.lock:
            self.busy -= 1
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)


def descend(settings, state, steps, seed, diary, deaths=0, ends=None, error=GeneratorExit):
    """A parabola; the diary has a line for each job. So many jobs of rung 1 meet their end there,
    or all of the trials with these rates."""
    rung, rate = 0 if state is None else state["rung"] + 1, settings["rate"]
    with open(diary, "a") as file:
        file.write(f"{rate} {rung}\n")
    if rate == ends:
        raise error
    for death in range(deaths if rung == 1 else 0):
        with contextlib.suppress(FileExistsError):
            diary.with_name(f"death {death}").touch(exist_ok=False)
            raise error
    if rate > 2:
        raise OverflowError("too large")
    weight = (1.0 if state is None else state["weight"]) * (1 - rate / 3) ** steps
    return {"weight": weight, "rung": rung}, weight * weight


def accuracy(settings, state):
    return 1 - state["weight"]


def summary(report):
    """What must not depend on the ground."""
    done = {(it.trial, it.rung, it.loss) for it in report.records if it.loss is not None}
    return done, report.winner.trial, report.accuracy


@pytest.fixture
def diary(tmp_path):
    return tmp_path / "diary"


@pytest.fixture
def undisturbed(tmp_path):
    """What ranks find, with nothing in their way."""
    training = partial(descend, diary=tmp_path / "other")
    arguments = {"training": training, "decider": HALVING, "test": accuracy}
    return summary(simulate(by_ranks.search, 3, **arguments).results[0])


@pytest.mark.parametrize("engines", [1, 2, 5])
def test_engines_find_what_ranks_find(diary, undisturbed, engines):
    seen, view = [], View(engines)
    report = search(
        view, partial(descend, diary=diary), HALVING, test=accuracy,
        watch=lambda records: seen.append([record.decision for record in records]),
    )  # fmt: skip
    assert summary(report) == undisturbed
    assert view.too_many == 0
    assert max(decisions.count("running") for decisions in seen) <= engines
    assert seen[-1].count("best") == 1
    assert {"running", "waiting"}.isdisjoint(seen[-1])
    crashed = [record for record in report.records if record.decision == "crashed"]
    assert {record.error for record in crashed} == {"OverflowError: too large"}


def test_an_engine_that_dies_takes_no_trial_with_it(diary, undisturbed):
    view = View(4, together=2)
    with pytest.warns(UserWarning, match="engine died in rung 1 of trial"):
        report = search(view, partial(descend, diary=diary, deaths=2), HALVING, test=accuracy)
    assert summary(report) == undisturbed
    assert len(view.client.ids) == 2
    assert len(diary.read_text().splitlines()) == report.runs + 2


def test_a_job_that_kills_two_engines_has_crashed_and_is_replaced(diary):
    view, doomed = View(4), HALVING.space.sample(HALVING.seed, 1)["rate"]
    with pytest.warns(UserWarning, match="trial 1"):
        report = search(view, partial(descend, diary=diary, ends=doomed), HALVING)
    (record,) = (record for record in report.records if record.trial == 1)
    assert (record.decision, record.error) == ("crashed", "its engine died, twice")
    assert sum(record.rung == 0 and record.loss is not None for record in report.records) == 9


def test_what_no_training_may_raise_is_a_crash_too(diary):
    doomed = HALVING.space.sample(HALVING.seed, 0)["rate"]
    report = search(View(2), partial(descend, diary=diary, ends=doomed, error=SystemExit), HALVING)
    (record,) = (record for record in report.records if record.trial == 0)
    assert (record.decision, record.error) == ("crashed", "SystemExit: ")


def in_a_line(error):
    return " ".join(str(error).split())


def goes_on(journal, diary, undisturbed):
    """The same call again finds the same, and repeats no job that was done."""
    report = search(View(3), partial(descend, diary=diary), HALVING, journal, test=accuracy)
    assert summary(report) == undisturbed
    times = Counter(diary.read_text().splitlines())
    interrupted = {
        f"{record.settings['rate']} {record.rung}"
        for record in report.records
        if record.decision == "interrupted"
    }
    assert {job for job, count in times.items() if count > 1} <= interrupted
    assert report.runs >= len(times)


@pytest.mark.filterwarnings("ignore:an engine died")
def test_when_all_engines_are_gone_the_search_goes_on_on_others(diary, tmp_path, undisturbed):
    journal = tmp_path / "journal"
    deadly = partial(descend, diary=diary, deaths=2)
    with pytest.raises(EnginesGone) as gone:
        search(View(2, together=2), deadly, HALVING, journal)
    assert re.search(rf"died in rung 1 .* 9 jobs are done, .*{journal}", in_a_line(gone.value))
    goes_on(journal, diary, undisturbed)


@pytest.mark.parametrize("after", [1, 9, 20])
def test_an_interrupted_search_goes_on(diary, tmp_path, undisturbed, after):
    journal, calls = tmp_path / "journal", iter(range(after))

    def impatient(records):
        if next(calls, None) is None:
            raise KeyboardInterrupt

    view = View(2)
    with pytest.raises(Interrupted) as told:
        search(view, partial(descend, diary=diary), HALVING, journal, watch=impatient)
    assert in_a_line(told.value).startswith("Interrupted. ")
    assert "goes on from there" in in_a_line(told.value)
    while view.busy:  # jobs end by themselves
        pass
    goes_on(journal, diary, undisturbed)


def test_without_a_journal_one_is_told_what_was_lost(diary):
    def impatient(records):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"give\s+journal="):
        search(View(1), partial(descend, diary=diary), HALVING, watch=impatient)
    with pytest.raises(EnginesGone, match="No engine is there"):
        search(View(0), partial(descend, diary=diary), HALVING)


def test_whoever_watches_is_called_while_nothing_changes(diary):
    looks, quiet = [], threading.Event()

    def watch(records):
        looks.append(len(records))
        if looks[-3:] == 3 * [1]:
            quiet.set()

    view = View(1)
    do = view._do
    view._do = lambda *job: quiet.wait(60) and do(*job)
    search(view, partial(descend, diary=diary), HALVING, watch=watch)
    assert quiet.is_set()
