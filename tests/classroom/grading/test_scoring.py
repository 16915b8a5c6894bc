"""What a limit has ended is doubtful: it is tried once more, alone, and in later gradings."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from handed_in import CROSSOVER, RING, RING_STUB, Desk

from ddl_class.cli import main
from ddl_class.exercises.stages import SimulatedStage
from ddl_class.grading import batch, scoring
from ddl_class.grading.batch import summary
from ddl_class.grading.sandbox import Limits
from ddl_runtime.diagnosis.deadlock import TimedOut

pytestmark = pytest.mark.slow


class Sandboxes:
    """Stands for the stage: `endings[student]` says which limit ends which sandbox of a ring."""

    def __init__(self):
        self.endings = {}
        self.seen = []  # "first ann", "left ann", ... in the order in which it happened
        self.meeting = None  # where first sandboxes wait for each other
        self.second = threading.Event()  # for a moment: whether another one came meanwhile

    def __call__(self, nursery, cells, function, *_):
        return Sandbox(self, "\n".join(source for _, source in cells), function)


class Sandbox:
    def __init__(self, all_of_them, source, function):
        names = {}
        exec(source, names)
        self.real = SimulatedStage(names[function], 60.0)
        self.printed, self.limit = "", ""
        self.all, self.who = all_of_them, f"{names.get('student')}'s {function}"
        is_ring = function == "ring_allreduce"
        self.endings = all_of_them.endings.get(names["student"], []) if is_ring else []

    def __enter__(self):
        self.all.seen.append(f"enter {self.who}")
        if self.all.meeting and self.all.seen.count(f"enter {self.who}") == 1:
            self.all.meeting.wait(60)
        elif self.all.meeting:
            self.all.second.wait(0.2)  # would another sandbox come, it came now
        return self

    def __exit__(self, *_):
        self.all.seen.append(f"leave {self.who}")

    def _end(self):
        if not self.limit and self.endings:
            self.limit = self.endings.pop(0)
        if self.limit:
            raise TimedOut(f"ended by {self.limit}")

    def run(self, *arguments, **network):
        self._end()
        return self.real.run(*arguments, **network)

    def call(self, *arguments):
        return self.real.call(*arguments)


@pytest.fixture
def sandboxes(monkeypatch):
    made = Sandboxes()
    monkeypatch.setattr(scoring, "UntrustedStage", made)
    return made


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def hand_in(desk, student, ring=RING):
    name = f"student = {student!r}\n"
    desk.hand_in(student, desk.notebook(name + ring, name + CROSSOVER))


def grade(desk, **options):
    return batch.grade(desk.submissions, desk.source, desk.out, **options)


@pytest.mark.parametrize("limit", ["time", "memory", "time or memory"])
@pytest.mark.sampled(3)
def test_what_passes_alone_has_its_points_and_no_doubt(desk, sandboxes, limit):
    hand_in(desk, "ann")
    sandboxes.endings["ann"] = [limit]
    (verdict,) = grade(desk)
    assert [(one.points, one.doubtful, one.message) for one in verdict.scores] == [
        (2, False, "right"),
        (2, False, "right"),
    ]
    tries = list(sandboxes.seen)
    assert grade(desk) == [verdict]
    assert sandboxes.seen == tries


@pytest.mark.parametrize(
    ("endings", "told"),
    [
        (["time", "time"], "The time was used up twice, the second time with no other"),
        (["memory", "memory"], "The memory was used up twice, the second time with no other"),
        (
            ["time", "memory"],
            "The time was used up at first, then the memory, the second time with",
        ),
    ],
)
@pytest.mark.sampled(3)
def test_what_ends_twice_is_doubtful_and_tried_in_every_grading(desk, sandboxes, endings, told):
    hand_in(desk, "ann")
    sandboxes.endings["ann"] = [*endings]
    (verdict,) = grade(desk)
    ring, crossover = verdict.scores
    assert (ring.points, ring.doubtful) == (0, True)
    assert f"ended by {endings[1]}" in ring.message
    assert told in ring.message
    assert crossover.points == 2
    assert "also alone, so look yourself: ann (06.ring)" in summary([verdict], desk.out)

    sandboxes.seen.clear()
    sandboxes.endings["ann"] = ["time"]
    ((ring, _),) = (one.scores for one in grade(desk))
    assert ring.doubtful
    assert ring.message.count("twice") + ring.message.count("at first") == 1
    ((ring, crossover),) = (one.scores for one in grade(desk))
    assert (ring.points, ring.doubtful, ring.message) == (2, False, "right")
    assert sandboxes.seen == ["enter ann's ring_allreduce", "leave ann's ring_allreduce"] * 2


def test_a_second_try_that_ends_by_itself_is_final(desk, sandboxes):
    hand_in(desk, "ann", RING_STUB)
    sandboxes.endings["ann"] = ["time"]
    ((ring, _),) = (one.scores for one in grade(desk))
    assert (ring.points, ring.doubtful, ring.limit) == (0, False, "")
    assert "not written yet" in ring.message
    assert "used up twice" not in ring.message


def test_second_tries_come_after_all_others_and_one_after_another(desk, sandboxes, monkeypatch):
    monkeypatch.setattr(batch, "OtherProcess", replace)  # the sandboxes here are all in this one
    students = ["ann", "bob", "cem", "dan"]
    for student in students:
        hand_in(desk, student)
        sandboxes.endings[student] = ["time"]
    sandboxes.meeting = threading.Barrier(2)
    verdicts = grade(desk, jobs=2)
    assert all(score.points == 2 for verdict in verdicts for score in verdict.scores)
    sandboxes_before = 4 * len(students)  # two exercises each, entered and left
    first, second = sandboxes.seen[:sandboxes_before], sandboxes.seen[sandboxes_before:]
    assert first[:2] != [first[0], first[0].replace("enter", "leave")], "two at a time"
    assert second == [
        f"{what} {student}'s ring_allreduce" for student in students for what in ("enter", "leave")
    ]


@pytest.mark.parametrize(
    ("busy", "looks", "longer"),
    [([99.0, 80.0, 3.0], 3, 1.0), ([20.0], 1, 1.0), ([99.0] * 99, 31, 4.0)],
    ids=["a while", "quiet", "always"],
)
def test_second_tries_wait_for_a_quiet_machine_but_not_for_ever(monkeypatch, busy, looks, longer):
    clock = SimpleNamespace(seconds=0.0)

    def load(interval):
        clock.seconds += interval
        return busy[int(clock.seconds) - 1]

    monkeypatch.setattr(batch.psutil, "cpu_percent", load)
    monkeypatch.setattr(batch, "time", SimpleNamespace(monotonic=lambda: clock.seconds))
    monkeypatch.setattr(batch, "PATIENCE", 30.5)
    monkeypatch.setattr(batch, "LONGER", 4.0)
    assert batch.wait_for_quiet() == longer
    assert clock.seconds == looks


def test_on_a_machine_that_stays_busy_a_second_try_has_more_time(desk, sandboxes, monkeypatch):
    hand_in(desk, "ann")
    sandboxes.endings["ann"] = ["time"]
    given, whole = [], batch.score_answers

    def noted(server, assignment, answers, seed, limits, earlier=()):
        given.append(limits.seconds)
        return whole(server, assignment, answers, seed, limits, earlier)

    monkeypatch.setattr(batch, "score_answers", noted)
    monkeypatch.setattr(batch, "wait_for_quiet", lambda: 4.0)
    (verdict,) = grade(desk, limits=Limits(seconds=50))
    assert given == [50, 200]
    assert grade(desk, limits=Limits(seconds=50)) == [verdict]


def test_what_was_handed_in_anew_meanwhile_is_graded_as_it_is_now(desk, sandboxes):
    hand_in(desk, "ann")
    sandboxes.endings["ann"] = ["time"]

    def exchange(*_):
        hand_in(desk, "ann", RING_STUB)

    ((ring, _),) = (one.scores for one in grade(desk, progress=exchange))
    assert "not written yet" in ring.message
    assert grade(desk)[0].scores[0] == ring


def test_an_interrupted_grading_tries_again_what_is_still_doubtful(desk, sandboxes, monkeypatch):
    hand_in(desk, "ann")
    sandboxes.endings["ann"] = ["time"]

    whole = batch.score_answers

    def interrupted(server, assignment, answers, seed, limits, earlier=()):
        if earlier:
            raise KeyboardInterrupt
        return whole(server, assignment, answers, seed, limits)

    with monkeypatch.context() as patch:
        patch.setattr(batch, "score_answers", interrupted)
        with pytest.raises(KeyboardInterrupt):
            grade(desk)
    (verdict,) = grade(desk)
    assert [score.points for score in verdict.scores] == [2, 2]


@pytest.mark.long
def test_the_page_of_a_mended_verdict_is_made_anew(desk, sandboxes):
    hand_in(desk, "ann")
    words = ["grade", str(desk.submissions), "--source", str(desk.source), "--out", str(desk.out)]
    page = desk.out / "feedback" / "06_two" / "ann.html"
    sandboxes.endings["ann"] = ["time", "time"]
    assert main(words) == 0
    assert "(Score: 2.0 / 4.0)" in page.read_text()
    assert "The time was used up twice" in page.read_text()
    assert main(words) == 0
    assert "(Score: 4.0 / 4.0)" in page.read_text()


def test_a_real_endless_loop_is_doubtful_after_two_tries(desk):
    desk.hand_in("ann", desk.notebook("def ring_allreduce(comm, x):\n    while True: pass"))
    (verdict,) = grade(desk, limits=Limits(seconds=1.5))
    ring = verdict.scores[0]
    assert (ring.points, ring.doubtful) == (0, True)
    assert "The time was up after 1.5 s" in ring.message
    assert "The time was used up twice" in ring.message
