"""The networks of torch's own tests, wrapped in one line: trained as by one process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
RANKS, LEAST = ["2", "3"], 20  # so many networks
EXACT, IN_32_BITS = 1e-12, 1e-7  # torch's transformer gives what it computes in 32 bits


@pytest.fixture(scope="module")
def distances():
    """By network, stage and ranks: how far the weights are from those of one process."""
    program = [sys.executable, str(Path(__file__).with_name("torchs_models.py")), *RANKS]
    done = subprocess.run(program, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(520)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("stage", range(4))
def test_a_network_of_torchs_tests_is_trained_as_by_one_process(distances, stage, ranks):
    own = {name: far for name, far in distances.items() if f"stage {stage}, {ranks} r" in name}
    assert len(own) >= LEAST
    most = {name: IN_32_BITS if "Transformer" in name else EXACT for name in own}
    assert {name: far for name, far in own.items() if not far < most[name]} == {}


@pytest.mark.timeout(520)
def test_one_step_less_is_seen(distances):
    less = [far for name, far in distances.items() if "one step less" in name]
    assert len(less) >= LEAST
    assert min(less) > 1e-6
