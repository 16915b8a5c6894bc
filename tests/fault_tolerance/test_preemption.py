"""Who is asked to go saves first, all ranks at the same step; and is started again until done."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

from ddl_class.cli import main
from ddl_runtime.launcher.mpiexec import mpi_command, mpi_environment
from ddl_teach import simulate
from ddl_teach.fault_tolerance.again import Again
from ddl_teach.fault_tolerance.checkpoints import Checkpoints, steps
from ddl_teach.fault_tolerance.long_run import long_run
from ddl_teach.fault_tolerance.preemption import AGAIN, SIGNALS, Preemption

pytestmark = pytest.mark.slow


def walk(comm, folder, ends, asked=None):
    """A step is an addition; `asked` says which rank is sent which signal before which step."""
    kept = Checkpoints(comm, folder)
    found = kept.newest()
    done, place = (found.step, found.state["place"]) if found else (0, np.zeros(1))
    with Preemption() as preemption:
        while done < ends:
            if asked is not None and (comm.rank, done) == asked[:2]:
                os.kill(os.getpid(), asked[2])
            place += np.sin(done + comm.rank + place)
            done += 1
            if preemption.agreed(comm):
                # A second signal in the middle of saving, and of each kind.
                for number in SIGNALS:
                    os.kill(os.getpid(), number)
                kept.save(done, {"place": place})
                break
        assert preemption.agreed(comm) == (preemption.status == AGAIN) == (done < ends)
    if done < ends:
        for number in SIGNALS:
            os.kill(os.getpid(), number)  # and one more, on the way out
    return done, place[0], preemption.asked


@pytest.fixture
def signals_kept():
    earlier = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_one_rank_is_told_and_all_go_at_the_same_step(real, tmp_path, ranks):
    folder = tmp_path / str(ranks)
    asked = ranks - 1, 3, SIGNALS[ranks % 2]
    run = real(walk, ranks, folder=folder, ends=9, asked=asked)
    assert [it[0] for it in run.results] == [4] * ranks
    resumed = simulate(walk, ranks, folder=folder, ends=9)
    alone = simulate(walk, ranks, folder=tmp_path / f"alone {ranks}", ends=9)
    assert resumed.results == alone.results
    assert not any(asked for _, _, asked in alone.results)


def test_simulated_ranks_share_the_signals_of_their_process(tmp_path, signals_kept):
    seen = []

    def own(*_):
        seen.append(1)

    for number in SIGNALS:
        signal.signal(number, own)
    run = simulate(walk, 4, folder=tmp_path, ends=9, asked=(2, 5, signal.SIGTERM))
    assert [it[0] for it in run.results] == [6] * 4
    # Whoever listened before heard all: one before the step, two from each rank in saving and two
    # on its way out; and is alone again now.
    assert len(seen) == 1 + 4 * (2 + 2)
    assert [signal.getsignal(number) for number in SIGNALS] == [own, own]


def test_a_process_that_nobody_has_asked_dies_by_a_signal_as_ever(signals_kept):
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    with Preemption() as preemption:
        pass
    assert preemption.status == 0
    assert [signal.getsignal(number) for number in SIGNALS] == [signal.SIG_DFL] * 2


def test_a_signal_that_comes_before_all_handlers_are_set_is_noted(monkeypatch, signals_kept):
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    set_handler = signal.signal

    def at_once(number, handler):
        earlier = set_handler(number, handler)
        os.kill(os.getpid(), number)
        return earlier

    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", at_once)
        with Preemption() as preemption:
            assert preemption.asked


# What `ddl-teach again` starts: its n-th start does what the n-th word says.
SCRIPT = """
import os, pathlib, signal, sys
starts = pathlib.Path("starts")
number = len(starts.read_text()) if starts.exists() else 0
starts.write_text("x" * (number + 1))
word = sys.argv[1:][number]
if word.startswith("step-"):
    pathlib.Path(word + ".checkpoint").touch()
    word = "1"
if word == "done":
    pathlib.Path("proof").touch()
    word = "0"
if word == "killed":
    os.kill(os.getpid(), 9)
if word in ("asked", "asked at the end"):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.kill(os.getppid(), signal.SIGUSR1)
    if word == "asked at the end":
        pathlib.Path("proof").touch()
    word = "75"
sys.exit(int(word))
"""


@pytest.mark.parametrize(
    ("options", "words", "status", "told"),
    [
        ({}, "0", 0, []),
        ({}, "1 killed 75 75 0", 0, ["status 1. It is started again, 1 of 6", "status -9. It is"]),
        ({"crashes": 1}, "5 6", 6, ["status 6, 2 times in all: look into"]),
        (
            {"crashes": 1, "until": "proof"},
            "step-1 step-2 step-5 done",
            0,
            ["started again, 1 of"],
        ),
        ({"crashes": 1, "until": "proof"}, "step-1 step-1", 1, ["2 times since step 1"]),
        ({"crashes": 1}, "step-1 step-2", 1, ["2 times in all"]),
        ({"until": "proof"}, "0 75 done", 0, ["status 0 without having written proof. It is"]),
        ({"until": "proof", "crashes": 0}, "0", 1, ["status 0 without having written proof,"]),
    ],
    ids=[
        "done",
        "crashes",
        "too often",
        "steps",
        "the same step",
        "steps unknown",
        "proof",
        "no proof",
    ],
)
@pytest.mark.sampled(2)
def test_again_until_it_is_done(options, words, status, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    said = []
    command = [sys.executable, "-I", "-S", "script.py", *words.split()]
    options |= {"until": Path(options["until"])} if "until" in options else {}
    assert Again(command, tell=said.append, pause=0.01, **options).run() == status, said
    for part in told:
        assert part in "\n".join(said)
    assert len((tmp_path / "starts").read_text()) == len(words.split())
    if status == 0 and "until" in options:
        assert Again(command, tell=said.append, **options).run() == 0
        assert said[-1] == "proof is there already, so it is done: nothing is started."
        assert len((tmp_path / "starts").read_text()) == len(words.split())


@pytest.mark.parametrize(
    ("word", "status"), [("asked", AGAIN), ("asked at the end", 0)], ids=["before", "at the end"]
)
def test_who_is_asked_to_go_when_it_is_done_is_done(word, status, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-I", "-S", "script.py", word]
    assert Again(command, until=Path("proof"), tell=[].append).run() == status


def test_who_is_asked_to_go_in_a_pause_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-I", "-S", "script.py", "1", "1", "0"]

    def ask_after_the_second(told):
        if "2 of 6" in told:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

    again = Again(command, tell=ask_after_the_second, pause=1000)
    assert again.run() == AGAIN
    assert again.asked == {signal.SIGTERM}
    assert len((tmp_path / "starts").read_text()) == 2


def test_what_slurm_says_when_it_is_asked_to_start_a_job_again(monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    asked = "Slurm is asked to start job 17 again.\n"
    for status, words in ((0, asked), (1, f"{asked}It does not: no such job. Submit the job")):
        (tmp_path / "scontrol").write_text(f"#!/bin/sh\necho no such job >&2\nexit {status}\n")
        (tmp_path / "scontrol").chmod(0o755)
        (tmp_path / "starts").unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
            patch.setenv("SLURM_JOB_ID", "17")
            command = [sys.executable, "-I", "-S", "script.py", "asked"]
            assert main(["again", "--requeue", "--", *command]) == AGAIN
        said = capfd.readouterr().out
        assert words in said
        assert ("It does not" in said) == bool(status)


def test_that_nobody_reads_what_it_says_changes_nothing(tmp_path):
    count = f"echo x >> {tmp_path / 'tries'}; exit 3"
    words = ["-m", "ddl_teach", "again", "--crashes", "1", "--", "sh", "-c", count]
    again = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE)
    again.stdout.close()
    assert again.wait(60) == 3
    assert (tmp_path / "tries").read_text() == "x\n" * 2


def test_to_have_a_job_started_again_there_must_be_one(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert main(["again", "--requeue", "--", "true"]) == 2
    assert main(["again", "--", "no such program"]) == 2
    (tmp_path / "no program").touch()
    assert main(["again", "--", str(tmp_path / "no program")]) == 2
    said = capsys.readouterr().err
    assert "no program cannot be started: Permission denied" in said
    assert "--requeue is for a job of Slurm" in said
    assert "no such program cannot be started: No such file" in said


@pytest.fixture
def started():
    """Starts a command; whatever becomes of the test, nothing of it goes on afterwards."""
    processes = []

    def start(words, folder):
        files = {"PRTE_MCA_prte_tmpdir_base": str(folder)}  # leftovers of others have other names
        processes.append(
            subprocess.Popen(
                words, cwd=folder, env=mpi_environment() | files, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip
        return processes[-1]

    yield start
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        process.wait()


@pytest.mark.timeout(120)
def test_a_long_run_that_is_killed_asked_to_go_and_asked_once_more(tmp_path, started):
    program = [sys.executable, "-m", "ddl_teach.fault_tolerance.long_run", "kept"]
    words = [sys.executable, "-m", "ddl_teach", "again", "--", *mpi_command(2), *program]
    process = started([*words, "--steps", "1000000", "--every", "5"], tmp_path)
    words = iter(process.stdout.readline, "")
    own = tmp_path / "kept" / "rank-1-of-2"
    assert next(line for line in words if "begins at" in line) == "begins at step 0 of 1000000\n"
    while not (own.is_dir() and steps(own)):
        assert process.poll() is None
    ranks = [it for it in psutil.Process(process.pid).children(recursive=True) if is_rank(it)]
    ranks[1].kill()
    assert any("It is started again, 1 of 6" in line for line in words)
    resumed = next(line for line in words if "begins at" in line)
    assert 5 <= int(resumed.split()[3]) < 1000000
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGTERM):
        process.send_signal(number)
    said = "".join(words)
    assert process.wait() == AGAIN, said
    done = steps(own)[-1]
    ends = {"steps": done + 7, "every": 1000}
    for folder in ("kept", "alone"):
        assert simulate(long_run, 2, folder=str(tmp_path / folder), **ends).results == [True] * 2
    results = [json.loads((tmp_path / it / "result.json").read_text()) for it in ("kept", "alone")]
    assert results[0] == results[1]
    assert results[0]["steps"] == done + 7


def test_who_saves_at_the_end_only_ends_with_the_same_weights(tmp_path):
    told = []
    for every in (0, 3):
        folder = tmp_path / str(every)
        run = simulate(long_run, 2, folder=str(folder), steps=7, every=every)
        assert run.results == [True] * 2
        assert steps(folder / "rank-0-of-2")[-1] == 7
        told.append((folder / "result.json").read_text())
    assert told[0] == told[1]


def is_rank(process):
    return process.cmdline()[:3] == [sys.executable, "-m", "ddl_teach.fault_tolerance.long_run"]
