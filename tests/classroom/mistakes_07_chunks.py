"""The usual mistakes of unit 07, second part: chunks, tables, and whose GPU is whose."""

import math

import numpy as np
from mistakes_07 import double

from ddl_runtime.devices.timed import TimedDevice


def pipelined(
    comm, values, chunk, stop=None, first_out=1, first_in=1, wait=True, marks_last=False,
    blocking=False, in_turn=False, gather=False, one_buffer=False, wait_in=False, current=False,
):  # fmt: skip
    """Right, but for what the arguments say."""
    gpu = TimedDevice(comm)
    x, host, copies = gpu.array(values), gpu.pinned(len(values)), gpu.new_stream()
    place = (lambda part: slice(0, part.stop - part.start)) if one_buffer else lambda part: part
    end = len(values) if stop is None else stop(len(values), chunk)
    parts = [slice(first, min(first + chunk, len(values))) for first in range(0, end, chunk)]
    if comm.rank == 0:
        doubled, requests, marks = double(gpu, x), [], []
        if current:
            copies = gpu.current_stream(x)
        if wait:
            gpu.wait(copies, doubled)
        for part in parts:
            gpu.to_host(x, first_out * part.start, host[place(part)], copies)
            marks.append(gpu.record(copies))
            if in_turn:
                gpu.finish(marks[-1])
                comm.send(host[place(part)], 1)
        for part, mark in () if in_turn else zip(parts, marks, strict=True):
            gpu.finish(marks[-1] if marks_last else mark)
            if blocking:
                comm.send(host[place(part)], 1)
            else:
                requests.append(comm.isend(host[place(part)], 1))
        for request in requests:
            request.wait()
    elif comm.rank == 1:
        for part in parts:
            comm.recv(host[place(part)], 0)
            if not gather:
                gpu.to_device(host[place(part)], x, first_in * part.start, copies)
            if wait_in:
                gpu.finish(gpu.record(copies))
        for part in parts if gather else ():
            gpu.to_device(host[part], x, part.start, copies)
        gpu.finish(gpu.record(copies))
    return gpu.peek(x)


def best(n, stages, root=math.sqrt, over=lambda starts, slow: slow[0], under=None, pick=max):
    slow = pick(stages)
    rest = sum(b for _, b in stages)
    under = under or (lambda rest, slow: rest - slow[1])
    return root(n * over([a for a, _ in stages], slow) / under(rest, slow))


def choose(sizes, seconds, summary=np.median, begin=0, every=False, before=False, pick=min):
    """Right, but for what the arguments say."""
    table = []
    for k, size in enumerate(sizes):
        of = {path: summary(times, axis=0)[k] for path, times in seconds.items()}
        path = pick(of, key=of.get)
        if every or not table or table[-1][1] != path:
            start = sizes[k - 1] if before else size
            table.append((int(start) if table else begin, path))
    return table


def alone(comm, gpus):
    return comm.split(comm.rank).rank % gpus


MISTAKES = [
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, stop=lambda n, c: max(n // c, 1) * c),
        "The rest at the end is lost",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, first_out=0),
        "every chunk has the bytes of the first one",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, first_in=0),
        "The third argument of to_device",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, wait=False),
        "values from before the kernel",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, marks_last=True),
        "an event of its own",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, current=True),
        "a copy comes after",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, gather=True),
        "as soon as its chunk has arrived",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, marks_last=True, gather=True),
        "Nothing overlaps",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, in_turn=True),
        "A copy out begins only when the message before it",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, chunk, one_buffer=True),
        "was changed before its wait() returned",
    ),
    (
        "07.pipelined",
        lambda comm, v, chunk: pipelined(comm, v, len(v)),
        "Send it in chunks",
    ),
    ("07.chunk", lambda n, stages: best(n, stages, root=float), "The root is missing"),
    ("07.chunk", lambda n, stages: n / best(n, stages), "the number of chunks"),
    ("07.chunk", lambda n, stages: best(n, stages, under=lambda rest, slow: rest), "*other*"),
    (
        "07.chunk",
        lambda n, stages: best(n, stages, under=lambda rest, slow: slow[1]),
        "not by the slowest: a larger chunk",
    ),
    (
        "07.chunk",
        lambda n, stages: best(n, stages, over=lambda starts, slow: sum(starts)),
        "the slowest stage only",
    ),
    ("07.chunk", lambda n, stages: best(n, stages, pick=min), "not the slowest stage"),
    ("07.chunk", lambda n, stages: 1 / best(n, stages), "upside down"),
    ("07.choose", lambda s, t: choose(s, t, summary=np.mean), "the table of the mean"),
    ("07.choose", lambda s, t: choose(s, t, np.min, begin=int(s[0])), "the table of the fastest"),
    ("07.choose", lambda s, t: choose(s, t, summary=np.min), "the table of the fastest"),
    ("07.choose", lambda s, t: choose(s, t, begin=int(s[0])), "The first entry begins at 0"),
    ("07.choose", lambda s, t: choose(s, t, every=True), "One entry for each change"),
    ("07.choose", lambda s, t: choose(s, t, before=True), "not at the one before"),
    ("07.choose", lambda s, t: choose(s, t, pick=max), "fewer are better"),
    ("07.choose", lambda s, t: "staged", "return a list such as"),
    ("07.own_gpu", lambda comm, gpus: comm.rank % gpus, "You count ranks over all nodes"),
    ("07.own_gpu", lambda comm, gpus: comm.rank % gpus, "where comm.node is 0, 0, 0, 1, gives ["),
    ("07.own_gpu", lambda comm, gpus: comm.split(comm.node), "one number, not SimulatedComm"),
    ("07.own_gpu", lambda comm, gpus: comm.rank // gpus, "same GPU"),
    ("07.own_gpu", lambda comm, gpus: comm.node, "That is the node"),
    ("07.own_gpu", lambda comm, gpus: comm.split(comm.node).rank, "begin again at 0"),
    ("07.own_gpu", alone, "All ranks take GPU 0"),
    ("07.own_gpu", lambda comm, gpus: comm.rank, "There is no such GPU"),
]
