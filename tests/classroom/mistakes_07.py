"""The usual mistakes of unit 07, first part, and words of the message that must name each."""

import numpy as np

from ddl_runtime.devices.timed import TimedDevice


def in_turn(kernels, asking=True, begins=False):
    """Right, but for what the arguments say."""
    free, moments = 0.0, []
    for asked, seconds in kernels:
        begun = max(free, asked) if asking else free
        free = begun + seconds
        moments.append(begun if begins else free)
    return moments


def double(gpu, x):
    gpu.work(x, seconds=1e-3)
    x *= 2
    doubled = gpu.record(gpu.current_stream(x))
    gpu.work(x, seconds=0.1)
    return doubled


def out(comm, values, wait=True, finish=True, current=False, early_mark=False):
    """Right, but for what the arguments say."""
    gpu = TimedDevice(comm)
    x, host, copies = gpu.array(values), gpu.pinned(len(values)), gpu.new_stream()
    doubled = double(gpu, x)
    if current:
        copies = gpu.current_stream(x)
    if wait:
        gpu.wait(copies, doubled)
    mark = gpu.record(copies)
    gpu.to_host(x, 0, host, copies)
    if finish:
        gpu.finish(mark if early_mark else gpu.record(copies))
    return host


def reads_it(comm, values):
    gpu = TimedDevice(comm)
    x = gpu.array(values)
    double(gpu, x)
    return np.asarray(x)


def synchronous(comm, values):
    """The library's own copy, on the current stream."""
    gpu = TimedDevice(comm)
    x = gpu.array(values)
    double(gpu, x)
    return x.to_host()


def half(comm, values):
    host = out(comm, values)
    host[len(host) // 2 :] = 7
    return host


def staged(
    comm, values, wait=True, finish=True, copy_in=True, finish_in=True, in_first=False, parts=1,
    current=False, send=lambda comm, gpu, x, host: comm.send(host, 1),
):  # fmt: skip
    """Right, but for what the arguments say."""
    gpu = TimedDevice(comm)
    x, host, copies = gpu.array(values), gpu.pinned(len(values)), gpu.new_stream()
    if comm.rank == 0:
        doubled = double(gpu, x)
        if current:
            copies = gpu.current_stream(x)
        if wait:
            gpu.wait(copies, doubled)
        gpu.to_host(x, 0, host, copies)
        if finish:
            gpu.finish(gpu.record(copies))
        for part in np.array_split(host, parts):
            send(comm, gpu, x, part)
    elif comm.rank == 1:
        if in_first:
            gpu.to_device(host, x, 0, copies)
        for part in np.array_split(host, parts):
            comm.recv(part, 0)
        if copy_in and not in_first:
            gpu.to_device(host, x, 0, copies)
        if finish_in:
            gpu.finish(gpu.record(copies))
    return gpu.peek(x)


def on_the_host(comm, values):
    """Numbers that no device made."""
    if comm.rank == 0:
        comm.send(2 * values, 1)
    elif comm.rank == 1:
        values = np.empty_like(values)
        comm.recv(values, 0)
    return values


def floats(comm, gpu, x, host):
    comm.send(host.astype(np.float64), 1)


def received_floats(comm, values):
    if comm.rank != 1:
        return staged(comm, values, send=floats)
    host = np.empty(len(values))
    comm.recv(host, 0)
    return host.astype(np.uint8)


def the_array_itself(comm, values):
    """Lets the communicator copy."""
    gpu = TimedDevice(comm)
    x = gpu.array(values)
    if comm.rank == 0:
        double(gpu, x)
        comm.send(x, 1)
    elif comm.rank == 1:
        comm.recv(x, 0)
    return gpu.peek(x)


def ring(comm, values):
    """Everybody sends."""
    host = np.empty_like(values)
    comm.sendrecv(values, (comm.rank + 1) % comm.size, host, (comm.rank - 1) % comm.size)
    return host


def no_receive(comm, values):
    return staged(comm, values) if comm.rank == 0 else values


def waits_first(comm, values):
    """Both receive."""
    comm.recv(np.empty_like(values), 1 - comm.rank) if comm.rank < 2 else None
    return values


MISTAKES = [
    ("07.stream", lambda kernels: [sum(kernel) for kernel in kernels], "at the same time"),
    ("07.stream", lambda kernels: in_turn(kernels, asking=False), "before it has been asked for"),
    ("07.stream", lambda kernels: in_turn(kernels, begins=True), "at which they begin"),
    ("07.stream", lambda kernels: [0.0, *in_turn(kernels)[:-1]], "after `free` has its new value"),
    ("07.stream", lambda kernels: in_turn(kernels)[-1], "a moment for each kernel"),
    ("07.copy_out", lambda comm, values: out(comm, values, wait=False), "from before the kernel"),
    ("07.copy_out", lambda comm, values: out(comm, values, finish=False), "before the copy"),
    ("07.copy_out", lambda comm, values: out(comm, values, early_mark=True), "before the copy"),
    ("07.copy_out", lambda comm, values: out(comm, values, current=True), "a copy comes after"),
    ("07.copy_out", synchronous, "a copy comes after"),
    ("07.copy_out", reads_it, "host code cannot read its memory"),
    ("07.copy_out", lambda comm, values: 2 * values, "and a device needs"),
    ("07.copy_out", lambda comm, values: None, "leave the last line as it was"),
    ("07.copy_out", half, "these are not the doubled values"),
    ("07.staged", lambda comm, v: staged(comm, v, wait=False), "values from before the kernel"),
    ("07.staged", lambda comm, v: staged(comm, v, finish=False), "what pinned memory holds"),
    ("07.staged", lambda comm, v: staged(comm, v, copy_in=False), "they have not changed"),
    ("07.staged", lambda comm, v: staged(comm, v, finish_in=False), "they have not changed"),
    ("07.staged", lambda comm, v: staged(comm, v, in_first=True), "the message comes first"),
    ("07.staged", lambda comm, v: staged(comm, v, current=True), "a copy comes after"),
    ("07.staged", lambda comm, v: staged(comm, v, parts=2), "where 1 message"),
    ("07.staged", on_the_host, "and a device needs"),
    ("07.staged", received_floats, "eight bytes were sent for each"),
    ("07.staged", the_array_itself, "you sent x itself"),
    ("07.staged", ring, "Only rank 0 sends here"),
    ("07.staged", no_receive, "one receive is missing. Rank 0 sends to rank 1"),
    ("07.staged", waits_first, "All ranks wait to receive"),
]
