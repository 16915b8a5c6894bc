"""The GPT of 124 million weights on the ranks of one device: replicas, ZeRO, and split by heads.

Each rank has its texts. Two or four ranks share a GPU where there is only one: then their kernels
take turns, and what is compared is what each way sends and holds. Split by heads, all ranks read
the texts of all. Beside them torch's FSDP2 over our messages, its DDP over gloo, and both over
NCCL where each rank has a GPU. The step without messages, and the stages of a message fitted in
the same run, predict the step with one bucket: the formula that simulated ranks obey
(`theory.staging.allreduce_in_steps`). A simulated rank on the roof that was measured, and on the
data sheet's, predicts the step of one rank that has the device for itself.
What to look at: stage 3 gathers each layer twice, and shows it in time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks.data_parallel import FLOOR
from benchmarks.gpu import torchs_own
from benchmarks.gpu.training import by_the_usual_table, torchs_ddp
from ddl_class.notebook.device_places import tensors
from ddl_measure.device_run import GPU, STAND_IN, DeviceTiming, TransferPath
from ddl_measure.repetitions import side_by_side
from ddl_teach import Comm, simulate, torch_backend
from ddl_teach.collectives import on_devices
from ddl_teach.networks.data_parallel.buckets import average_buckets, fill
from ddl_teach.networks.data_parallel.ladder import step_of
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.memory.train_sharded import STAGES
from ddl_teach.networks.models.descent import Descent
from ddl_teach.networks.models.gpt import gpt_of
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.tensor.gpt import split_gpt
from ddl_teach.theory.machine import Roofline
from ddl_teach.training.optimizers.adam import Adam

STEP = "step of a GPT"
BUCKET = 25 << 20
ONE_BUCKET = "one bucket"
ALONE = {kind: f"one rank alone, {kind}" for kind in ("float32", "bfloat16")}
SIZE = {GPU: "124M", STAND_IN: "100k"}
TEXTS, LENGTH = {GPU: 2}, {GPU: 512}


def language_model(
    comm: Comm, device: str, repetitions: int, alone: bool = True
) -> list[DeviceTiming]:
    """Seconds of a step by each way, one way after another: each needs the memory for itself.
    `alone`: also of one rank, while the others wait."""
    comm.device, place = tensors(device)
    by_the_usual_table(comm, device)
    size = SIZE[device]
    test, rows = f"{STEP}, {size}, {comm.size} ranks", []
    nbytes = sum(weight.nbytes for weight in gpt_of(size).parameters())
    ways = _ways(comm, device, size)
    for name in () if alone else ALONE.values():
        del ways[name]
    for name, make in ways.items():
        step = make()
        seconds = side_by_side(
            {name: place.settled(step)}, repetitions=repetitions, warm_up=1, before=comm.barrier
        )[name]
        rows.append(DeviceTiming(test, TransferPath(name), nbytes, tuple(seconds.tolist())))
        del step
        gc.collect()  # hooks and their networks hold one another
        if device == GPU:
            torch.cuda.empty_cache()
    return rows


def plain_step(device: str, where: str, batch: Sequence[torch.Tensor], kind: str) -> Callable:
    """A step without messages of a GPT of these numbers, "float32" or "bfloat16"; it stays where
    it is made if no place is named."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, kind))  # weights without data cannot change it later
    try:
        model = gpt_of(SIZE[device])
    finally:
        torch.set_default_dtype(usual)
    model = model.to(where) if where else model
    return step_of(model, torch.Tensor.backward, (batch[0], batch[1]))


def _ways(comm: Comm, device: str, size: str) -> dict[str, Callable[[], Callable[[], None]]]:
    """By name, what makes a step: so only one network is in memory at a time."""
    batch = [part.to(comm.device) for part in _texts(comm.rank, device)]

    def model() -> nn.Module:
        return gpt_of(size).to(comm.device)

    def plain(kind: str, everywhere: bool) -> Callable[[], None]:
        if comm.rank and not everywhere:
            return lambda: None
        return plain_step(device, str(comm.device), batch, kind)

    def one_bucket() -> Callable[[], None]:
        whole = model()
        buckets = fill(whole.parameters(), inf)

        def backward(error: torch.Tensor) -> None:
            error.backward()
            average_buckets(comm, buckets, on_devices.allreduce)

        return step_of(whole, backward, batch)

    def overlapped() -> Callable[[], None]:
        whole = model()
        return step_of(whole, Overlapped(comm, fill(whole.parameters(), BUCKET)).backward, batch)

    def sharded(stage: int) -> Callable[[], None]:
        whole = model()
        trainer = STAGES[stage](comm, whole, resident(Adam(1e-4)))
        forward = trainer if stage == 3 else whole

        def step() -> None:
            (mean_loss(forward(batch[0]), batch[1]) / comm.size).backward()
            trainer.step()

        return step

    def by_heads() -> Callable[[], None]:
        texts = [_texts(rank, device) for rank in range(comm.size)]
        inputs, answers = (torch.cat(part).to(comm.device) for part in zip(*texts, strict=True))
        whole = model()
        loss = split_gpt(whole, comm)
        optimizer = Descent(whole.parameters(), 0.01)

        def step() -> None:
            optimizer.zero_grad()
            loss(whole(inputs), answers).backward()
            optimizer.step()

        return step

    def torchs(wrap: Callable[[nn.Module], nn.Module]) -> Callable[[], None]:
        return step_of(wrap(model()), torch.Tensor.backward, batch)

    def fsdp(group: Any) -> Callable[[], None]:
        return torchs_own.sharded(model(), group, device, batch)

    ways = {name: partial(plain, kind, False) for kind, name in ALONE.items()}
    ways |= {FLOOR: partial(plain, "float32", True), ONE_BUCKET: one_bucket}
    ways |= {"overlapped buckets": overlapped, "split by heads, all texts": by_heads}
    ways |= {f"ZeRO, stage {stage}": partial(sharded, stage) for stage in STAGES}
    ways |= {
        f"torch's FSDP2, {by}": partial(fsdp, group)
        for by, group in torchs_own.groups(comm, device).items()
    }
    return ways | {name: partial(torchs, wrap) for name, wrap in torchs_ddp(comm, device).items()}


def _texts(rank: int, device: str) -> Sequence[torch.Tensor]:
    words, length = (50_257, LENGTH[GPU]) if device == GPU else (100, 16)
    dice = torch.Generator().manual_seed(rank)
    whole = torch.randint(words, (TEXTS.get(device, 1), length + 1), generator=dice)
    return [part.contiguous() for part in (whole[:, :-1], whole[:, 1:])]


def simulated_step(device: str, roof: Roofline, kind: str = "float32") -> float:
    """Seconds of the step without messages on this roof: its tensors have sizes and no data."""

    def alone(comm: Comm) -> float:
        with FakeTensorMode(allow_non_fake_inputs=True):
            step = plain_step(device, "", _texts(comm.rank, device), kind)
            with torch_backend.computing(roof):
                step()
        return comm.now()

    return float(simulate(alone, 1, threads=True).results[0])
