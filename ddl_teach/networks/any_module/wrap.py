"""One line around any torch module, and the rest of a training script stays as it was.

    parallel = wrap(comm, module, stage=3)
    optimizer = torch.optim.AdamW(parallel.parameters())
    loss = parallel.loss(nn.CrossEntropyLoss())     # checked: is it a mean?
    for x, y in my_part_of_the_batches:
        optimizer.zero_grad()
        loss(parallel(x), y).backward()             # messages travel in here
        parallel.clip(1.0)
        optimizer.step()

All ranks begin with rank 0's weights. On simulated ranks it needs `simulate(..., threads=True)`.
Li et al., "PyTorch distributed", VLDB 2020; Rajbhandari et al., "ZeRO", 2020; Zhao et al.,
"PyTorch FSDP", VLDB 2023.
"""

import warnings
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._pytree import tree_leaves, tree_map_only

from ddl_teach.collectives.recursive_doubling import allreduce
from ddl_teach.collectives.tree import broadcast
from ddl_teach.comm import Comm
from ddl_teach.networks.any_module.lent import Lent
from ddl_teach.networks.any_module.replicas import Replicas
from ddl_teach.networks.any_module.sharded import UNCALLED, ShardedModule
from ddl_teach.networks.any_module.units import Kinds
from ddl_teach.networks.data_parallel.averaging import trainable
from ddl_teach.networks.data_parallel.overlapped import BUCKET
from ddl_teach.networks.data_parallel.shards import weighted_loss
from ddl_teach.networks.loss_reduction import CheckedLoss
from ddl_teach.networks.models.loss import Loss
from ddl_teach.theory.memory import check_stage


class Parallel(nn.Module):
    """A module on all ranks. Call it in the module's place; `parameters` are those that this
    rank's optimizer updates: of stages 1 to 3 a part of each unit, as a vector. So optimizers that
    look at a layer as a whole (LARS, LAMB, Muon) are for stage 0."""

    def __init__(
        self, comm: Comm, module: nn.Module, way: Replicas | ShardedModule,
        compute_dtype: torch.dtype | None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.comm, self.module, self.way, self._compute = comm, module, way, compute_dtype
        self._buffers_differ = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        self.way.before_forward()
        if self.training:
            self._buffers_differ = True
        elif self._buffers_differ:
            self.agree_on_buffers()
        try:
            args, kwargs = tree_map_only(Tensor, self._here, (args, kwargs))
            call: Callable[..., Any] = self.module
            if self._compute and isinstance(self.way, Replicas):
                call = partial(functional_call, self.module, self.way.cast(self._compute))
            result = call(*args, **kwargs)
        except RuntimeError as error:
            if not self.way.all_are_whole:
                error.add_note(UNCALLED)
            raise
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and tensor.grad_fn is not None:
                tensor.register_hook(self._stay)  # type: ignore[no-untyped-call]
        return result

    def _stay(self, _: Tensor) -> None:
        """A hook of each result that torch's pytree knows, as in a tuple or a dict. It keeps this
        `Parallel` as long as the result's graph is kept, so the weak hooks find their owners."""

    def _here(self, x: Tensor) -> Tensor:
        """An input on this rank's device; a number with a fraction in the type that computes."""
        return x.to(self.comm.device, self._compute if x.is_floating_point() else None)

    def named_parameters(self, *_: Any, **__: Any) -> Any:
        return self.way.named_parameters()

    def no_sync(self) -> Any:
        """`with parallel.no_sync():` around all pieces of a batch but the last: their gradients
        stay here, and travel with the last piece's."""
        return self.way.passes.no_sync()

    def clip(self, limit: float) -> float:
        """Shorten all gradients of all ranks, together, to `limit`; returns their norm before."""
        return self.way.clip(limit)

    def loss(self, function: Loss) -> Callable[[Tensor, Tensor], Tensor]:
        """The loss of this rank's part, so weighted that the average over the ranks is that of
        the whole batch, also where parts are unequal. One that adds over examples is refused."""
        checked = CheckedLoss(function, self.comm.size)

        def weighted(scores: Tensor, targets: Tensor) -> Tensor:
            answers = torch.tensor([float(targets.numel())], dtype=torch.float64)
            allreduce(self.comm, answers)
            right = targets.to(scores.device)
            error = weighted_loss(checked, scores, right, int(answers), self.comm.size)
            checked.agree(self.comm)
            return error

        return weighted

    def agree_on_buffers(self) -> None:
        """Rank 0's running statistics and the like on all ranks; before each evaluation."""
        for buffer in self.module.buffers():
            send_from_first(self.comm, buffer)
        self._buffers_differ = False

    def state_dict(self, *_: Any, **__: Any) -> dict[str, Tensor]:  # type: ignore[override]
        """The whole module's, under its own names, on every rank. All ranks must call it."""
        self.agree_on_buffers()
        with self.way.whole():
            return {name: tensor.clone() for name, tensor in self.module.state_dict().items()}

    def load_state_dict(self, state: Any, strict: bool = True, assign: bool = False) -> Any:
        """The whole module's, on every rank the same, as `state_dict` gives it."""
        if assign:
            raise ValueError("load_state_dict: assign=True would swap the tensors: leave it out")
        with self.way.whole(changed=True):
            return self.module.load_state_dict(state, strict)


def wrap(
    comm: Comm, module: nn.Module, *, stage: int = 0, nbytes: float = BUCKET,
    units: Kinds | None = None, rest_whole: bool = False, compute_dtype: torch.dtype | None = None,
) -> Parallel:  # fmt: skip
    """The module on all ranks of `comm`: replicas that average gradients in buckets of `nbytes`
    (stage 0), or states (1), gradients (2) and weights (3) sharded by `units`. With `rest_whole`
    the parameters of no unit are as in stage 0. With a `compute_dtype` the units, and the inputs,
    are cast to it, and this rank's parts remain as they are: mixed precision. A whole rest keeps
    its type, so it must take inputs of the other one, as normalisations do and a Linear does not.
    In stage 0 all weights are cast for each call, and gradients travel in the weights' own type.
    With BatchNorm, and in stage 0 with activations that are computed again, take torch.autocast.
    All ranks must call it, each with a module of its own of the same kind. Keep the `Parallel`
    that it returns. Without it each rank trains alone in stage 0, the optimizer changes nothing in
    stages 1 and 2, and a warning says so. In stage 3 the module keeps what it needs. There all
    ranks must go through the same units, in the same order."""
    check_stage(stage)
    if not trainable(module.parameters()):
        raise ValueError("wrap: this module has no parameter that is trained")
    if any(isinstance(part, Parallel) for part in module.modules()):
        raise ValueError("wrap: a part of this module is wrapped already: wrap only the whole")
    is_type = isinstance(compute_dtype, torch.dtype) and compute_dtype.is_floating_point
    if compute_dtype is not None and not is_type:
        raise ValueError(
            f"wrap: compute_dtype={compute_dtype}: take a type of floats, such as torch.bfloat16"
        )
    lent: Lent = comm.attributes.setdefault(Lent, Lent())
    own, number = lent.first_free(comm, begin_alike(comm, module.to(comm.device), lent.in_use))
    way: Replicas | ShardedModule = (
        Replicas(own, module, nbytes)
        if stage == 0
        else ShardedModule(own, module, stage, units, rest_whole, nbytes, compute_dtype)
    )
    lent.lend(number, way)
    if comm.size > 1:
        warn_without(way, module)
    return Parallel(comm, module, way, compute_dtype)


latest: WeakKeyDictionary[nn.Module, ref[Any]] = WeakKeyDictionary()  # how each was wrapped


def warn_without(way: Replicas | ShardedModule, module: nn.Module) -> None:
    """Warn once if the module gets a gradient when nothing keeps its latest `way`."""
    owner = ref(module)
    its = latest[module] = ref(way)

    def hook(_: Tensor) -> None:
        if its() is None and (left := owner()) is not None and latest.get(left) is its:
            del latest[left]
            text = "the Parallel that wrap returned was dropped: keep it, or no gradient is sent"
            warnings.warn(text, stacklevel=2)

    trainable(module.parameters())[-1].register_hook(hook)  # type: ignore[no-untyped-call]


def begin_alike(comm: Comm, module: nn.Module, numbers: list[float]) -> list[float]:
    """Give all ranks the first rank's weights and buffers; refuse modules of different shapes.
    Returns the ranks' maximum of each of the numbers."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    shapes = repr([(name, x.shape, x.dtype, x.requires_grad) for name, x in tensors])
    check = float(zlib.crc32(shapes.encode()))
    ends = torch.tensor([check, -check, *numbers], dtype=torch.float64)
    allreduce(comm, ends, "max")
    if ends[0] != -ends[1]:
        raise ValueError(
            "wrap: the ranks' modules differ in names, shapes, types or what is frozen: make the "
            "same one on every rank"
        )
    for _, tensor in tensors:
        send_from_first(comm, tensor.detach())
    return ends[2:].tolist()


def send_from_first(comm: Comm, tensor: Tensor) -> None:
    """The first rank's `tensor` on all ranks, in place."""
    whole = tensor.contiguous()
    if whole.dtype == torch.bool:
        whole = whole.to(torch.uint8)
    broadcast(comm, whole)
    tensor.copy_(whole)
