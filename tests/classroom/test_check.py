"""What a learner is told, whatever is handed to `check`; and that every check ends."""

import re
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from own_ring import own_ring

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import check as checking
from ddl_class.exercises import record, stages, time_limit
from ddl_class.exercises.check import CheckFailed, check, hint
from ddl_class.exercises.graded import as_graded
from ddl_class.exercises.registry import find_exercise
from ddl_class.exercises.stages import EnginesStage, SimulatedStage
from ddl_class.exercises.time_limit import OutOfTime, TimeIsUp, within
from ddl_runtime.diagnosis.deadlock import Interrupted
from ddl_runtime.diagnosis.page import paragraphs
from ddl_teach import Ranks, simulate
from ddl_teach.collectives import recursive_doubling

pytestmark = [pytest.mark.usefixtures("fresh_record"), pytest.mark.slow]


def told(function, name="06.ring", **more):
    with pytest.raises(CheckFailed) as failed:
        check(name, function, **more)
    message = str(failed.value)
    assert " ".join(failed.value._render_traceback_()).split() == message.split()
    return message


# -- who is told what ---------------------------------------------------------------------------


def test_what_is_right_is_said(capsys):
    check("06.ring", own_ring)
    said = capsys.readouterr().out
    assert said.startswith("✓ 06.ring: right on 1, 2, 3, 4, 5, 8 and ")
    assert find_exercise("06.ring").right in " ".join(said.split())


@pytest.mark.parametrize(
    ("name", "meant"),
    [("ring", "'06.ring'"), ("06.rnig", "'06.ring'"), ("6.ring", "'06.ring'"), (6, "as a text")],
)
def test_a_wrong_name_gives_the_nearest(name, meant):
    with pytest.raises(Mistake, match=meant):
        check(name, own_ring)


@pytest.mark.parametrize("thing", [None, 3, np.zeros(3), "ring"])
def test_what_is_no_function_is_told(thing):
    assert "Pass its name without brackets" in told(thing)


def test_a_changed_signature_is_told():
    assert "called as <lambda>(comm, x), but yours is <lambda>(comm)" in told(lambda comm: None)


def test_a_function_that_would_not_run_is_told():
    def waits_to_be_asked(comm, x):
        yield x

    assert "a call runs none of its lines" in told(waits_to_be_asked)


def test_messages_are_folded_at_words_and_drawings_left_alone():
    drawing = "  rank 0  " + "x" * 200
    folded = paragraphs(f"{'one two three ' * 30}\n\n{drawing}").splitlines()
    assert folded[-2:] == ["", drawing]
    assert max(map(len, folded[:-2])) <= 96
    assert " ".join(folded[:-2]).split() == ["one", "two", "three"] * 30


def test_what_is_not_written_yet_is_told():
    def unwritten(comm, x):
        raise NotImplementedError

    message = told(unwritten)
    assert "not written yet" in message
    assert "Traceback" not in message


def test_what_the_function_raises_is_told_with_its_own_lines_only():
    def stumbles(comm, x):
        x[len(x) + comm.rank] = 1

    message = told(stumbles)
    assert "IndexError" in message
    assert "in stumbles" in message
    assert "stages.py" not in message


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda arrivals, enough: np.ones((2, 3)) @ np.ones(2), "The shapes of two arrays"),
        (lambda arrivals, enough: np.ones(3) + np.ones(2), "The shapes of two arrays"),
        (lambda arrivals, enough: max(arrivals, key=lambda _: np.ones(2)), "one number is needed"),
        (lambda arrivals, enough: arrivals.sort()[0], "Something in the marked line is None"),
    ],
)
def test_hard_words_of_python_and_numpy_are_explained(function, words):
    assert words in told(function, "15.enough")


def test_whoever_leaves_the_interpreter_only_fails():
    assert "called exit" in told(lambda comm, x: exit())


def test_what_is_printed_does_not_flood_the_page(capsys):
    def chatters(comm, x):
        print("here I am")
        own_ring(comm, x)

    check("06.ring", chatters)
    assert "here I am" not in capsys.readouterr().out


def test_hints_are_offered_while_there_are_some(capsys):
    for hints_left in (True, True, True, False):
        assert ('hint("06.ring")' in told(lambda comm, x: None)) == hints_left
        hint("06.ring")
    assert capsys.readouterr().out.count("Hint 3 of 3") == 2


@pytest.fixture
def shell(monkeypatch):
    """A notebook's kernel that knows a function, and no history."""
    history = SimpleNamespace(input_hist_raw=[""])
    shell = SimpleNamespace(user_ns={"own_ring": own_ring}, history_manager=history)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    return shell


def test_in_a_notebook_the_cells_that_were_run_count(shell):
    shell.history_manager.input_hist_raw.append("def own_ring(comm, x):\n    pass")
    assert "x itself is unchanged" in told(own_ring)


def test_a_draft_that_is_no_python_is_not_judged_by_the_one_before_it(shell, capsys):
    drafts = "def own_ring(comm, x):\n    pass", "def own_ring(comm, x)\n    x += 1"
    shell.history_manager.input_hist_raw += drafts
    message = told(own_ring)
    assert "cell [2] is no Python, so own_ring still is what an earlier cell made it" in message
    assert "expected ':'" in message
    shell.history_manager.input_hist_raw.append(drafts[0])
    assert "x itself is unchanged" in told(own_ring)


def test_without_a_history_the_function_is_tried_as_it_is(shell, capsys):
    check("06.ring", own_ring)
    assert "✓ 06.ring" in capsys.readouterr().out


@pytest.mark.usefixtures("shell")
def test_a_function_without_a_name_is_told_how_grading_calls_it():
    assert "calls your function by its name" in told(lambda comm, x: None)


# -- every check ends ---------------------------------------------------------------------------


def endless(comm, x):
    while True:
        pass


def stubborn(comm, x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            break


def asleep(comm, x):
    time.sleep(4)


@pytest.mark.parametrize("function", [endless, stubborn, asleep])
@pytest.mark.sampled(3)
def test_what_does_not_end_is_stopped_and_its_line_told(function, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 2.0)  # also on a busy machine it has begun by then
    message = told(function)
    assert "The time was up: after 2 s" in message
    assert f"in {function.__name__}" in message


def test_ctrl_c_ends_a_check():
    begun = threading.Event()

    def begins(comm, x):
        begun.set()
        endless(comm, x)

    def interrupts():
        begun.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = set(threading.enumerate())
    ctrl_c = threading.Thread(target=interrupts)
    ctrl_c.start()
    with pytest.raises(Interrupted, match=r"checked\. A check ends by itself after 200 s"):
        check("06.ring", begins)
    ctrl_c.join()
    assert set(threading.enumerate()) <= before


def test_a_request_to_stop_that_comes_late_shows_nothing(monkeypatch):
    class Late(threading.Event):
        def set(self):
            super().set()
            raise time_limit.TimeIsUp

    shown = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    monkeypatch.setattr(
        time_limit, "threading", SimpleNamespace(Event=Late, Thread=threading.Thread)
    )
    assert time_limit.within(100, lambda: 3) == 3
    assert not shown


def test_the_number_of_ranks_that_is_drawn_is_not_tried_anyway(monkeypatch, capsys):
    tried = find_exercise("06.ring").ranks
    drawn = np.random.default_rng

    def eight_where_it_can():
        generator = drawn()
        draw = generator.choice
        return SimpleNamespace(
            choice=lambda among: 8 if 8 in among else draw(among), integers=generator.integers
        )

    monkeypatch.setattr(checking.np.random, "default_rng", eight_where_it_can)
    check("06.ring", own_ring)
    last = re.search(r"(\d+) simulated ranks", capsys.readouterr().out)[1]
    assert int(last) not in tried


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda numbers: np.ones(2) + np.ones(3), "The shapes of two arrays do not fit"),
        (lambda numbers: 1 if np.ones(2) else 2, "an array of several numbers stands where"),
        (lambda numbers: numbers.sort() + 1, "Something in the marked line is None"),
        (lambda numbers: [*numbers.sort()], "Something in the marked line is None"),
    ],
    ids=["shapes", "several", "none added", "none unpacked"],
)
def test_what_is_hard_to_read_in_an_exception_is_said_before_it(answer, words):
    with pytest.raises(CheckFailed, match=words):
        check("01.tree_sum", lambda numbers: answer([3, 1, 2]))


def test_calls_without_an_end_are_told_in_few_lines():
    def tree_sum(numbers):
        return 1 + max([tree_sum(half) for half in (numbers, numbers)])

    with pytest.raises(CheckFailed, match=r"(?s)RecursionError: .*lines like these") as told:
        check("01.tree_sum", tree_sum)
    text = str(told.value)
    assert "needs a case that ends the calls" in text
    assert len(text.splitlines()) < 45


def test_all_runs_of_a_check_share_its_time(monkeypatch):
    later = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + later)
    monkeypatch.setattr(stages, "time", clock)
    stage = SimulatedStage(lambda ends: 3 if ends else endless(None, None), seconds=1000)
    assert stage.call(True) == 3
    later = 999.7
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match="after 1000 s your function still ran"):
        stage.call(False)
    assert time.monotonic() - begun < 100


def test_one_request_too_many_to_end_is_not_shown(monkeypatch):
    class AskedOnceMore(threading.Event):
        def set(self):
            raise TimeIsUp

    names = SimpleNamespace(Event=AskedOnceMore, Thread=threading.Thread)
    monkeypatch.setattr(time_limit, "threading", names)
    shown = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    with pytest.raises(OutOfTime):
        within(0.1, lambda: endless(None, None))
    assert not shown


def test_a_function_in_time_gives_what_it_returns_or_raises():
    assert within(10, lambda: 3) == 3
    with pytest.raises(KeyError):
        within(10, lambda: {}[3])
    with pytest.raises(OutOfTime):
        within(0.1, lambda: endless(None, None))


# -- stages -------------------------------------------------------------------------------------


def swap_ends(comm, x, add=0):
    x += comm.rank + add
    comm.sendrecv(x, comm.size - 1 - comm.rank, x.copy(), comm.size - 1 - comm.rank)
    return float(x[0])


@pytest.fixture(params=["simulated", "real"])
def stage_of(request, pool):
    real = request.param == "real"
    return lambda function: EnginesStage(function, pool) if real else SimulatedStage(function)


def test_a_stage_gives_copies_and_says_what_became_of_them(stage_of):
    x = np.zeros(3)
    outcome = stage_of(swap_ends).run(3, [(x,), (x,), (x, 10)])
    assert (x == 0).all()
    assert outcome.results == [0, 1, 12]
    assert [own[0][0] for own in outcome.arguments] == [0, 1, 12]
    assert [ledger.bytes_sent for ledger in outcome.ledger] == [24] * 3
    assert outcome.time > 0


def test_a_stage_calls_functions_without_ranks(stage_of):
    assert stage_of(sorted).call([3, 1, 2]) == [1, 2, 3]


def test_busy_engines_still_have_time_for_a_run():
    limits = []

    def run(program, ranks, *, timeout, **_):
        limits.append(timeout)
        return simulate(lambda comm: (7, ()), ranks)

    assert EnginesStage(len, SimpleNamespace(size=1, run=run), seconds=0).call([]) == 7
    assert limits == [stages.LEAST]


def test_engines_that_run_are_used(pool: Ranks, capsys):
    check("06.ring", own_ring, engines=pool)
    assert f"and on your {pool.size} engines" in " ".join(capsys.readouterr().out.split())


def test_what_fails_on_engines_only_is_told_so(pool: Ranks):
    import os

    here = os.getpid()

    def only_here(comm, x):
        if os.getpid() == here:
            own_ring(comm, x)

    assert "right on simulated ranks, but not on your engines" in told(only_here, engines=pool)


# -- what is recorded ---------------------------------------------------------------------------


def test_tries_hints_and_solutions_are_recorded():
    told(lambda comm, x: None)
    hint("06.ring")
    check("06.ring", own_ring)
    told(recursive_doubling.allreduce)
    known = record.read()["exercises"]["06.ring"]
    assert known.pop("last") <= str(record.today())
    assert known == {"tries": 3, "failed": 2, "hints": 1, "solved": True}


def test_a_checked_communicator_does_not_refer_to_itself():
    """Or the collector of another thread would take away its stack, and Python would crash."""

    def held(comm):
        inside = [cell.cell_contents for cell in as_graded(comm).split.__closure__]
        return [thing is comm or getattr(thing, "__self__", None) is comm for thing in inside]

    for holds in simulate(held, 2).results:
        assert not any(holds)
