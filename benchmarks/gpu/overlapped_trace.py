"""A trace of one overlapped step, by torch's profiler: on the ranks of a GPU, else of a processor.

    python -m benchmarks.gpu.overlapped_trace

Two ranks train a network of six large layers, and average its buckets under the backward pass, as
`Overlapped` does. The profiler notes kernels and copies on a GPU, and operations on a processor.
Of its file what the course reads is kept: names, kinds, times, sizes of messages; no name of a
machine and no number of a process. `on_a_gpu` records one too. Unit 08 looks for the longest gap.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.profiler import profile, record_function

from benchmarks.gpu.provenance import about
from benchmarks.gpu.training import SIZES
from ddl_class.notebook.beside_gpus import TRACES
from ddl_class.notebook.device_places import device_here, tensors
from ddl_measure.device_run import GPU, NO_DEVICE, STAND_IN
from ddl_runtime.interchange.torch_trace import KINDS, read_torch_traces
from ddl_teach import Comm, Ranks
from ddl_teach.networks.data_parallel.buckets import fill
from ddl_teach.networks.data_parallel.overlapped import Overlapped
from ddl_teach.networks.models.loss import mean_loss
from ddl_teach.networks.models.mlp import mlp

SMALL = (256, 512, 512, 512, 10)
ROWS, SMALL_ROWS = 1024, 256
WARM_UP = 3  # steps: the first ones load libraries, make streams and pin memory
READ = {kind for kinds in KINDS.values() for kind in kinds}
ARGUMENTS = "In msg nelems", "dtype"


def record(comm: Comm, device: str, folder: str) -> None:
    """This rank's trace of a step, in that folder."""
    where, settle = "cpu", lambda: None
    if device != NO_DEVICE:
        where, place = tensors(device)
        settle = place.settle
    comm.device, large = where, device == GPU
    sizes, rows = (SIZES[GPU], ROWS) if large else (SMALL, SMALL_ROWS)
    network = mlp(sizes).to(where)
    x = torch.randn(rows, sizes[0]).to(where)
    y = torch.randint(sizes[-1], (rows,)).to(where)
    parameters = [*network.parameters()]
    overlapped = Overlapped(comm, fill(parameters, 4 * sizes[1] ** 2))

    def step() -> None:
        with record_function("forward pass"):
            error = mean_loss(network(x), y)
        with record_function("backward pass and buckets"):
            overlapped.backward(error)
        with record_function("update"), torch.no_grad():
            for parameter in parameters:
                parameter -= 0.01 * parameter.grad
        settle()

    for _ in range(WARM_UP):
        step()
    with profile() as profiler:
        comm.barrier()  # starting to record takes one rank longer than another
        step()
    whole = Path(folder) / f"whole-{comm.rank}.json"
    profiler.export_chrome_trace(str(whole))
    kept = json.dumps(slim(json.loads(whole.read_text()), comm.rank), separators=(",", ":"))
    whole.unlink()
    packed = gzip.compress(kept.encode(), mtime=0)
    (Path(folder) / f"trace-{comm.rank}.json.gz").write_bytes(packed)


def slim(trace: dict[str, Any], rank: int) -> dict[str, Any]:
    """What `read_torch_traces` reads of it. Operations of the processor stay only where there is
    no GPU in the trace."""
    events = [event for event in trace["traceEvents"] if event.get("cat") in READ]
    if any(event["cat"] == "kernel" for event in events):
        events = [event for event in events if event["cat"] != "cpu_op"]
    threads = {thread: n for n, thread in enumerate(dict.fromkeys(e["tid"] for e in events))}
    return {
        "schemaVersion": trace["schemaVersion"],
        "baseTimeNanoseconds": trace.get("baseTimeNanoseconds", 0),
        "distributedInfo": {"rank": rank},
        "traceEvents": [
            {name: event[name] for name in ("ph", "cat", "name", "ts", "dur")}
            | {"tid": threads[event["tid"]]}
            | {"args": {k: v for k, v in event.get("args", {}).items() if k in ARGUMENTS}}
            for event in events
        ],
    }  # fmt: skip


def keep(made: Path, facts: dict[str, str], device: str) -> None:
    """Read the traces that ranks have left there, and keep them with where they are from; those
    of a stand-in device are only read."""
    files = sorted(made.glob("trace-*.json.gz"))
    print(f"a step of {len(files)} ranks, {read_torch_traces(files).time * 1e3:.1f} ms of trace")
    if device == STAND_IN:
        return
    not_there = () if device == GPU else ("GPU", "its link")
    kept = {name: fact for name, fact in facts.items() if name not in not_there}
    folder = TRACES / re.sub(r"[^a-z0-9]+", "_", kept.get("GPU", "processor").lower())
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("trace-*.json.gz"):
        old.unlink()
    for file in files:
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "about.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"recorded: {folder}")


def main() -> None:
    """Record it here, and keep it."""
    device = GPU if device_here() == GPU else NO_DEVICE
    facts = about(device, 2, "python -m benchmarks.gpu.overlapped_trace")
    with Ranks(2) as pool, tempfile.TemporaryDirectory() as folder:
        pool.run(record, device=device, folder=folder, trace=False, timeout=300)
        keep(Path(folder), facts, device)


if __name__ == "__main__":
    main()
