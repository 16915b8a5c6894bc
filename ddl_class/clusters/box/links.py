"""The cables of the box: how fast, how long, how lossy; and what each has carried.

A cable joins one node to the switch and is the same in both directions. A message from node to
node crosses two: it is sent at the slower one's rate, and both delays add up. HTB shapes: it lets
one packet through at a time. (A token bucket, TBF, lets whole short messages through unshaped.)
"""

import re
from dataclasses import dataclass

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import read_quantity, write_quantity

LONGEST = 1514  # bytes of an Ethernet packet
# Seconds that packets may wait in a port. At four times as many, MPI's short messages ("send me
# the rest") wait so long behind data that a ring takes 1.18 of its time by the model, not 1.07.
QUEUE, LEAST_QUEUE = 0.005, 30_000  # the latter in bytes
DELAYED = 10_000  # packets that netem holds at most


@dataclass(frozen=True)
class Cable:
    """One node's cable."""

    rate: float  # bytes a second
    delay: float = 0.0  # seconds that each packet is on its way
    loss: float = 0.0  # the fraction of packets that do not arrive
    plugged: bool = True


@dataclass(frozen=True)
class Counters:
    """What a node's card has counted since it was powered on."""

    sent_bytes: int
    received_bytes: int


def read_rate(text: str) -> float:
    """Bytes a second: `100mbit`, as network tools write, or `100Mbit/s`, `12.5MB/s`."""
    match = re.fullmatch(r"([\d.]+)([kmgKMG]?)bit", text)
    rate = read_quantity("bandwidth", f"{match[1]}{match[2].upper()}bit/s" if match else text)
    if not 1000 <= rate <= 1.25e10:
        raise Mistake(f"a rate of {text} is not possible: take 8kbit to 100gbit")
    return rate


def read_delay(text: str) -> float:
    """Seconds: `1ms`, `500us`."""
    delay = read_quantity("delay", text)
    if not 0 <= delay <= 10:
        raise Mistake(f"a delay of {text} is not possible: take 0 to 10s, such as 1ms")
    return delay


def read_loss(text: str) -> float:
    """A fraction: `1%`, `0.01`."""
    try:
        loss = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        loss = -1.0
    if not 0 <= loss <= 1:
        raise Mistake(f"a loss of {text} is not possible: write 1% or 0.01; 0% to 100%")
    return loss


def describe(link: Cable) -> str:
    """In words: `100 Mbit/s, 500us`."""
    words = [f"{link.rate * 8 / 1e6:g} Mbit/s"]
    words += [write_quantity("delay", link.delay)] if link.delay else []
    words += [f"{link.loss:.3g} of the packets lost"] if link.loss else []
    return ", ".join(words if link.plugged else ["out"])


def largest_packet(rate: float, switch: str) -> int:
    """The most bytes that a card may send at once. The kernel's switch takes packets one by one. A
    switch in user space is too slow for that: it takes up to a millisecond's bytes at once."""
    return LONGEST if switch == "kernel" else round(min(max(LONGEST, rate * 1e-3), 65_000))


def shape(device: str, link: Cable) -> list[str]:
    """Lines for `tc`: from now on this device, which has a shaper, sends as the link says."""
    bits = round(link.rate * 8)
    if link.delay or link.loss:
        delay = f"delay {round(link.delay * 1e6)}us loss {link.loss * 100:.6f}%"
        queue = f"netem limit {DELAYED} {delay}"
    else:
        queue = f"bfifo limit {max(LEAST_QUEUE, round(link.rate * QUEUE))}"
    return [
        f"class replace dev {device} parent 1: classid 1:1 htb rate {bits}bit burst 1600 "
        "cburst 1600 quantum 60000",
        f"qdisc replace dev {device} parent 1:1 {queue}",
    ]


def read_counters(devices: str) -> list[Counters]:
    """From the texts of several nodes' /proc/net/dev, one after the other."""
    cards = [line.split(":")[1].split() for line in devices.splitlines() if "eth0:" in line]
    return [Counters(sent_bytes=int(card[8]), received_bytes=int(card[0])) for card in cards]
