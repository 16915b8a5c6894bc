"""All that this room touches of torch's private parts, and why.

    c10d._world             torch keeps the process groups of one rank for each process. Simulated
                            ranks share a process, so a switch stands in its place, which asks
                            the world of the rank that runs
    c10d._World             the class of those worlds: it keeps its tables in its module
    c10d._process_group_name    C++ registers groups by name for the whole process, so the names
                            of two simulated ranks must differ
    c10d._unregister_all_process_groups     a rank that ends its own groups would end all ranks'
    c10d.rendezvous, _get_default_store     ranks know one another: no store has to be waited for
    c10d.init_process_group, _new_group_with_tag     scripts name other backends
    sys.excepthook          every init_process_group puts one more around the last
    _current_autograd_node  whether a backward pass goes on, at whose end DDP waits
                            inside C++ (`work`)
    _get_dispatch_mode      whether tensors have no data (FakeTensorMode)
    FakeTensorMode.dispatch, FakeTensor's attributes, _make_subclass, _set_..._data_ptr,
    _dispatch_has_kernel_for_dispatch_key   torch looks up slowly what an operation gives; a table
                            of ours is asked before (`sizes`)
    _PipelineScheduleRuntime._load_csv      the one way to give torch's pipelines an order of one's
                            own: its public classes have orders built in
    ShardingPropagator      runs each operation of a DTensor once more, for its shape alone
    UntypedStorage.resize_  FSDP2 gives the memory of gathered layers back by it, which no dispatch
                            mode sees (`memory`); replaced where memory is first counted

Another version of torch may have them otherwise: `check_version` refuses what was not tried.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._C import _current_autograd_node, _get_dispatch_mode, _TorchDispatchModeKey
from torch.distributed import distributed_c10d as c10d
from torch.distributed.distributed_c10d import (  # type: ignore[attr-defined]
    _get_default_store,
    _new_group_with_tag,
    _process_group_name,
    _unregister_all_process_groups,
    _unregister_process_group,
    _World,
    _world,
)
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._sharding_prop import ShardingPropagator

from ddl_runtime.core.running import at_end, running_comm
from ddl_teach.comm import Comm

NAME = "ddl_teach"  # of the backend, as torch knows it
TRIED = "2.13", "2.14"
dist_untyped: Any = dist
_numbers = itertools.count()  # of worlds
_usual_rendezvous = c10d.rendezvous  # type: ignore[attr-defined]
_usual_init = c10d.init_process_group
_usual_resize = torch.UntypedStorage.resize_


def check_version(version: str = torch.__version__) -> None:
    """Refuse a torch whose private parts nobody has looked at."""
    if ".".join(version.split(".")[:2]) not in TRIED:
        raise ImportError(
            f"ddl_teach.torch_backend uses private parts of torch, was tried with torch "
            f"{', '.join(TRIED)} only, and this is torch {version}: install that version"
        )


class RankWorld(_World):
    """The process groups of one rank; torch's own class keeps these tables in its module."""

    pg_map: Any = None
    pg_names: Any = None
    pg_group_ranks: Any = None
    pg_backend_config: Any = None
    tags_to_pg: Any = None
    pg_to_tag: Any = None
    group_count: Any = 0

    def __init__(self) -> None:
        super().__init__()
        self.number = next(_numbers)
        self.registered: list[Any] = []  # names that C++ knows, or has known
        self.pg_map, self.pg_names, self.pg_group_ranks = {}, {}, {}
        self.pg_backend_config, self.tags_to_pg, self.pg_to_tag = {}, {}, {}
        hook = sys.excepthook
        at_end(lambda: self.leave(hook))

    def leave(self, hook: Callable[..., Any]) -> None:
        """The program of the rank has ended: nothing of it stays behind in torch."""
        self.unregister_all()
        if getattr(sys.excepthook, "__module__", "") == c10d.__name__:
            sys.excepthook = hook if getattr(hook, "__module__", "") != c10d.__name__ else _hook

    def unregister_all(self) -> None:
        """Make C++ forget the groups of this rank, and of no other."""
        while self.registered:
            try:
                _unregister_process_group(self.registered.pop())
            except RuntimeError:
                continue  # it has been ended by the program


_hook = sys.excepthook


def world_of(comm: Comm) -> RankWorld:
    """The world of the rank whose program has this communicator."""
    if RankWorld not in comm.attributes:
        if not comm.virtual_time:
            _unregister_all_process_groups()  # groups of an earlier program of this process
        comm.attributes[RankWorld] = RankWorld()
    world: RankWorld = comm.attributes[RankWorld]
    return world


class _Switch:
    """Asks the world of the rank that runs, and torch's own where none does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_world_here(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_world_here(), name, value)


def _world_here() -> Any:
    comm = running_comm()
    return _world if comm is None else world_of(comm)


def _name_of_group(ranks: Any, use_hashed_name: bool) -> Any:
    name, comm = _process_group_name(ranks, use_hashed_name), running_comm()
    if comm is not None:
        world = world_of(comm)
        if comm.virtual_time:  # on real ranks gloo looks for the others by the name
            name = type(name)(f"{name}.{world.number}")
        world.registered.append(name)
    return name


def _unregister_all() -> None:
    comm = running_comm()
    if comm is None:
        _unregister_all_process_groups()
    else:
        world_of(comm).unregister_all()


def _rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Any]:
    comm = running_comm()
    if comm is None:
        yield from _usual_rendezvous(url, rank, world_size, **kwargs)
    else:
        given = [comm.rank if rank == -1 else rank, comm.size if world_size == -1 else world_size]
        yield (dist_untyped.HashStore(), *given)


def take_any_backend(comm: Comm) -> None:
    """Whatever backend this rank asks for, it gets ours: for scripts that name another."""
    comm.attributes[_init_process_group] = True


def _init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> None:
    comm = running_comm()
    if comm is not None and _init_process_group in comm.attributes:
        backend, args = NAME, ()
        kwargs = {name: kwargs[name] for name in ("rank", "world_size") if name in kwargs}
    elif comm is not None and "store" not in kwargs:  # which others would meet at
        backend = backend or NAME
        if NAME not in str(backend):
            raise ValueError(
                f"rank {comm.rank}: init_process_group({str(backend)!r}) would wait for processes "
                f"that are not there: these ranks are of ddl_teach. Write init_process_group("
                f"{NAME!r}); a script runs as it is by `ddl-teach run SCRIPT --torch`"
            )
    _usual_init(backend, *args, **kwargs)
    if comm is not None and "store" not in kwargs:  # a key that it lacks no other rank writes
        _get_default_store().set_timeout(timedelta(milliseconds=1))


def _new_group(
    ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """torch's `new_group`; on our ranks the group has our backend, whatever the script names."""
    ours = running_comm() is not None and NAME in dist.get_backend_config()
    return _new_group_with_tag(ranks, timeout, None if ours else backend, *args, **kwargs)


def install() -> None:
    """From now on torch asks the rank that runs for its groups."""
    for owner, name, ours in (
        (c10d, "_world", _Switch()),
        (c10d, "_process_group_name", _name_of_group),
        (c10d, "_unregister_all_process_groups", _unregister_all),
        (c10d, "rendezvous", _rendezvous),
        (c10d, "init_process_group", _init_process_group),
        (dist, "init_process_group", _init_process_group),
        (c10d, "_new_group_with_tag", _new_group),
        (ShardingPropagator, "_propagate_tensor_meta_non_cached", _find_shapes),
    ):
        setattr(owner, name, ours)


def tell_of_resizes(comm: Comm, listener: Callable[[Any], None] | None) -> None:
    """Call it with each storage that this rank resizes from now on; None to call it no more."""
    comm.attributes[_resize] = listener
    torch.UntypedStorage.resize_ = _resize  # type: ignore[method-assign,assignment]


def _resize(storage: Any, size: int) -> Any:
    resized = _usual_resize(storage, size)
    comm = running_comm()
    listener = None if comm is None else comm.attributes.get(_resize)
    if listener is not None:
        listener(storage)
    return resized


def own_part(tensor: torch.Tensor) -> torch.Tensor:
    """Of a DTensor what this rank has; any other tensor itself."""
    with torch.no_grad():
        return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def pipeline_runtime(stages: list[Any], micro_batches: int, loss: Any, path: Path) -> Any:
    """Torch's runtime of pipelines with the schedule of a file, for this rank's stages."""
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

    kind: Any = _PipelineScheduleRuntime
    runtime = kind(stages, micro_batches, loss_fn=loss)
    runtime._load_csv(str(path))
    return runtime


def in_backward_pass() -> bool:
    """Whether a node of a backward pass runs, and not a callback at its end."""
    return _current_autograd_node() is not None


def without_data() -> bool:
    """Whether the tensors that are made here are sizes only."""
    return _get_dispatch_mode(_TorchDispatchModeKey.FAKE) is not None


_shapes = threading.local()
_usual_shapes = ShardingPropagator._propagate_tensor_meta_non_cached


def _find_shapes(self: Any, schema: Any) -> Any:
    before, _shapes.only = only_shapes(), True
    try:
        return _usual_shapes(self, schema)
    finally:
        _shapes.only = before


def only_shapes() -> bool:
    """Whether an operation runs for its shape alone."""
    return getattr(_shapes, "only", False)


def cut_over_ranks(types: Any) -> bool:
    """Whether a tensor is a DTensor, of which each rank has a part."""
    return any(issubclass(kind, DTensor) for kind in types)
