"""A script of torch's on ranks, unchanged: each rank runs it as torchrun would.

    with ranks_have_environments():
        simulate(run_script, 64, threads=True, path="train.py", words=["--epochs", "1"])

The script finds RANK, WORLD_SIZE and the like in `os.environ`, and whatever backend it asks for,
it gets ours. Simulated ranks share one interpreter: what one changes in a module, all ranks see.
"""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ddl_runtime.core.running import running_comm
from ddl_teach.comm import Comm
from ddl_teach.torch_backend import internals


def run_script(comm: Comm, path: str, words: Sequence[str] = ()) -> None:
    """What `torchrun path words` would do on this rank."""
    # What torchrun says to a rank; all ranks are of one node, as on the machine they share.
    rank, size = str(comm.rank), str(comm.size)
    own = {
        "RANK": rank,
        "WORLD_SIZE": size,
        "LOCAL_RANK": rank,
        "LOCAL_WORLD_SIZE": size,
        "GROUP_RANK": "0",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "ddl_teach",
    }
    if comm.virtual_time:
        comm.attributes[_Environment] = {**os.environ, **own}
    else:
        os.environ.update(own)
    internals.take_any_backend(comm)
    sys.argv = [path, *words]
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    code = compile(Path(path).read_text(), path, "exec")
    try:
        exec(code, {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


class _Environment(ChainMap[str, str]):
    """Environment variables, of which each simulated rank has its own, as processes have."""

    def __init__(self, usual: MutableMapping[str, str]) -> None:
        self.usual = usual

    @property
    def maps(self) -> list[MutableMapping[str, str]]:  # type: ignore[override]
        comm = running_comm()
        return [self.usual if comm is None else comm.attributes.get(_Environment, self.usual)]

    def copy(self) -> dict[str, str]:  # type: ignore[override]
        """As `os.environ` has it."""
        return dict(self)

    __copy__ = copy  # type: ignore[assignment]

    def __or__(self, other: Mapping[str, str]) -> dict[str, str]:  # type: ignore[override]
        return {**self, **other}

    def __ror__(self, other: Mapping[str, str]) -> dict[str, str]:  # type: ignore[override]
        return {**other, **self}


@contextmanager
def ranks_have_environments() -> Iterator[None]:
    """While simulated ranks run scripts, `os.environ` answers each for itself."""
    usual, words = os.environ, sys.argv
    os.environ = _Environment(usual)  # type: ignore[assignment]  # noqa: B003
    try:
        yield
    finally:
        os.environ, sys.argv = usual, words
