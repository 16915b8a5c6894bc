"""A long run, whole: it trains, saves now and then, goes when asked, and resumes by itself.

    mpiexec -n 4 python -m ddl_teach.fault_tolerance.long_run FOLDER --steps 2000

Kill it, pre-empt it, cut the power; then type the same line again, or have `ddl-teach again` and
the batch system do so: FOLDER decides where it goes on. Each step takes the mean gradient of all
ranks; each leaves out some entries, drawn from a generator of its own, so that no two ranks have
the same state. What to look at: the fingerprint of the weights in `result.json` does not depend on
what went wrong meanwhile.
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ddl_runtime.launcher.join import join
from ddl_runtime.records.whole_file import write_whole
from ddl_teach.collectives import ring
from ddl_teach.comm import Comm
from ddl_teach.fault_tolerance.checkpoints import Checkpoints, restore, state_of
from ddl_teach.fault_tolerance.preemption import Preemption
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.tasks.digits import Digits

RESULT = "result.json"
LEFT_OUT = 0.1  # of a gradient's entries


def long_run(
    comm: Comm,
    folder: str,
    steps: int = 1000,
    every: int = 100,
    seconds: float = 0.0,
    preemption: Preemption | None = None,
) -> bool:
    """Train for `steps` steps in all, with a checkpoint after `every` of them; whether all are
    done. Each step takes `seconds` more, so that one can watch."""
    task, rule, kept = Digits(hidden=16), Adam(3e-3), Checkpoints(comm, folder)
    preemption = preemption or Preemption()  # one that no signal reaches
    done, weights = 0, task.initial()
    states = [np.zeros_like(weights) for _ in range(rule.states)]
    random = np.random.default_rng([1, comm.rank])
    if (checkpoint := kept.newest()) is not None:
        done, weights = checkpoint.step, checkpoint.state["weights"]
        states = [checkpoint.state["first"], checkpoint.state["second"]]
        restore(random, checkpoint.state["random"])
    if comm.rank == 0:
        print(f"begins at step {done} of {steps}", flush=True)
    going = False
    while done < steps and not going:
        _, gradient = task.gradient(weights, comm.rank, comm.size, done)
        gradient *= random.random(len(gradient)) >= LEFT_OUT
        ring.allreduce(comm, gradient)
        rule(weights, gradient / comm.size, states, done + 1)
        comm.work(seconds=seconds)
        done += 1
        going = preemption.agreed(comm)
        if going or (every and done % every == 0) or done == steps:
            state = {"weights": weights, "first": states[0], "second": states[1]}
            kept.save(done, state | {"random": state_of(random)})
    if done == steps and comm.rank == 0:
        fingerprint = hashlib.sha256(weights.tobytes()).hexdigest()
        report = {"steps": done, "accuracy": task.accuracy(weights), "weights": fingerprint}
        write_whole(Path(folder) / RESULT, json.dumps(report) + "\n")
        print(f"done: {report}", flush=True)
    return done == steps


def main(words: Sequence[str] | None = None) -> int:
    """The program: call it on all ranks that mpiexec or srun has started."""
    parser = argparse.ArgumentParser(description="A training that resumes by itself.")
    parser.add_argument("folder", metavar="FOLDER", help="for checkpoints and the result")
    parser.add_argument("--steps", type=int, default=1000, help="in all; default: 1000")
    parser.add_argument(
        "--every", type=int, default=100, help="steps to save; 0: at the end only; default: 100"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="more for each step")
    settings = vars(parser.parse_args(words))
    with Preemption() as preemption:  # before MPI starts, which takes a while
        join(long_run, timeout=math.inf, preemption=preemption, **settings)
    return preemption.status


if __name__ == "__main__":
    sys.exit(main())
