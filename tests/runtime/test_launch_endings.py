"""However a rank ends and whatever it leaves behind, the next program finds a clean house."""

import ctypes
import os
import re
import signal
import sys
import time

import numpy as np
import pytest
from hanging_programs import kills_mpiexec

from ddl_runtime.diagnosis.deadlock import DiagnosedError, RankFailed
from ddl_teach import Ranks

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def trio():
    with Ranks(3) as ranks:
        yield ranks


def all_is_well(comm):
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    x = np.zeros(1, int)
    comm.sendrecv(np.array([comm.rank]), right, x, left)
    assert x[0] == left
    comm.barrier()
    print("all is well")
    return os.getpid()


# -- ways to go -----------------------------------------------------------------------------


def exits(status):
    os._exit(status)


def reads_nowhere():
    ctypes.string_at(0)


def is_killed(number):
    os.kill(os.getpid(), number)


def calls_abort():
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(3)


def becomes_another_program():
    os.execlp("true", "true")


def program_in_which_rank_1_dies(comm, way, details):
    print(f"I am {comm.rank}, and this line has no end", end="", flush=True)
    comm.barrier()
    if comm.rank == 1:
        way(*details)
    comm.barrier()


WAYS_TO_DIE = {
    "exits with 0": (exits, (0,), "its process ended in the middle of the program, as os._exit"),
    "exits with 5": (exits, (5,), "it exited with status 5 in the middle .* as os._exit does"),
    "reads nowhere": (reads_nowhere, (), "killed by signal 11"),
    "is killed": (is_killed, (signal.SIGKILL,), "killed by signal 9 .* when memory runs out"),
    "calls Abort": (calls_abort, (), "it called MPI's Abort"),
    "becomes another": (becomes_another_program, (), "its process ended in the middle"),
}


@pytest.mark.parametrize("how", WAYS_TO_DIE)
@pytest.mark.sampled(8)
def test_a_rank_that_dies_is_named_and_its_last_words_are_heard(trio, capfd, how):
    way, details, words = WAYS_TO_DIE[how]
    with pytest.raises(RankFailed) as caught:
        trio.run(program_in_which_rank_1_dies, way=way, details=details)
    assert re.search(f"rank 1 died: {words}", str(caught.value)), caught.value
    assert caught.value.rank == 1
    assert "[1] I am 1, and this line has no end" in capfd.readouterr().out
    assert len(set(trio.run(all_is_well).results)) == 3


def test_ranks_whose_mpiexec_was_killed_are_not_waited_for(trio):
    trio.run(all_is_well)
    with pytest.raises(DiagnosedError, match=r"mpiexec, which holds|rank \d died"):
        trio.run(kills_mpiexec, timeout=200)
    assert len(set(trio.run(all_is_well).results)) == 3


# -- failures that the processes survive ----------------------------------------------------


class NeedsTwo(Exception):
    """Pickle can write it, but not read it again."""

    def __init__(self, first, second):
        super().__init__(first + second)


def endless_recursion():
    return endless_recursion()


def too_much_memory():
    return np.ones(10**15)


def full_disk():
    with open("/dev/full", "w") as file:
        file.write("no room")


def raises_what_cannot_be_rebuilt():
    raise NeedsTwo("two ", "words")


def program_in_which_rank_1_fails(comm, way, details):
    if comm.rank == 1:
        way(*details)
    comm.barrier()


WAYS_TO_FAIL = [
    (endless_recursion, (), "RecursionError: maximum recursion depth"),
    (too_much_memory, (), "MemoryError: Unable to allocate"),
    pytest.param(
        full_disk,
        (),
        r"OSError: \[Errno 28\] No space left on device\. The disk is full",
        marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it"),
    ),
    (raises_what_cannot_be_rebuilt, (), "NeedsTwo: two words"),
    (sys.exit, (0,), r"SystemExit\(0\): the program called exit"),
    (sys.exit, (3,), r"SystemExit\(3\): the program called exit"),
    (sys.exit, ("enough",), r"SystemExit\(enough\): the program called exit"),
    (input, (), "EOFError"),
]


@pytest.mark.parametrize(
    ("way", "details", "words"), WAYS_TO_FAIL, ids=lambda value: str(value)[:24]
)
@pytest.mark.sampled(2)
def test_a_rank_that_fails_is_named_and_the_processes_live_on(trio, way, details, words):
    before = trio.run(all_is_well).results
    with pytest.raises(RankFailed, match=f"rank 1 raised {words}") as caught:
        trio.run(program_in_which_rank_1_fails, way=way, details=details)
    assert "worker.py" not in str(caught.value)
    assert trio.run(all_is_well).results == before


# -- ranks that do not want to stop ---------------------------------------------------------


def sleeps_behind_closed_ears():
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    time.sleep(1000)


def sleeps_masked():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    time.sleep(1000)


def computes_in_one_long_call():
    sum(range(10**11))


def catches_everything():
    while True:
        try:
            time.sleep(0.05)
        except BaseException:
            continue


STUBBORN = [
    sleeps_behind_closed_ears, sleeps_masked, computes_in_one_long_call, catches_everything,
]  # fmt: skip


def rank_1_fails_among(comm, others):
    if comm.rank == 1:
        time.sleep(0.2)
        raise ValueError("enough")
    others()


@pytest.mark.usefixtures("little_patience")
@pytest.mark.parametrize("others", STUBBORN, ids=lambda way: way.__name__)
@pytest.mark.sampled(4)
def test_who_does_not_stop_when_told_to_is_ended(trio, others):
    with pytest.raises(RankFailed, match="rank 1 raised ValueError: enough"):
        trio.run(rank_1_fails_among, others=others)
    assert len(set(trio.run(all_is_well).results)) == 3


def stopped_in_passing(comm):
    if comm.rank == 1:
        raise ValueError("enough")
    try:
        time.sleep(1000)
    finally:
        print("cleaned up")


def test_a_stopped_rank_may_clean_up(trio, capfd):
    before = trio.run(all_is_well).results
    with pytest.raises(RankFailed, match="enough"):
        trio.run(stopped_in_passing)
    said = capfd.readouterr().out
    assert "[0] cleaned up" in said
    assert "[2] cleaned up" in said
    assert trio.run(all_is_well).results == before


def imports(comm, folder, fail):
    if fail and comm.rank == 1:
        time.sleep(0.2)
        raise ValueError("enough")
    sys.path.insert(0, folder)
    import slow_to_import

    return slow_to_import.READY


def test_a_module_is_never_left_half_imported(trio, tmp_path):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(2)\nREADY = True\n")
    with pytest.raises(RankFailed, match="enough"):
        trio.run(imports, folder=str(tmp_path), fail=True)
    assert trio.run(imports, folder=str(tmp_path), fail=False).results == [True] * 3


# -- what a program changes in its process --------------------------------------------------


def look_around(comm):
    handlers = [str(signal.getsignal(n)) for n in (signal.SIGUSR1, signal.SIGALRM)]
    print("can be heard")
    print("also here", file=sys.stderr)
    return os.getcwd(), dict(os.environ), list(sys.path), handlers


def moves_furniture(comm, fail):
    os.chdir("/")
    os.environ["FURNITURE"] = "moved"
    del os.environ["PATH"]
    sys.path.insert(0, "nowhere")
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.alarm(1)
    sys.stdout.close()
    os.close(2)
    sys.stderr = None
    if fail:
        raise ValueError("and slams the door")


@pytest.mark.parametrize("fail", [False, True], ids=["returns", "raises"])
def test_a_program_finds_its_process_as_if_it_were_the_first(trio, capfd, fail):
    before = trio.run(look_around).results
    if fail:
        with pytest.raises(RankFailed, match="slams the door"):
            trio.run(moves_furniture, fail=True)
    else:
        trio.run(moves_furniture, fail=False)
    capfd.readouterr()
    assert trio.run(look_around).results == before
    said = capfd.readouterr().out
    for rank in range(3):
        assert f"[{rank}] can be heard\n" in said
        assert f"[{rank}] also here\n" in said


def leaves_a_child(comm):
    if os.fork() == 0:
        time.sleep(2)
        os._exit(0)


def returns_twice(comm):
    os.fork()
    return comm.rank


@pytest.mark.parametrize("program", [leaves_a_child, returns_twice])
def test_children_left_behind_are_nobodys_ranks(trio, program):
    before = trio.run(all_is_well).results
    trio.run(program)
    assert trio.run(all_is_well).results == before
