"""Ranks that mpiexec has started, and that `join`, have torch's groups as well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_runtime.launcher.mpiexec import mpi_command, mpi_environment

HERE = Path(__file__).parent
SCRIPT = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from training_programs import distance, network, one_process, train, weights

from ddl_teach import join


def program(comm):
    from ddl_teach import torch_backend  # noqa: F401

    dist.init_process_group("ddl_teach", rank=comm.rank, world_size=comm.size)
    model = train(DistributedDataParallel(network()), comm.rank, comm.size)
    dist.destroy_process_group()
    return weights(model)


run = join(program, timeout=200)
if run is not None:
    print(len(run.results), distance(run.results, one_process()) <= 1e-12)
"""


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.sampled(2)
def test_ddp_on_ranks_that_join_equals_one_process(tmp_path, ranks):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    folders = os.pathsep.join([str(HERE.parents[1]), str(HERE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*mpi_command(ranks), sys.executable, str(script)], capture_output=True, text=True,
        timeout=240, env={**mpi_environment(), "PYTHONPATH": folders.rstrip(os.pathsep)},
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(ranks), "True"]
