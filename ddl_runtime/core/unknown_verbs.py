"""What a communicator does not have, and where the library has it: `comm.allreduce` of mpi4py."""

import difflib
from collections.abc import Iterable

ELSEWHERE = {  # by the names of mpi4py and of torch.distributed, in small letters
    "allgather": "ring.allgather(comm, x)",
    "allreduce": "ring.allreduce(comm, x)",
    "alltoall": "pairwise.alltoall(comm, x, out)",
    "bcast": "tree.broadcast(comm, x, root)",
    "broadcast": "tree.broadcast(comm, x, root)",
    "gather": "tree.gather(comm, x, out, root)",
    "reduce": "tree.reduce(comm, x, root)",
    "reducescatter": "ring.reduce_scatter(comm, x)",
    "scan": "linear.scan(comm, x)",
    "scatter": "tree.scatter(comm, x, out, root)",
}


def unknown_verb(name: str, known: Iterable[str]) -> str:
    """What to write in place of `comm.name`; `known` are a communicator's verbs, and more."""
    small = name.lower().replace("_", "")
    verbs = {verb.replace("_", ""): verb for verb in known if not verb.startswith("_")}
    text = f"a communicator has no {name}"
    if small in ELSEWHERE:
        call = ELSEWHERE[small]
        module = call.split(".")[0]
        text += f": collectives are functions of the library. Write `{call}`, after "
        text += f"`from ddl_teach.collectives import {module}`, or your own"
    elif small.removeprefix("get") in verbs:
        text += f": write comm.{verbs[small.removeprefix('get')]}"
    elif close := difflib.get_close_matches(small, verbs, n=1):
        text += f": did you mean comm.{verbs[close[0]]}?"
    return text
