"""`comm.device` decides: models, batches and buffers of every training go there.

On the stand-in device the numbers are the processor's, to the bit. Copies are counted: what
crosses the link between forward and step are the messages, and nothing beside them.
"""

import copy
import inspect
import sys
from functools import partial

import numpy as np
import pytest
import torch
from places import TENSORS, on_gpu
from train_blocks import train as train_blocks

from ddl_measure.experiments import one_model
from ddl_runtime.devices.choice import Reach
from ddl_runtime.devices.placement import ASKED_FOR, own_device
from ddl_teach import launch, simulate
from ddl_teach.collectives import on_devices
from ddl_teach.networks.any_module.wrap import wrap
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.data_parallel.train_replicas import train as train_replicas
from ddl_teach.networks.grid.trainer import Trainer
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import train as train_sharded
from ddl_teach.networks.models import data
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.networks.pipelines.train_pipeline import train as train_pipeline
from ddl_teach.networks.tensor.gpt import train_split
from ddl_teach.networks.twin import largest_difference
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.product_3d import ProductGrid
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.tasks.network_task import NetworkTask
from ddl_teach.training.trainer import train as train_any

# torch makes room for devices when it first goes backward: this one must be known by then.
DEVICE = pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError).DEVICE
BATCHES = data.batches(data.digits(flat=True), 18, 2)  # in the host's memory, as always


def network():
    return mlp((64, 9, 8, 10))


def replicas(comm):
    model = network().to(comm.device)
    overlapped = Overlapped(comm, fill(model.parameters(), 1000))
    return train_replicas(comm, model, BATCHES, overlapped.backward).parameters


def sharded(comm, stage):
    return train_sharded(comm, stage, network(), BATCHES, resident(Adam(1e-2))).parameters


def pipeline(comm):
    share = train_pipeline(comm, network(), BATCHES, one_f_one_b(comm.size, 3))
    return share.replicas[0].parameters


def tensor_parallel(comm):
    return train_blocks(comm, network(), BATCHES, ProductGrid(comm.size, 1, 1)).parameters


def split_gpt(comm):
    texts = data.batches(data.characters(8), 8, 1)
    return train_split(comm, gpt(width=8, heads=2, blocks=1, length=8), texts)


def experts(comm):
    texts = data.batches(data.characters(8), 8, 2)
    model = one_model.with_experts(gpt(width=8, heads=2, blocks=1, length=8, tied=True), 4)
    return {"losses": torch.tensor(one_model.experts(comm, model, texts))}


def grid(comm, **axes):
    model = gpt(width=8, heads=2, blocks=1, length=8)
    trainer = Trainer(comm, model, Grid(**axes), micro_batches=2)
    trainer.step(data.batches(data.characters(8), 8, 1)[0])
    return trainer.parameters()


def wrapped(comm):
    parallel = wrap(comm, network(), stage=2)
    loss = parallel.loss(mean_loss)
    for x, y in BATCHES:
        mine = slice(comm.rank, None, comm.size)
        loss(parallel(x[mine]), y[mine]).backward()
    return {name: x.cpu() for name, x in parallel.state_dict().items()}


def trainer(comm):
    task = NetworkTask(network(), data.digits(flat=True))
    return {"weights": torch.from_numpy(train_any(comm, task, Synchronous(), steps=3).weights)}


TRAININGS = {
    "replicas": replicas,
    **{f"sharded, stage {stage}": partial(sharded, stage=stage) for stage in (1, 2, 3)},
    "pipeline": pipeline,
    "tensor parallel": tensor_parallel,
    "a split GPT": split_gpt,
    "a GPT with experts": experts,
    "grid, data and tensor": partial(grid, tensor=2),
    "grid, pipeline": partial(grid, pipeline=2),
    "any module": wrapped,
    "the trainer": trainer,
}


def on_both(comm, where, training):
    """The largest difference between the processor and the device, and how many messages of what
    is on a device went."""
    comm.device = "cpu"
    right = training(comm)
    since = len(comm.ledger.messages)
    comm.device, comm.device_table = where, {"message": (Reach(0, "staged"),)}
    ended = training(comm)
    kinds = [message.kind for message in comm.ledger.messages[since:]]
    return largest_difference(ended, right), sum(kind.startswith("device") for kind in kinds)


@pytest.mark.parametrize("where", TENSORS)
@pytest.mark.parametrize("name", TRAININGS)
def test_each_training_is_on_the_device_and_ends_as_on_the_processor(where, name):
    run = simulate(on_both, 2, threads=True, where=where, training=TRAININGS[name])
    for apart, on_device in run.results:
        assert apart <= (1e-5 if where == "cuda" or "grid" in name or "GPT" in name else 0.0)
        assert on_device > 0 or name == "the trainer"  # its vectors are the host's


@pytest.mark.parametrize("name", ["replicas", "sharded, stage 3"])
def test_real_ranks_do_as_simulated_ones(real, name):
    for apart, on_device in real(on_both, 2, where="standin", training=TRAININGS[name]).results:
        assert apart == 0
        assert on_device > 0


def sent_by(comm, allreduce):
    """Kinds of the messages of a step that averages one bucket, by such a table."""
    comm.device, comm.device_table = "standin", {"message": (Reach(0, "staged"),)} | allreduce
    model = network().to(comm.device)
    x, y = (each.to(comm.device) for each in BATCHES[0])
    mean_loss(model(x), y).backward()
    since = len(comm.ledger.messages)
    average_buckets(comm, fill(model.parameters(), 10**9), on_devices.allreduce)
    gradient = torch.cat([weight.grad.flatten() for weight in model.parameters()]).cpu()
    return {message.kind for message in comm.ledger.messages[since:] if message.bytes}, gradient


def test_buckets_go_by_the_way_that_was_measured_best(real):
    (steps, right), _ = real(sent_by, 2, allreduce={}).results
    (once, same), _ = real(sent_by, 2, allreduce={"allreduce": (Reach(0, "once"),)}).results
    assert (steps, once) == ({"device staged"}, {"host"})
    assert torch.equal(right, same)


def first_with_torch(comm, where):
    """Of a program that is the first to import torch: whether its backward passes may leave its
    thread, once it has a device."""
    before = "torch" in sys.modules
    comm.device = where
    return before, sys.modules["torch"]._C._is_multithreading_enabled()


@pytest.mark.parametrize("where", TENSORS)
def test_backward_passes_stay_on_the_ranks_thread_whoever_imports_torch(where):
    scope = {"__name__": "__main__", "sys": sys}  # to import this file would import torch
    exec(inspect.getsource(first_with_torch), scope)
    assert launch(scope["first_with_torch"], 1, where=where).results == [(False, False)]


def copies_of_a_step(comm, spy):
    """Copies to the host and messages of this rank, from the forward pass to the step."""
    comm.device = "standin"
    model = network().to(comm.device)
    buckets = fill(model.parameters(), 1000)
    x, y = (each.to(comm.device) for each in BATCHES[0])
    device, since = x.comm_device, len(comm.ledger.messages)
    device.synchronise()
    before = copy.copy(device.traffic)
    error = mean_loss(model(x), y)
    if spy:
        error.item()  # a hidden copy, as a line that prints the loss makes it
    error.backward()
    average_buckets(comm, buckets)
    comm.barrier()
    messages = [m for m in comm.ledger.messages[since:] if m.kind.startswith("device")]
    left = device.traffic.copies_to_host - before.copies_to_host
    return left, sum(message.bytes > 0 for message in messages)


@pytest.mark.parametrize("spy", [False, True])
def test_nothing_but_messages_leaves_the_device_between_forward_and_step(real, spy):
    for left, messages in real(copies_of_a_step, 2, spy=spy).results:
        assert messages == 2 * 2  # two buckets of a ring of two
        assert left == messages + spy


def watched_step(comm, spy):
    """Whether CUDA found that the host waits for the GPU, from the forward pass to the step."""
    comm.device, comm.device_path = "cuda", "staged"
    model = network().to(comm.device)
    buckets = fill(model.parameters(), 1000)
    x, y = (each.to(comm.device) for each in BATCHES[0])

    def backward(looks):
        error = mean_loss(model(x), y)
        if looks:
            error.item()
        error.backward()
        average_buckets(comm, buckets)

    backward(False)  # streams and pinned memory are there from now on
    torch.cuda.set_sync_debug_mode("error")
    try:
        backward(spy)
    except RuntimeError as error:
        return "synchronizing" in str(error)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False


@pytest.mark.parametrize(
    ("ranks", "spy"), [pytest.param(*case, marks=on_gpu) for case in ((2, False), (1, True))]
)
def test_a_gpu_is_waited_for_by_messages_alone_between_forward_and_step(real, ranks, spy):
    assert real(watched_step, ranks, spy=spy).results == [spy] * ranks


def test_a_task_on_a_device_copies_weights_in_and_the_gradient_out():
    task = NetworkTask(network(), data.digits(flat=True))
    there = task.on("standin")
    assert there.on("standin:0") is there
    before = copy.copy(DEVICE.traffic)
    loss, gradient = there.gradient(task.initial(), 0, 1, 0)
    assert DEVICE.traffic.copies_to_host - before.copies_to_host == 2  # the loss is the other one
    expected, same = task.gradient(task.initial(), 0, 1, 0)
    assert loss == expected
    assert np.array_equal(gradient, same)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"CUDA_VISIBLE_DEVICES": ""}, "cpu"), ({ASKED_FOR: "standin"}, "standin")],
)
def test_without_a_gpu_the_processor_is_the_device_unless_another_is_asked_for(
    environment, expected
):
    assert own_device(3, environment) == expected


def test_ranks_in_one_process_take_its_gpus_in_turn(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    visible = {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert [own_device(number, visible) for number in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]


def named(comm):
    first, own = comm.device, comm.split(comm.rank)
    own.device = "standin"
    return first, comm.device


def test_what_is_set_holds_on_all_communicators_of_the_rank(real):
    assert real(named, 2).results == simulate(named, 2).results == [("cpu", "standin")] * 2
