"""Training as users of torch write it, on ranks; and the same in one process."""

from types import MappingProxyType

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import pipelining
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.experimental import _attention as cutting
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from benchmarks.gpt_beside_torch import FlashAttention, attention_for_processors
from ddl_teach import torch_backend

WIDTH, BATCH = 24, 24


def begin(**algorithms):
    """A process group; the backend is named so that real ranks import it too."""
    torch_backend.use(**algorithms)
    dist.init_process_group("ddl_teach")


def network(layers=3):
    torch.manual_seed(0)
    parts = [nn.Linear(12, WIDTH)]
    for _ in range(layers):
        parts += [nn.Tanh(), nn.Linear(WIDTH, WIDTH)]
    return nn.Sequential(*parts, nn.Tanh(), nn.Linear(WIDTH, 4)).double()


def batch(step, rank=0, ranks=1):
    dice = torch.Generator().manual_seed(step)
    x = torch.randn(BATCH, 12, generator=dice, dtype=torch.float64)
    y = torch.randn(BATCH, 4, generator=dice, dtype=torch.float64)
    return x.chunk(ranks)[rank], y.chunk(ranks)[rank]


def train(model, rank=0, ranks=1, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        x, y = batch(step, rank, ranks)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return model


def weights(model):
    whole = (p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters())
    return torch.cat([p.detach().reshape(-1) for p in whole]).to(torch.float64).numpy().copy()


def one_process(**kwargs):
    return weights(train(network(**kwargs)))


# -- data parallelism ---------------------------------------------------------------------------


def ddp(comm, hook=None, algorithms=MappingProxyType({}), **kwargs):
    begin(**algorithms)
    model = DistributedDataParallel(network(), bucket_cap_mb=0.003, **kwargs)
    if hook is not None:
        model.register_comm_hook(*HOOKS[hook]())
    return weights(train(model, comm.rank, comm.size))


def power_sgd(rank):
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=rank, start_powerSGD_iter=2, min_compression_rate=0.1
    )
    return state, powerSGD_hook.powerSGD_hook


HOOKS = {
    "fp16": lambda: (None, default_hooks.fp16_compress_hook),
    "all-reduce": lambda: (None, default_hooks.allreduce_hook),
    # Of full rank: nothing is lost, though everything goes through two factors.
    "powerSGD": lambda: power_sgd(rank=24),
    "powerSGD of rank 2": lambda: power_sgd(rank=2),
}


def ddp_without_sync(comm):
    """Two backward passes a step, of which only the second is summed over ranks."""
    begin()
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        x, y = batch(step, comm.rank, comm.size)
        optimizer.zero_grad()
        halves = [*zip(x.chunk(2), y.chunk(2), strict=True)]
        with model.no_sync():
            nn.functional.mse_loss(model(halves[0][0]), halves[0][1]).div(2).backward()
        nn.functional.mse_loss(model(halves[1][0]), halves[1][1]).div(2).backward()
        optimizer.step()
    return weights(model)


def one_process_without_momentum():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        x, y = batch(step)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return weights(model)


class Branches(nn.Module):
    """Of two branches one is used, another one in each step."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(12, 4)
        self.branches = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.double()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return self.branches[self.step % 2](self.first(x))


def ddp_unused(comm):
    begin()
    model = DistributedDataParallel(Branches(), find_unused_parameters=True)
    return weights(train(model, comm.rank, comm.size))


# -- shards -------------------------------------------------------------------------------------


def sharded(model, mesh, **kwargs):
    for layer in list(model):
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh, **kwargs)
    return fully_shard(model, mesh=mesh, **kwargs)


def fsdp(comm, algorithms=MappingProxyType({}), **kwargs):
    begin(**algorithms)
    mesh = init_device_mesh("cpu", (comm.size,))
    return weights(train(sharded(network(), mesh, **kwargs), comm.rank, comm.size))


def fsdp_mixed(comm):
    half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    begin()
    mesh = init_device_mesh("cpu", (comm.size,))
    model = sharded(network().float(), mesh, mp_policy=half)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch(0, comm.rank, comm.size)
    nn.functional.mse_loss(model(x.bfloat16()).float(), y.float()).backward()
    optimizer.step()
    return weights(model)


def one_process_mixed():
    half = network().bfloat16()
    x, y = batch(0)
    nn.functional.mse_loss(half(x.bfloat16()).float(), y.float()).backward()
    grads = torch.cat([p.grad.float().reshape(-1) for p in half.parameters()])
    return weights(network().float()) - 0.1 * grads.numpy()


def hsdp(comm):
    begin()
    mesh = init_device_mesh("cpu", (2, comm.size // 2), mesh_dim_names=("copies", "shards"))
    return weights(train(sharded(network(), mesh), comm.rank, comm.size))


# -- inside a layer -----------------------------------------------------------------------------


PLAN = {"0": ColwiseParallel(), "2": RowwiseParallel()}
PLAN |= {"4": ColwiseParallel(), "6": RowwiseParallel()}


def tensor_parallel(comm):
    begin()
    mesh = init_device_mesh("cpu", (comm.size,))
    return weights(train(parallelize_module(network(), mesh, PLAN)))


class Block(nn.Module):
    """A normalisation and two layers, as in a transformer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.up, self.down = nn.LayerNorm(12), nn.Linear(12, 24), nn.Linear(24, 12)
        self.double()

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def sequence_parallel(comm):
    """The sequence is cut for the normalisation, and whole inside of the layers."""
    begin()
    block, mesh = Block(), init_device_mesh("cpu", (comm.size,))
    parallelize_module(
        block,
        mesh,
        {
            "": PrepareModuleInput(
                input_layouts=(Replicate(),), desired_input_layouts=(Shard(0),)
            ),
            "norm": SequenceParallel(sequence_dim=0),
            "up": ColwiseParallel(input_layouts=Shard(0)),
            "down": RowwiseParallel(output_layouts=Shard(0), use_local_output=False),
        },
    )
    block(batch(0)[0]).sum().backward()
    grads = [p.grad.full_tensor() for p in block.parameters()]
    return torch.cat([grad.reshape(-1) for grad in grads]).numpy()


def one_process_sequence():
    block = Block()
    block(batch(0)[0]).sum().backward()
    return gradients(block)


def two_dimensions(comm):
    """Tensor parallelism inside of shards."""
    begin()
    mesh = init_device_mesh("cpu", (comm.size // 2, 2), mesh_dim_names=("data", "tensor"))
    model = sharded(parallelize_module(network(), mesh["tensor"], PLAN), mesh["data"])
    return weights(train(model, mesh.get_local_rank("data"), comm.size // 2))


def three_dimensions(comm):
    """The same, and each shard is there twice."""
    begin()
    names = ("copies", "shards", "tensor")
    mesh = init_device_mesh("cpu", (2, comm.size // 4, 2), mesh_dim_names=names)
    inner = parallelize_module(network(), mesh["tensor"], PLAN)
    model = sharded(inner, mesh["copies", "shards"])
    return weights(train(model, comm.rank // 2, comm.size // 2))


# -- pipelines ----------------------------------------------------------------------------------

LOOP = ("LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble")
VEE = ("ZBVZeroBubble", "DualPipeV")


def stages_of(rank, ranks, schedule):
    """Which stages a rank has: one, two in a loop, or two in the shape of a V."""
    second = {**dict.fromkeys(LOOP, ranks + rank), **dict.fromkeys(VEE, 2 * ranks - 1 - rank)}
    return [rank, second[schedule]] if schedule in second else [rank]


def pipeline(comm, schedule):
    """A linear layer for each stage; returns the gradients of this rank's own, by stage."""
    begin()
    own = stages_of(comm.rank, comm.size, schedule)
    many, last = len(own) * comm.size, len(own) * comm.size - 1
    layers, device = network(layers=many - 2), torch.device("cpu")
    parts = {stage: layers[2 * stage : 2 * stage + 2] for stage in own}
    stages = [pipelining.PipelineStage(part, i, many, device) for i, part in parts.items()]
    made = pipelining.schedules.get_schedule_class(schedule)(
        stages if len(stages) > 1 else stages[0], 2 * comm.size, loss_fn=nn.functional.mse_loss
    )
    x, y = batch(0)
    made.step(*([x] if 0 in own else []), target=y if last in own else None)
    return {stage: gradients(part) for stage, part in parts.items()}


def gradients(model):
    return torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy()


def one_process_gradients(stages):
    model = network(layers=stages - 2)
    x, y = batch(0)
    nn.functional.mse_loss(model(x), y).backward()
    return gradients(model)


# -- context parallelism ------------------------------------------------------------------------

OF_SIMULATED_RANKS = attention_for_processors()


class Causal(nn.Module):
    """One layer of attention, of three heads."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.attention, self.down = nn.Linear(12, 36), FlashAttention(), nn.Linear(12, 12)
        self.double()

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (3, 4)).transpose(1, 2) for part in self.up(x).chunk(3, -1))
        return self.down(self.attention(q, k, v).transpose(1, 2).flatten(2))


def context_parallel(comm):
    """Each rank has a part of the sequence; keys and values go round."""
    begin()
    _held = None if comm.virtual_time else attention_for_processors()
    mesh, model, device = init_device_mesh("cpu", (comm.size,)), Causal(), torch.device("cpu")
    cutting._enable_context_parallel_dispatcher()
    kind = cutting._ContextParallel.AttentionType.SDPA
    parallelize_module(model.attention, mesh, cutting._ContextParallel(2, kind))
    balance = cutting._HeadTailLoadBalancer(BATCH, comm.size, device)
    [part] = cutting._context_parallel_shard(mesh, [batch(0)[0][None]], [1], balance)
    model(part).square().sum().backward()
    total = torch.from_numpy(gradients(model))
    dist.all_reduce(total)  # behind it no rank needs the dispatcher any more
    cutting._disable_context_parallel_dispatcher()
    return total.numpy()


def one_process_context():
    model = Causal()
    model(batch(0)[0][None]).square().sum().backward()
    return gradients(model)


# -- checkpoints --------------------------------------------------------------------------------


def save(comm, folder):
    import torch.distributed.checkpoint as dcp

    begin()
    model = train(sharded(network(), init_device_mesh("cpu", (comm.size,))), comm.rank, comm.size)
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=folder)
    return weights(model)


def load(comm, folder):
    import torch.distributed.checkpoint as dcp

    begin()
    model = sharded(network(), init_device_mesh("cpu", (comm.size,)))
    state = {"model": get_model_state_dict(model)}
    dcp.load(state, checkpoint_id=folder)
    set_model_state_dict(model, state["model"])
    return weights(model)


def distance(results, truth):
    """How far the farthest rank is from the truth."""
    return max(float(np.abs(result - truth).max()) for result in results)
