"""The networks that torch's own tests of data parallelism and sharding use, wrapped on ranks.

    python torchs_models.py 2 3      prints, by network, stage and ranks, how far weights are apart

A program of its own: what torch has for its tests changes a process that loads it.
"""

import json
import os
import sys
import unittest
from importlib import import_module
from types import ModuleType, SimpleNamespace

import torch
from torch.utils._pytree import tree_leaves

from ddl_teach import simulate
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.shares import own_slice
from ddl_teach.networks.twin import largest_difference

# Torch's tests compare texts by a package that only torch's own developers have.
sys.modules["expecttest"] = ModuleType("expecttest")
sys.modules["expecttest"].TestCase = unittest.TestCase
os.environ |= {"BACKEND": "gloo", "WORLD_SIZE": "1", "TEMP_DIR": "."}
composable, fsdp, ddp, dtensor = (
    import_module(f"torch.testing._internal.{name}")
    for name in (
        "common_dist_composable",
        "common_fsdp",
        "distributed.distributed_test",
        "distributed._tensor.common_dtensor",
    )
)

ROWS = 12
ALONE = SimpleNamespace(rank=lambda: 0, size=lambda: 1)  # the group that torch's networks ask for
OF_FSDP = {"group": ALONE, "wrap_fsdp": False, "deterministic": True,
           "device_init_mode": fsdp.DEVICEInitMode.DEVICE_NEVER}  # fmt: skip
SHARED = {**OF_FSDP, "add_bn": False}
SHARED.pop("wrap_fsdp")


def numbers(width, batch=0):
    return lambda dice: ((torch.randn(ROWS, width, generator=dice, dtype=torch.float64),), batch)


def words(most, *shape, batch=0):
    return lambda dice: (tuple(torch.randint(most, s, generator=dice) for s in shape), batch)


def transformer(**settings):
    return dtensor.Transformer(dtensor.ModelArgs(dropout_p=0.0, **settings))


NETWORKS = {  # what makes it, what goes in, and which dimension of that is the batch
    "Net": (ddp.Net, numbers(2)),
    "BatchNormNet": (ddp.BatchNormNet, numbers(2)),
    "TwoLinLayerNet": (ddp.TwoLinLayerNet, numbers(10)),
    "UnusedParamTwoLinLayerNet": (ddp.UnusedParamTwoLinLayerNet, numbers(10)),
    "ControlFlowToyModel": (ddp.ControlFlowToyModel, numbers(10)),
    "EmbeddingNetDifferentParams": (
        lambda: ddp.EmbeddingNetDifferentParams(0), words(10, (ROWS, 3)),
    ),
    "CompositeModel": (lambda: composable.CompositeModel("cpu"), numbers(100)),
    "CompositeParamModel": (lambda: composable.CompositeParamModel("cpu"), numbers(100)),
    "MLP": (lambda: fsdp.MLP(7, with_buffer=True), numbers(7)),
    "MLPStack": (lambda: fsdp.MLPStack(7, with_seq_parallel=True), numbers(7)),
    "DoubleLinear": (lambda: fsdp.DoubleLinear(5), numbers(5)),
    "DoubleLinear, one unused": (lambda: fsdp.DoubleLinear(5, False), numbers(5)),
    "NestedWrappedModule": (lambda: fsdp.NestedWrappedModule(**OF_FSDP), numbers(8)),
    "NonUniformReqGradNWM": (lambda: fsdp.NonUniformReqGradNWM(**OF_FSDP), numbers(8)),
    "MixtureOfExperts": (
        lambda: fsdp.MixtureOfExperts(delay_before_free_ms=0, **OF_FSDP), numbers(8),
    ),
    "TransformerWithSharedParams": (
        lambda: fsdp.TransformerWithSharedParams(**SHARED),
        words(23, (6, ROWS), (4, ROWS), batch=1),
    ),
    "MLPStacked": (lambda: dtensor.MLPStacked("cpu"), numbers(10)),
    "Transformer": (transformer, words(8, (ROWS, 9))),
    "Transformer, untied": (lambda: transformer(weight_tying=False), words(8, (ROWS, 9))),
    "Transformer with experts": (lambda: transformer(num_experts=3), words(8, (ROWS, 9))),
}  # fmt: skip


def train(network, way, part=lambda x, batch: x, steps=3):
    """The weights after some steps; `way` stands around the network."""
    make, data = NETWORKS[network]
    torch.manual_seed(0)
    model = way(make().double().eval())  # statistics of a batch are those of a part on each rank
    optimizer, dice = torch.optim.SGD(model.parameters(), 0.1, 0.9), torch.Generator()
    for step in range(steps):
        inputs, batch = data(dice.manual_seed(step))
        optimizer.zero_grad()
        outputs = tree_leaves(model(*(part(x, batch) for x in inputs)))
        sum((out - 1).square().mean() for out in outputs).backward()
        optimizer.step()
    return model.state_dict()


def on_ranks(comm, name, stage):
    own = own_slice(ROWS, comm)
    width = own.stop - own.start
    return train(name, lambda model: wrap(comm, model, stage=stage),
                 lambda x, batch: x.narrow(batch, own.start, width))  # fmt: skip


def distances(ranks):
    for network in NETWORKS:
        alone, less = (train(network, lambda model: model, steps=steps) for steps in (3, 2))
        yield f"{network}, one step less", largest_difference(alone, less)
        for stage in range(4):
            for many in ranks:
                run = simulate(on_ranks, many, threads=True, name=network, stage=stage)
                yield (
                    f"{network}, stage {stage}, {many} ranks",
                    max(largest_difference(state, alone) for state in run.results),
                )


if __name__ == "__main__":
    print(json.dumps(dict(distances([int(word) for word in sys.argv[1:]]))))
