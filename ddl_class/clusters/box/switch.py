"""A switch in user space, for kernels that cannot delay or lose packets (no netem).

Every node's eth0 is a TAP device: this program reads what the node sends, and holds it back as
long as the two cables would take. Then it writes it to the receiver's device. A cable is busy for
n bytes / rate, and delays each packet further; a switch begins to forward before the last byte is
in. So a lone packet arrives after delay + n / (the slower rate). Who sends more than its cable
takes is not read until there is room, as a network card would; who is sent more than its cable
takes loses what comes after QUEUE seconds' worth. What to look at: what it costs. It runs on the
same cores as the ranks, and at some hundred Mbit/s it takes one of them.

    switch.py CONTROL         a socket on which each line is a request in JSON
"""

import fcntl
import heapq
import json
import os
import random
import selectors
import socket
import struct
import subprocess
import sys
import time
from typing import Any

SET_NAME, SET_OFFLOAD = 0x400454CA, 0x400454D0
TAP, NO_INFORMATION, WITH_HEADER = 0x0002, 0x1000, 0x4000
CHECKSUM_AND_SEGMENTS = 1 | 2 | 4  # long packets stay whole up to here, as in real cards
HEADER = 10  # bytes before the packet, which the kernel reads and writes
SEGMENT = 1448  # bytes of TCP in one real packet
QUEUE = 0.05  # seconds
AHEAD = 0.001  # seconds of packets that a sender may have given before it must wait
AT_ONCE = 16  # packets read from one port before the others have their turn


class Port:
    """A cable, with the settings of a `links.Cable`, and the device at its end."""

    def __init__(self, name: str, process: int) -> None:
        self.rate, self.delay, self.loss, self.plugged = 12.5e6, 0.0, 0.0, True
        self.sending = self.receiving = 0.0  # when the cable is free again, in each direction
        self.device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        made = f"t-{name}"
        flags = TAP | NO_INFORMATION | WITH_HEADER
        fcntl.ioctl(self.device, SET_NAME, struct.pack("16sH22x", made.encode(), flags))
        fcntl.ioctl(self.device, SET_OFFLOAD, CHECKSUM_AND_SEGMENTS)
        move = ["ip", "link", "set", made, "netns", str(process), "name", "eth0"]
        subprocess.run(move, check=True)


class Switch:
    """All ports, and what is under way between them."""

    def __init__(self, control: str) -> None:
        self.ports: dict[str, Port] = {}
        self.places: dict[bytes, Port] = {}  # where each hardware address was last seen
        self.under_way: list[tuple[float, int, Port, bytes]] = []
        self.number = 0
        self.full: set[Port] = set()
        self.ready = selectors.DefaultSelector()
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(control)
        self.door.listen()
        self.ready.register(self.door, selectors.EVENT_READ)

    def run(self) -> None:
        """For ever: deliver what is due, read what has come."""
        while True:
            now = time.monotonic()
            while self.under_way and self.under_way[0][0] <= now:
                self.deliver(*heapq.heappop(self.under_way)[2:])
            for port in [port for port in self.full if port.sending <= now + AHEAD]:
                self.full.discard(port)
                self.ready.register(port.device, selectors.EVENT_READ, port)
            due = [self.under_way[0][0]] if self.under_way else []
            due += [port.sending - AHEAD for port in self.full]
            patience = max(0.0, min(due) - time.monotonic()) if due else None
            for key, _ in self.ready.select(patience):
                if key.data is None:
                    self.obey()
                else:
                    self.read(key.data)

    def read(self, port: Port) -> None:
        """Take what a node sends, as long as its cable is not busy."""
        for _ in range(AT_ONCE):
            try:
                packet = os.read(port.device, 1 << 17)
            except BlockingIOError:
                return
            except OSError:  # the node is off, and its device gone
                self.ready.unregister(port.device)
                return
            now = time.monotonic()
            target, source = packet[HEADER : HEADER + 6], packet[HEADER + 6 : HEADER + 12]
            self.places[source] = port
            place = self.places.get(target)
            # Bit 0 of the first byte says that a packet is for everybody.
            known = place is not None and not target[0] & 1
            others = [other for other in self.ports.values() if other is not port]
            self.send(port, [place] if known else others, packet, now)
            if port.sending > now + AHEAD:
                self.ready.unregister(port.device)
                self.full.add(port)
                return

    def send(self, port: Port, targets: list[Port], packet: bytes, now: float) -> None:
        """Put a packet on the cables, once on the sender's."""
        nbytes = len(packet) - HEADER
        begun = max(now, port.sending)
        port.sending = begun + nbytes / port.rate
        for target in targets:
            delay = port.delay + target.delay
            lost = 1 - ((1 - port.loss) * (1 - target.loss)) ** max(1, round(nbytes / SEGMENT))
            begins = max(begun + delay, target.receiving)
            waits = begins - begun - delay
            if waits > QUEUE or random.random() < lost or not (port.plugged and target.plugged):
                continue
            target.receiving = begins + nbytes / target.rate
            arrives = max(target.receiving, port.sending + delay)
            self.number += 1
            heapq.heappush(self.under_way, (arrives, self.number, target, packet))

    def deliver(self, port: Port, packet: bytes) -> None:
        if port.plugged:
            try:
                os.write(port.device, packet)
            except OSError:
                return  # the node is off, or has no room: a real one would lose it too

    def obey(self) -> None:
        """One request; the answer is empty, or says what is wrong."""
        line = self.door.accept()[0]
        with line, line.makefile("rb") as lines:
            try:
                self.change(**json.loads(lines.readline()))
                answer = ""
            except (OSError, ValueError, TypeError, subprocess.SubprocessError) as error:
                answer = str(error)
            line.sendall(answer.encode())

    def change(self, port: str, pid: int = 0, **settings: Any) -> None:
        """Plug a node in, in the place of one that is off, or change what its cable does."""
        if not pid:
            vars(self.ports[port]).update(settings)
            return
        if (old := self.ports.get(port)) is not None:
            self.full.discard(old)
            self.places = {at: other for at, other in self.places.items() if other is not old}
            self.under_way = [entry for entry in self.under_way if entry[2] is not old]
            heapq.heapify(self.under_way)
            if old.device in self.ready.get_map():
                self.ready.unregister(old.device)
            os.close(old.device)
        new = self.ports[port] = Port(port, pid)
        self.ready.register(new.device, selectors.EVENT_READ, new)


if __name__ == "__main__":
    switch = Switch(sys.argv[1])
    print("ready", flush=True)
    switch.run()
