"""Who wraps one module after another: what is not used any more is given back."""

import gc
import weakref
from functools import partial

import pytest
import torch
from torch import nn

from ddl_runtime.topologies.point_to_point import TwoLevel
from ddl_teach import simulate
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.data_parallel.buckets import fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.data_parallel.shared_buckets import fill_shared, in_shared_memory
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import STAGES
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.training.optimizers.momentum import Momentum

ONE_NODE = TwoLevel(ranks_per_node=8)


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def wrapped(comm, module, **kwargs):
    """What is made of the module, and a step with it."""
    parallel = wrap(comm, module, **kwargs)
    return parallel, lambda x: parallel(x).sum().backward()


def overlapped(comm, module):
    way = Overlapped(comm, fill(module.parameters(), 40))
    return way, lambda x: way.backward(module(x).sum())


def overlapped_in_shared_memory(comm, module):
    way = Overlapped(comm, fill_shared(comm, module.parameters(), 40), in_shared_memory)
    return way, lambda x: way.backward(module(x).sum())


def of_the_library(comm, module, trainer):
    made = trainer(comm, module, keep=resident(Momentum(0.1)))
    call = made if callable(made) else module

    def step(x):
        call(x).sum().backward()
        made.step()

    return made, step


MAKERS = {
    **{
        f"wrap, stage {stage}{', ' * bool(options)}{', '.join(options)}": partial(
            wrapped, stage=stage, **options
        )
        for stage in range(4)
        for options in ({}, {"rest_whole": True}, {"compute_dtype": torch.float32})
    },
    "overlapped": overlapped,
    "in shared memory": overlapped_in_shared_memory,
    **{trainer.__name__: partial(of_the_library, trainer=trainer) for trainer in STAGES.values()},
    "Pruned": partial(of_the_library, trainer=partial(Pruned, kept={})),
}


def what_stays(comm, make):
    """After two steps all is let go; whose memory is then still held."""
    module = small()
    made, step = make(comm, module)
    for _ in range(2):
        step(torch.ones(2, 3).double())
    named = {"what was made": made, "module": module} | dict(module.named_parameters())
    held = {name: weakref.ref(each) for name, each in named.items()}
    del made, module, step, named
    gc.collect()
    return [name for name, each in held.items() if each() is not None]


@pytest.mark.parametrize("name", MAKERS)
def test_what_nobody_uses_is_freed(name):
    run = simulate(what_stays, 2, threads=True, network=ONE_NODE, make=MAKERS[name])
    assert run.results == [[]] * 2
