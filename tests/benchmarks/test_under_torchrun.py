"""torchrun starts all workers again when one is killed: they go on from what was saved."""

import json
import os
import subprocess
import sys

import psutil
import pytest

from benchmarks.under_torchrun import RESULT, STEPS
from ddl_teach import simulate
from ddl_teach.fault_tolerance.progress import TrainingPlan
from ddl_teach.fault_tolerance.restarting import resume
from ddl_teach.training.optimizers.momentum import Momentum
from ddl_teach.training.tasks.digits import Digits

pytestmark = pytest.mark.long

WORKER = "benchmarks.under_torchrun"
PLAN = TrainingPlan(Digits(), Momentum(0.1), steps=40, ranks=2)


def test_a_killed_worker_costs_the_steps_since_the_last_checkpoint(tmp_path):
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts=1"]
    words += ["--nproc-per-node=2", "-m", WORKER, str(tmp_path), "--seconds=0.05"]
    words += [f"--steps={PLAN.steps}", f"--ranks={PLAN.ranks}", "--every=10"]
    apart = os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    log = tmp_path / "log"
    pipes = {"stdout": subprocess.DEVNULL, "stderr": log.open("w")}
    with pipes["stderr"], subprocess.Popen(words, env=apart, **pipes) as agent:
        try:
            while len(noted(tmp_path)) < 15:
                assert agent.poll() is None, log.read_text()
            workers = psutil.Process(agent.pid).children(recursive=True)
            next(it for it in workers if it.environ().get("RANK") == "1").kill()
            assert agent.wait(timeout=120) == 0, log.read_text()
        finally:
            agent.terminate()  # it ends its workers
    steps = noted(tmp_path)
    again = next(number for number, step in enumerate(steps) if step != number)
    assert steps == [*range(again), *range(again // 10 * 10, PLAN.steps)]
    told = json.loads((tmp_path / RESULT).read_text())
    alone = simulate(resume, 2, plan=PLAN, folder=str(tmp_path / "alone"), every=0).results[0]
    assert told == {"ranks": 2, "accuracy": PLAN.task.accuracy(alone)}


def noted(folder):
    """The steps that have begun so far, in all attempts."""
    if not (folder / STEPS).exists():
        return []
    return [int(line.split()[0]) for line in (folder / STEPS).read_text().splitlines()]
