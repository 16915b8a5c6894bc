"""Random programs that provably end, as plain data, and how a rank follows one.

Every rank takes its part in the same list of steps, in the same order. A rank that waits does so
for a message of that step or of an earlier one. So the first step that is not over can always go
on, whatever is begun without waiting, and whether a send waits for its receiver or not.
"""

import random
from dataclasses import dataclass, replace

import numpy as np
import torch

from ddl_teach import ANY, Phantom

TYPES = ("uint8", "int64", "float32", "complex128", "torch", "phantom")
COUNTS = (0, 1, 3, 100, 5000)
LARGE = 40_000  # elements of a message that may wait for its receiver


@dataclass(frozen=True)
class Step:
    """What some ranks do; `group` numbers a communicator, `ranks` are those of the group."""

    kind: str
    group: int
    source: int = 0
    dest: int = 0
    tag: int = 0
    dtype: str = "int64"
    count: int = 0
    send: str = "send"
    receive: str = "recv"
    colours: tuple = ()  # of a split, by rank
    inner: tuple = ()  # the steps of a background function


def random_steps(seed, ranks, length=30, *, depth=1, tags=None):
    """A program; with `tags` every message gets one of its own."""
    dice = random.Random(f"{seed} {ranks} {depth}")
    groups = [ranks]  # their sizes
    kinds = ["message"] * 6 + ["shift", "finish", "work", "barrier", "split", "fan in"]
    steps = []
    for _ in range(length):
        kind = dice.choice(kinds + ["background"] * depth)
        group = dice.randrange(len(groups))
        size = groups[group]
        step = Step(
            kind, group, dice.randrange(size), dice.randrange(size),
            dice.randrange(3) if tags is None else next(tags), dice.choice(TYPES),
            dice.choice((*COUNTS, LARGE)), dice.choice(("send", "isend")),
            dice.choice(("recv", "irecv")),
        )  # fmt: skip
        if kind == "message" and step.source == step.dest:
            step = replace(step, send="isend")
        if kind == "fan in":  # a tag that no other receive asks for
            step = replace(step, tag=1000 + len(steps))
        if kind == "split":
            colours = tuple(dice.choice((0, 1, 1, None)) for _ in range(size))
            step = replace(step, colours=colours)
            groups += [colours.count(c) for c in sorted(set(colours) - {None})]
        if kind == "background":
            inner = random_steps(f"{seed} {len(steps)}", size, 6, depth=0, tags=tags)
            step = replace(step, inner=tuple(inner))
        steps.append(step)
    return [*steps, Step("finish", 0), Step("barrier", 0)]


def contents(step, sender, comm):
    """What a rank of this communicator sends in this step."""
    if step.dtype == "phantom":
        return Phantom(step.count)
    values = (np.arange(step.count) * 7 + sender + 3 * step.tag + comm.size) % 100
    if step.dtype == "torch":
        return torch.from_numpy(values).to(torch.bfloat16)
    return values.astype(step.dtype)


def room(step):
    """An array to receive this step's message into."""
    if step.dtype == "phantom":
        return Phantom(step.count)
    if step.dtype == "torch":
        return torch.zeros(step.count, dtype=torch.bfloat16)
    return np.zeros(step.count, step.dtype)


def follow(comm, steps, sends=None):
    """One rank's part in the steps; returns how many messages it has received.

    `sends` are the steps as the senders know them, where these differ from the receivers'.
    """
    return Follower(comm, steps, sends or steps).run()


class Follower:
    """A rank on its way through the steps."""

    def __init__(self, comm, steps, sends):
        self.groups = [comm]
        self.steps, self.sends = steps, sends
        self.open = []  # requests, each with what must be true of it in the end
        self.received = []  # steps, also from background functions
        self.dice = random.Random(comm.rank)

    def run(self):
        for step, sent in zip(self.steps, self.sends, strict=True):
            group = self.groups[step.group]
            if step.kind == "split":
                made = group.split(step.colours[group.rank]) if group is not None else None
                mine = None if group is None else step.colours[group.rank]
                for colour in sorted(set(step.colours) - {None}):
                    self.groups.append(made if colour == mine else None)
            elif group is not None:
                getattr(self, step.kind.replace(" ", "_"))(group, step, sent)
        return len(self.received)

    def message(self, comm, step, sent):
        if comm.rank == step.dest and (step.receive == "irecv" or step.source == step.dest):
            self.begin_receive(comm, step, step.source)
        if comm.rank == step.source and sent is not None:
            x = contents(sent, comm.rank, comm)
            if step.send == "send":
                comm.send(x, step.dest, sent.tag)
            else:
                self.open.append((comm.isend(x, step.dest, sent.tag), None, comm, step, x))
        if comm.rank == step.dest and step.receive == "recv" and step.source != step.dest:
            y = room(step)
            self.check(comm.recv(y, step.source, step.tag), y, comm, step, step.source)

    def shift(self, comm, step, sent):
        to, source = (comm.rank + step.source) % comm.size, (comm.rank - step.source) % comm.size
        y = room(step)
        came = comm.sendrecv(contents(step, comm.rank, comm), to, y, source, step.tag)
        self.check(came, y, comm, step, source)

    def fan_in(self, comm, step, sent):
        if comm.rank != step.dest:
            self.message(comm, replace(step, source=comm.rank), step)
            return
        for _ in range(comm.size - 1):
            if step.receive == "irecv":
                self.begin_receive(comm, step, ANY)
            else:
                y = room(step)
                self.check(comm.recv(y, ANY, step.tag), y, comm, step, ANY)

    def finish(self, comm, step, sent):
        """Wait for everything that is open, one by one or for whatever is done."""
        self.dice.shuffle(self.open)
        requests = [entry[0] for entry in self.open]
        for entry in self.open:
            if step.receive == "irecv":
                entry = self.open[comm.wait_any(requests)]
            request, source, group, begun, y = entry
            came = request.wait()
            if source is not None:
                self.check(came, y, group, begun, source)
        self.open = []

    def work(self, comm, step, sent):
        comm.work(seconds=1e-5 * (comm.rank == step.source))

    def barrier(self, comm, step, sent):
        comm.barrier()

    def background(self, comm, step, sent):
        def in_background(twin):
            beside = Follower(twin, step.inner, sent.inner)
            beside.run()
            self.received += beside.received

        self.open.append((comm.background(in_background), None, comm, step, None))

    def begin_receive(self, comm, step, source):
        y = room(step)
        self.open.append((comm.irecv(y, source, step.tag), source, comm, step, y))

    def check(self, came, y, comm, step, source):
        self.received.append(step)
        assert source in (ANY, came), step
        expected = contents(step, came, comm)
        assert step.dtype == "phantom" or bool((y == expected).all()), step
