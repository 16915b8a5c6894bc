"""Ranks of a node take its GPUs in turn and see them all; a person's settings reach the ranks."""

import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ddl_runtime.devices import placement
from ddl_runtime.devices.placement import VISIBLE, local_rank, own_first, visible_gpus
from ddl_runtime.launcher.mpiexec import mpi_environment
from ddl_teach import launch

pytestmark = pytest.mark.real


@given(some.integers(1, 9), some.integers(1, 40))
def test_gpus_are_shared_evenly_and_all_stay_visible(gpus, ranks):
    names = [str(number) for number in range(gpus)]
    seen = [own_first(names, rank) for rank in range(ranks)]
    assert all(sorted(each) == names for each in seen)
    own = [each[0] for each in seen]
    loads = [own.count(name) for name in names]
    assert max(loads) - min(loads) <= 1
    assert max(loads) == -(-ranks // gpus)


def test_what_cuda_would_see_is_what_is_shared():
    def seen(text):
        return visible_gpus({VISIBLE: text})

    assert seen("2, 0,5") == ["2", "0", "5"]
    assert seen("GPU-8932f937,MIG-a,1") == ["GPU-8932f937", "MIG-a", "1"]
    assert seen("1,-1,2") == ["1"]  # CUDA stops at the first that does not exist
    assert seen("") == seen("-1") == seen("NoDevFiles") == []


@pytest.mark.parametrize(
    "before", [{VISIBLE: ""}, {VISIBLE: "3"}, {VISIBLE: "-1", "SLURM_LOCALID": "2"}], ids=str
)
def test_no_gpu_and_one_gpu_change_nothing(before):
    after = dict(before)
    placement.take_own_gpu(after)
    assert after == before


def test_no_gpu_is_put_first_where_there_is_none():
    assert own_first([], 3) == []


def test_without_the_variable_the_driver_counts(monkeypatch):
    monkeypatch.setattr(placement, "installed_gpus", lambda: 3)
    environment = {"MPI_LOCALRANKID": "4"}
    placement.take_own_gpu(environment)
    assert environment[VISIBLE] == "1,2,0"


def planted(near, asked, opened):
    """A driver that knows two GPUs near these cores, and keeps which was asked for."""

    def handle(index, handle):
        asked.append(index)
        return 0 if index < 2 else 2

    return SimpleNamespace(
        nvmlInit_v2=lambda: opened.append(1),
        nvmlShutdown=opened.pop,
        nvmlDeviceGetHandleByIndex_v2=handle,
        nvmlDeviceSetCpuAffinity=lambda handle: os.sched_setaffinity(0, near),
    )


@pytest.fixture
def cores():
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def near(monkeypatch, cores, environment):
    asked, opened = [], []
    driver = planted(cores, asked, opened)
    monkeypatch.setattr(placement.ctypes, "CDLL", lambda name: driver)
    placement.take_own_gpu(environment)
    assert opened == []
    return asked, os.sched_getaffinity(0)


def test_a_rank_stays_on_the_cores_near_its_gpu(monkeypatch, cores):
    one = {min(cores)}
    assert near(monkeypatch, one, {VISIBLE: "0,1", "MPI_LOCALRANKID": "3"}) == ([1], one)


def test_who_bound_a_rank_elsewhere_has_the_last_word(monkeypatch, cores):
    if len(cores) < 2:
        pytest.skip("it takes two cores")
    os.sched_setaffinity(0, {max(cores)})
    assert near(monkeypatch, {min(cores)}, {VISIBLE: "0"})[1] == {max(cores)}


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({VISIBLE: "0", placement.NO_BINDING: "1"}, []),
        ({VISIBLE: "0", placement.ASKED_FOR: "cpu"}, []),
        ({VISIBLE: ""}, []),
        ({VISIBLE: "7"}, [7]),
    ],
    ids=["not wanted", "on the processor", "no GPU", "not known"],
)
def test_else_it_keeps_its_cores(monkeypatch, cores, environment, asked):
    assert near(monkeypatch, {min(cores)}, environment) == (asked, cores)


def test_the_nearest_launcher_is_asked_first():
    inside_slurm = {"SLURM_LOCALID": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "3"}
    assert local_rank(inside_slurm) == 3
    assert local_rank({"SLURM_LOCALID": "2"}) == 2
    assert local_rank({}) == 0


def test_real_ranks_see_their_own_gpu_first(monkeypatch):
    monkeypatch.setenv(VISIBLE, "4,6,7")

    def program(comm):
        return os.environ[VISIBLE]

    seen = launch(program, 5).results
    assert seen == ["4,6,7", "6,7,4", "7,4,6", "4,6,7", "6,7,4"]


def test_settings_of_a_person_reach_the_ranks_and_those_of_an_mpiexec_do_not(monkeypatch):
    kept = {"OMPI_MCA_opal_cuda_support": "true", "MPIR_CVAR_ENABLE_GPU": "1"}
    dropped = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_MCA_num_procs": "7", "PMI_RANK": "1"}
    for name, value in (kept | dropped).items():
        monkeypatch.setenv(name, value)
    environment = mpi_environment()
    assert kept.items() <= environment.items()
    assert not dropped.keys() & environment.keys()
