"""The usual mistakes of the puzzle of unit 07, and words of the message that must name each."""

from functools import partial

from ddl_runtime.devices.timed import TimedDevice


def quarters(gpu, x):
    events, size = [], len(x) // 4
    for part in (x[first : first + size] for first in range(0, len(x), size)):
        gpu.work(part, seconds=1e-3)
        part *= 2
        events.append(gpu.record(gpu.current_stream(x)))
    gpu.work(x, seconds=0.1)
    return events


def in_chunks(
    comm, values, chunks=8, wait=True, finish=True, own=False, streams=2, last=False, all_=True
):
    """Both directions at once; right, but for what the arguments say."""
    gpu, other = TimedDevice(comm), 1 - comm.rank
    x, y = gpu.array(values), gpu.array(0 * values)
    mine, theirs = gpu.pinned(len(values)), gpu.pinned(len(values))
    done, out = quarters(gpu, x), gpu.new_stream()
    into = gpu.new_stream() if streams == 2 else out
    if streams == 0:
        out = gpu.current_stream(x)
    size = -(-len(values) // chunks)
    parts = [slice(first, first + size) for first in range(0, len(values), size)]
    if wait:
        gpu.wait(out, done[-1])
    marks = []
    for part in parts:
        gpu.to_host(x, part.start, mine[part], out)
        marks.append(gpu.record(out))
    receives = [comm.irecv(theirs[part], other) for part in parts]
    sends = []
    for part, mark in zip(parts, marks, strict=True):
        if finish:
            gpu.finish(mark)
        sends.append(comm.isend(mine[part], other))
    for part, receive in zip(parts, receives, strict=True):
        receive.wait()
        if all_:
            gpu.to_device((mine if own else theirs)[part], y, part.start, into)
    for send in sends:
        send.wait()
    if last:
        gpu.finish(gpu.record(into))
    return gpu.peek(y)


def both_send(comm, values):
    comm.send(values, 1 - comm.rank)
    comm.recv(values, 1 - comm.rank)
    return values


whole = partial(in_chunks, last=True)

MISTAKES = [
    (
        "07.exchange",
        lambda comm, values: in_chunks(comm, values, last=True),
        "The goal is 16.5 ms",
    ),
    ("07.exchange", lambda comm, values: whole(comm, values, 1), "The goal is 16.5 ms"),
    ("07.exchange", lambda comm, values: whole(comm, values, streams=1), "The goal is 16.5 ms"),
    ("07.exchange", lambda comm, values: whole(comm, values, streams=0), "the kernel of the next"),
    ("07.exchange", lambda comm, values: whole(comm, values, wait=False), "before the kernel"),
    ("07.exchange", lambda comm, values: whole(comm, values, finish=False), "before its copy out"),
    ("07.exchange", lambda comm, values: whole(comm, values, own=True), "its own values"),
    ("07.exchange", lambda comm, values: in_chunks(comm, values), "nothing has arrived"),
    ("07.exchange", both_send, "exchange(comm, values) with"),
]
