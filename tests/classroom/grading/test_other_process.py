"""Several submissions at a time: each has a process that grades, which ends with the grader."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest
from handed_in import CROSSOVER_STUB, HONEST, Desk, sandboxes_of

from ddl_class.commands.mistake import Mistake
from ddl_class.grading import batch
from ddl_class.grading.batch import Grading
from ddl_class.grading.collected import find_submissions
from ddl_class.grading.other_process import OtherProcess
from ddl_class.grading.sandbox import Limits
from ddl_class.grading.submission import read_assignment

pytestmark = pytest.mark.slow

ENDLESS = "def ring_allreduce(comm, x):\n    while True: pass"
GRADE = """
import sys
from pathlib import Path
from ddl_class.grading.batch import grade
submissions, source, out = map(Path, sys.argv[1:])
print("begun", flush=True)
grade(submissions, source, out, jobs=2)
"""


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def grading(desk):
    about = read_assignment(desk.source), desk.source.read_bytes(), "", desk.out, Limits()
    return Grading(*about, hidden=[desk.submissions], modules=[])


@pytest.fixture
def submission(desk):
    desk.hand_in("ann", desk.notebook(*HONEST["only the ring"][:2]))
    [submission] = find_submissions(desk.submissions, "06_two")
    return submission


def test_several_processes_give_the_verdicts_that_one_gives(desk):
    for name, (ring, crossover, _) in HONEST.items():
        desk.hand_in(name.replace(" ", "_"), desk.notebook(ring, crossover))
    alone, together = (
        batch.grade(desk.submissions, desk.source, desk.out / str(jobs), jobs=jobs)
        for jobs in (1, 3)
    )
    assert [earned(verdict) for verdict in alone] == [earned(verdict) for verdict in together]
    assert [earned(verdict)[-1] for verdict in together] == [
        [(2.0 * right, False) for right in HONEST[name][2]] for name in sorted(HONEST)
    ]


def earned(verdict):
    scores = [(score.points, score.doubtful) for score in verdict.scores]
    return verdict.student, verdict.digest, scores


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_however_the_grader_ends(desk, tmp_path, how):
    for student in ("ann", "bob"):
        desk.hand_in(student, desk.notebook(ENDLESS, CROSSOVER_STUB))
    (tmp_path / "tmp").mkdir()
    grader = subprocess.Popen(
        [sys.executable, "-c", GRADE, desk.submissions, desk.source, desk.out],
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert grader.stdout.readline() == b"begun\n"
    fork_servers, ranks = 2, 3
    wait_until(lambda: len(sandboxes_of(grader)) >= fork_servers + ranks, 60)
    family = psutil.Process(grader.pid).children(recursive=True)
    os.killpg(grader.pid, how)  # as a terminal does
    assert grader.wait(20) == -how
    wait_until(lambda: not any(process.is_running() for process in family), 20)
    wait_until(lambda: not list((tmp_path / "tmp").glob("sandbox-*")), 20)


def wait_until(done, seconds):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_process_that_has_ended_is_told_of(grading, submission):
    with OtherProcess(grading) as other:
        assert [score.points for score in other.verdict(submission).scores] == [2, 0]
        other.hang_up()
        with pytest.raises(Mistake, match="A process that grades has ended"):
            other.verdict(submission)


def test_what_fails_there_is_told_here(grading, submission):
    with (
        OtherProcess(replace(grading, hidden=None)) as other,
        pytest.raises(RuntimeError, match="TypeError: 'NoneType'") as first,
    ):
        other.verdict(submission)
    with other, pytest.raises(RuntimeError) as second:
        other.verdict(submission)
    assert first.value is second.value


def test_modules_are_not_taken_from_the_folder_in_which_one_grades(
    grading, submission, tmp_path, monkeypatch
):
    (tmp_path / "numpy.py").write_text("raise SystemExit('this is a submission')")
    monkeypatch.chdir(tmp_path)
    with OtherProcess(grading) as other:
        assert other.verdict(submission).scores
