"""What a consistency needs of a distribution is a Protocol: refusals, handles and a type checker
agree on it."""

import re
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import get_args

import numpy as np
import pytest

from benchmarks.combinations import CONSISTENCIES, DISTRIBUTIONS
from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.asynchronous_gossip import Meets
from ddl_teach.training.consistency.compressed_gossip import MixesChanges
from ddl_teach.training.consistency.handles import Averages, Dedicated, Mixes, Serves, Service
from ddl_teach.training.consistency.hogwild import Shares
from ddl_teach.training.consistency.push_sum import PushesSums
from ddl_teach.training.consistency.streaming_diloco import BeginsAverages
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.refusals import refusal

VERBS = (Averages, BeginsAverages, Serves, Mixes, MixesChanges, PushesSums, Meets, Shares)
ROOT = Path(__file__).resolve().parents[2]


def name(part):
    """Alike in every process: what is in it, but for a function's address."""
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(part))


@pytest.mark.parametrize("consistency", CONSISTENCIES, ids=name)
def test_what_a_when_needs_is_what_its_worker_has(consistency):
    (handle,) = get_args(type(consistency).__orig_bases__[0])
    assert consistency.needs == (get_args(handle) if isinstance(handle, UnionType) else (handle,))


def verbs_of_stations(comm, distribution):
    handle = distribution.open(comm, np.zeros(6), Dense(), Service(SGD(0.1)))
    if isinstance(handle, Dedicated):
        return None
    return {verb for verb in VERBS if isinstance(handle, verb)}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=name)
@pytest.mark.parametrize("ranks", [1, 4])
def test_stations_have_the_verbs_that_their_path_offers_and_no_others(distribution, ranks):
    results = simulate(
        verbs_of_stations, ranks, network=TwoLevel(4), distribution=distribution
    ).results
    workers = [verbs for verbs in results if verbs is not None]
    assert workers
    # A rank alone is server and worker; with several, those that only serve come first.
    assert all(verbs == set(distribution.offers) for verbs in workers)


PROGRAM = """
from ddl_teach.comm import Comm
from ddl_teach.training.trainer import train
from ddl_teach.training.tasks.quadratic import Quadratic
{imports}

def program(comm: Comm) -> None:
{calls}
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_type_checker_refuses_what_has_no_verb_in_common(tmp_path):
    # One of each class, as its settings do not matter here.
    consistencies, distributions = (
        {type(one): one for one in every}.values() for every in (CONSISTENCIES, DISTRIBUTIONS)
    )
    pairs = [
        (consistency, distribution)
        for consistency in consistencies
        for distribution in distributions
    ]
    used = {type(one) for pair in pairs for one in pair}
    imports = [f"from {kind.__module__} import {kind.__name__}" for kind in used]
    calls = [
        f"    train(comm, Quadratic(), {type(consistency).__name__}(), "
        f"{type(distribution).__name__}())"
        for consistency, distribution in pairs
    ]
    text = PROGRAM.format(imports="\n".join(imports), calls="\n".join(calls))
    (tmp_path / "program.py").write_text(text)
    checking = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
         "--follow-imports=silent", "--cache-dir", tmp_path / "cache", tmp_path / "program.py"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    found = {int(line) for line in re.findall(r"program\.py:(\d+): error", checking.stdout)}
    first = text.splitlines().index(calls[0]) + 1
    wanted = {
        first + place
        for place, (consistency, distribution) in enumerate(pairs)
        if not set(consistency.needs) & set(distribution.offers)
    }
    assert found == wanted, checking.stdout + checking.stderr
    assert 0 < len(wanted) < len(pairs)


@pytest.mark.parametrize("consistency", CONSISTENCIES, ids=name)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=name)
def test_where_no_verb_is_common_the_reason_is_one_of_the_table(consistency, distribution):
    if not set(consistency.needs) & set(distribution.offers):
        assert "this one" not in refusal(consistency, distribution, Dense()), (
            "only for verbs of somebody else"
        )
