"""Real ranks as their users meet them: what comes back, what is printed, what is refused."""

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import wait

import numpy as np
import psutil
import pytest
from hanging_programs import kills_mpiexec

from ddl_runtime.diagnosis.deadlock import DiagnosedError, RankFailed, TimedOut
from ddl_teach import Ranks, Run, launch, simulate

pytestmark = pytest.mark.real


def who(comm):
    return comm.rank, comm.size


# -- what comes back ------------------------------------------------------------------------


def ring(comm, seconds=0.0, mark=""):
    exec(mark)
    with comm.span("everything"):
        x = np.full(3, float(comm.rank))
        comm.work(seconds=seconds)
        comm.sendrecv(x, (comm.rank + 1) % comm.size, x.copy(), (comm.rank - 1) % comm.size)
    return {"rank": comm.rank, "x": x}


def test_results_time_ledger_and_timeline_come_back(real):
    run = real(ring, 5, seconds=0.05)
    assert isinstance(run, Run)
    assert [result["rank"] for result in run.results] == list(range(5))
    assert run.time >= 0.05
    for rank in range(5):
        assert run.ledger[rank].bytes_sent == 24
        assert run.ledger[rank].messages[0].peer == (rank + 1) % 5
        assert {"everything", "work"} <= {span.name for span in run.timeline.spans[rank]}
        assert all(0 <= span.start <= span.end for span in run.timeline.spans[rank])


def test_without_trace_there_are_no_spans_but_a_ledger(real):
    run = real(ring, 3, trace=False)
    assert [list(spans) for spans in run.timeline.spans] == [[], [], []]
    assert [ledger.messages_sent for ledger in run.ledger] == [1, 1, 1]


def test_any_number_of_the_processes_may_be_used_in_any_order(real):
    for count in (8, 1, 5, 2, 8, 3):
        assert real(who, count).results == [(rank, count) for rank in range(count)]


def test_launch_starts_runs_and_ends():
    pids = launch(lambda comm: os.getpid(), 2).results
    assert len(set(pids)) == 2
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]  # not yet reaped
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in left)


def test_ranks_that_were_closed_start_again_when_asked():
    with Ranks(2) as ranks:
        first = ranks.run(lambda comm: os.getpid()).results
        ranks.close()
        ranks.close()
        assert not set(first) & set(ranks.run(lambda comm: os.getpid()).results)


def in_threads(*calls):
    """What these calls return when they are made at once, each in a thread of its own."""
    results = [None] * len(calls)

    def body(place, call):
        results[place] = call()

    threads = [threading.Thread(target=body, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_pools_and_programs_may_be_used_from_any_thread(real):
    runs = in_threads(
        lambda: launch(who, 2).results,
        lambda: real(who, 3).results,
        lambda: real(who, 5).results,
    )
    assert runs == [[(rank, count) for rank in range(count)] for count in (2, 3, 5)]


def test_a_rank_may_launch_ranks_of_its_own(real):
    def nested(comm):
        rank = comm.rank
        return launch(lambda inner: 10 * rank + inner.rank, 2).results if rank else None

    assert real(nested, 2).results == [None, [10, 11]]


# -- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timeout", "error"),
    [(0, ValueError), (-1, ValueError), (float("nan"), ValueError), (None, TypeError),
     ("5", TypeError), (True, TypeError), ([1], TypeError)],
)  # fmt: skip
def test_a_timeout_that_is_no_time_is_refused(real, timeout, error):
    with pytest.raises(error, match=re.escape(f"not {timeout!r}")):
        real(who, 2, timeout=timeout)


@pytest.mark.parametrize("timeout", [float("inf"), np.float32(60), 1e300])
def test_a_timeout_may_be_any_positive_number(real, timeout):
    assert real(who, 2, timeout=timeout).results == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("ranks", "error", "words"),
    [(0, ValueError, "at least 1"), (-1, ValueError, "at least 1"), (True, TypeError, "True"),
     (2.0, TypeError, "2.0"), ("4", TypeError, "'4'"), (None, TypeError, "None"),
     (10**9, ValueError, "at most 512.*simulate")],
)  # fmt: skip
def test_a_number_of_ranks_that_is_none_is_refused_before_anything_starts(ranks, error, words):
    with pytest.raises(error, match=words):
        launch(who, ranks)
    with pytest.raises(error, match=words):
        Ranks(ranks)


def test_a_pool_has_no_more_ranks_than_it_has(real):
    with pytest.raises(ValueError, match="there are 8 processes: ranks must be 1 to 8"):
        real(who, 9)


def without_communicator():
    return 1


def generator(comm):
    yield comm.rank


async def coroutine(comm):
    return comm.rank


def test_what_is_no_program_is_refused_in_words(real):
    for program in (generator, coroutine):
        for ground in (real, simulate):
            with pytest.raises(TypeError, match=f"{program.__name__} is a generator or `async`"):
                ground(program, 2)
    with pytest.raises(RankFailed, match="first parameter is its communicator") as caught:
        real(without_communicator, 2)
    assert "worker.py" not in str(caught.value)
    assert real(who, 8).results[7] == (7, 8)


def test_when_the_time_is_up_the_ranks_are_told_and_kept(real, hourglass):
    before = real(lambda comm: os.getpid(), 3).results
    with pytest.raises(TimedOut, match=r"time was up: 5000 s, and 3 of 3") as caught:
        real(ring, 3, seconds=1e6, mark=hourglass(3), timeout=5000)
    assert re.search(r"rank 2  at test_launch.py:\d+ in ring", str(caught.value))
    assert real(lambda comm: os.getpid(), 3).results == before


# -- what is printed ------------------------------------------------------------------------


def lines_of(said, rank):
    """The rank's lines as they stand on a screen: what was written over is gone."""
    mark = f"[{rank}] "
    rows = [
        row if "\r" not in row else row.rpartition("\r")[2].rstrip() for row in said.split("\n")
    ]
    return [row.removeprefix(mark) for row in rows if row.startswith(mark)]


def talks(comm):
    for number in range(50):
        print(f"line {number}")
    print("half a line, ", end="", flush=True)
    comm.barrier()
    print("and the other half")
    print("on stderr", file=sys.stderr)
    os.write(1, b"from compiled code\n")
    os.write(2, b"not utf-8: \xff\xfe\x00\n")
    subprocess.run(["echo", "from another program"], check=True)
    print("grüße \N{SNOWMAN}\n\nafter an empty line")
    print("the end, without a newline", end="")


def test_every_line_carries_its_rank_and_each_ranks_lines_are_in_order(real, capfd):
    real(talks, 3)
    said = capfd.readouterr()
    assert said.err == ""
    for rank in range(3):
        assert lines_of(said.out, rank) == [
            *(f"line {number}" for number in range(50)),
            "half a line, and the other half",
            "on stderr",
            "from compiled code",
            "not utf-8: \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\0",
            "from another program",
            "grüße \N{SNOWMAN}",
            "",
            "after an empty line",
            "the end, without a newline",
        ]


def talks_much(comm, lines):
    for _ in range(lines):
        print("x" * (1_000_000 // lines))


@pytest.mark.parametrize("lines", [1, 1000])
def test_much_output_blocks_nobody_and_is_all_there(real, capfd, lines):
    real(talks_much, 3, lines=lines)
    said = capfd.readouterr().out
    for rank in range(3):
        assert lines_of(said, rank) == ["x" * (1_000_000 // lines)] * lines


def test_what_was_printed_before_a_failure_is_shown(real, capfd):
    def program(comm):
        print("before the fall", end="")
        if comm.rank == 1:
            raise ValueError("fell")
        comm.barrier()

    with pytest.raises(RankFailed, match="fell"):
        real(program, 3)
    assert lines_of(capfd.readouterr().out, 1) == ["before the fall"]


# -- patience -------------------------------------------------------------------------------


def waits_for_rank_0(comm, how):
    memory = comm.shared_memory(8)
    comm.barrier()
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    if comm.rank == 0:
        time.sleep(1)
        for peer in range(1, comm.size) if how in ("recv", "wait_any") else ():
            comm.send(np.zeros(1), peer)
    elif how == "recv":
        comm.recv(np.zeros(1), 0)
    elif how == "wait_any":
        comm.wait_any([comm.irecv(np.zeros(1), 0)])
    if how == "barrier":
        comm.barrier()
    if how == "fence":
        memory.fence()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu / (time.monotonic() - begun)


@pytest.mark.parametrize("how", ["recv", "wait_any", "barrier", "fence"])
@pytest.mark.sampled(2)
def test_ranks_that_wait_leave_the_cores_to_others(real, how):
    shares = real(waits_for_rank_0, 8, how=how).results
    assert max(shares) < 0.25, shares


@pytest.mark.long
def test_an_mpiexec_that_was_killed_leaves_no_file(monkeypatch):
    """One that gets its number later would find its folder and not start."""
    common = tempfile.gettempdir()
    with tempfile.TemporaryDirectory() as scratch:  # tmp_path is too long for a socket's name
        monkeypatch.setattr(tempfile, "tempdir", scratch)
        with Ranks(2) as duo:
            number = duo.run(lambda comm: os.getppid()).results[0]
            with pytest.raises(DiagnosedError):
                duo.run(kills_mpiexec, timeout=200)
        assert os.listdir(scratch) == []
    assert not [name for name in os.listdir(common) if name.endswith(f".{number}")]


def test_a_rank_that_has_died_since_the_last_program_is_replaced():
    with Ranks(2) as duo:
        doomed = duo.run(lambda comm: os.getpid()).results[1]
        os.kill(doomed, signal.SIGKILL)
        wait([duo._process_pool.lines[1].control])
        assert doomed not in duo.run(lambda comm: os.getpid()).results
