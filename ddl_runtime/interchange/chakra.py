"""Chakra execution traces: a run for ASTRA-sim and whatever else reads MLCommons' format.

A file a rank: Google's protocol buffers, each message behind its length. Sends and receives are
nodes with `comm_src`, `comm_dst`, `comm_tag` and `comm_size`; all else is computing, with its
duration. Sridharan et al., "Chakra: advancing performance benchmarking and co-design using
standardized execution traces", 2023; the fields are those of its `et_def.proto`, version 1.0.0.
"""

from pathlib import Path

from ddl_runtime.interchange.operations import RankOperation, operations
from ddl_runtime.pictures.activity import Spans
from ddl_runtime.records.whole_file import write_whole

COMPUTING, SEND, RECEIVE = 4, 5, 6  # NodeType
TYPES = {"send": SEND, "recv": RECEIVE}
VERSION = "1.0.0"


def write_chakra(timeline: Spans, prefix: str | Path) -> list[Path]:
    """Write PREFIX.RANK.et for every rank; returns the paths."""
    paths = []
    for rank, own in enumerate(operations(timeline)):
        paths.append(Path(f"{prefix}.{rank}.et"))
        messages = text(1, VERSION), *(_node(rank, *each) for each in enumerate(own))
        write_whole(paths[-1], b"".join(varint(len(each)) + each for each in messages))
    return paths


def _node(rank: int, place: int, operation: RankOperation) -> bytes:
    kind = TYPES.get(operation.kind, COMPUTING)
    start, end = (round(moment * 1e6) for moment in (operation.start, operation.end))
    # Numbers that are 0 are left out, as proto3 wants it.
    numbers = {1: place, 3: kind, 6: start, 7: end - start}
    node = text(2, operation.name) + b"".join(number(k, n) for k, n in numbers.items() if n)
    if operation.after:
        node += block(5, b"".join(map(varint, operation.after)))
    node += attribute("is_cpu_op", 27, 0)
    if kind == COMPUTING:
        return node
    source, dest = (rank, operation.peer) if kind == SEND else (operation.peer, rank)
    for name, value in {"comm_src": source, "comm_dst": dest, "comm_tag": operation.tag}.items():
        node += attribute(name, 7, value)
    return node + attribute("comm_size", 9, operation.bytes)


def attribute(name: str, field: int, value: int) -> bytes:
    """An AttributeProto with a number: field 7 is int32, 9 int64, 27 bool."""
    return block(10, text(1, name) + number(field, value))


# -- protocol buffers -------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    low = []
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])


def number(field: int, value: int) -> bytes:
    """A field that holds a number of at least 0."""
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes) -> bytes:
    """A field that holds bytes: a text, a message, or packed numbers."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """A field that holds a text."""
    return block(field, value.encode())
