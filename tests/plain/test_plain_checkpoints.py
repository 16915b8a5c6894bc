"""The plain agreement finds the step that its product finds, whatever each rank has lost."""

from functools import cache

import numpy as np
import pytest
from comparing import assert_close, vector

from ddl_teach import simulate
from ddl_teach.fault_tolerance.checkpoints import Checkpoints, path_of
from ddl_teach.plain import checkpoint_agreement

SAVED = (3, 6, 9, 12)
WHOLE, DAMAGED, MISSING = range(3)
SEEDS = range(4)


def fates(rank, seed):
    """What becomes of each of a rank's files; with seed 0 all are whole."""
    random = np.random.default_rng([rank, seed])
    if seed == 0:
        return dict.fromkeys(SAVED, WHOLE)
    return {step: random.choice(3, p=[0.7, 0.15, 0.15]) for step in SAVED}


def befall(path_by_step, rank, seed):
    for step, fate in fates(rank, seed).items():
        path = path_by_step(step)
        if fate == DAMAGED:
            contents = path.read_bytes()
            path.write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
        elif fate == MISSING:
            path.unlink()


def found_plainly(comm, folder, seed):
    """The agreed step, and this rank's state of it."""
    own = folder / f"{comm.rank}"
    own.mkdir()
    for step in SAVED:
        checkpoint_agreement.save(comm, own, step, vector(100 * comm.rank + step))
    befall(lambda step: own / f"{step}.checkpoint", comm.rank, seed)
    comm.barrier()
    step = checkpoint_agreement.newest(comm, own)
    if step == checkpoint_agreement.NOTHING:
        return step, np.zeros(0)
    return step, np.frombuffer((own / f"{step}.checkpoint").read_bytes()[32:])


def found_by_the_product(comm, folder, seed):
    kept = Checkpoints(comm, folder, keep=len(SAVED), tell=lambda text: None)
    for step in SAVED:
        kept.save(step, {"weights": vector(100 * comm.rank + step)})
    befall(lambda step: path_of(kept.own, step), comm.rank, seed)
    comm.barrier()
    found = kept.newest()
    return (-1, np.zeros(0)) if found is None else (found.step, found.state["weights"])


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    @cache
    def of(ranks, seed):
        folder = tmp_path_factory.mktemp(f"{ranks}-{seed}")
        return simulate(found_by_the_product, ranks, folder=folder, seed=seed).results

    return of


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.sampled(4)
def test_the_agreed_step_and_its_state_are_those_of_the_product(
    run, ranks, seed, product, tmp_path
):
    results = run(found_plainly, folder=tmp_path, seed=seed).results
    for (step, state), (expected_step, expected_state) in zip(
        results, product(ranks, seed), strict=True
    ):
        assert step == expected_step
        assert_close(state, expected_state)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_newest_step_that_all_have_whole(ranks, seed, tmp_path):
    step, _ = simulate(found_plainly, ranks, folder=tmp_path, seed=seed).results[0]
    common = [s for s in SAVED if all(fates(rank, seed)[s] == WHOLE for rank in range(ranks))]
    assert step == max(common, default=checkpoint_agreement.NOTHING)


def test_the_cases_above_are_of_every_kind():
    agreed = {
        max((s for s in SAVED if all(fates(rank, seed)[s] == WHOLE for rank in range(ranks))),
            default=checkpoint_agreement.NOTHING)
        for ranks in (1, 2, 3, 4, 5, 8) for seed in SEEDS
    }  # fmt: skip
    assert {SAVED[-1], checkpoint_agreement.NOTHING} < agreed
