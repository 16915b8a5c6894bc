"""GOAL: a run as a schedule for other simulators of messages (LogGOPSim, ATLAHS).

Each rank is a list of sends, receives and local operations in nanoseconds, with what each one
requires. The receiver's simulator finds the times anew, for its own network. Hoefler, Siebert and
Lumsdaine, "Group operation assembly language", ICPP 2009; Hoefler, Schneider and Lumsdaine,
"LogGOPSim", LSAP 2010.
"""

from pathlib import Path

from ddl_runtime.interchange.operations import operations
from ddl_runtime.pictures.activity import Spans
from ddl_runtime.records.whole_file import write_whole

WORDS = {"send": "send {size}b to {peer} tag {tag}", "recv": "recv {size}b from {peer} tag {tag}"}


def write_goal(timeline: Spans, path: str | Path) -> Path:
    """Write the schedule as text, which LogGOPSim's `txt2bin` reads; returns the path."""
    path = Path(path)
    lines = [f"num_ranks {timeline.ranks}\n"]
    for rank, own in enumerate(operations(timeline)):
        lines.append(f"\nrank {rank} {{\n")
        for place, operation in enumerate(own):
            words = f"calc {round((operation.end - operation.start) * 1e9)}"
            if operation.kind in WORDS:
                # LogGOPSim has no empty messages: of each it leaves the first byte out.
                size, peer, tag = max(operation.bytes, 1), operation.peer, operation.tag
                words = WORDS[operation.kind].format(size=size, peer=peer, tag=tag)
            lines.append(f"l{place + 1}: {words}\n")
            lines += [f"l{place + 1} requires l{before + 1}\n" for before in operation.after]
        lines.append("}\n")
    write_whole(path, "".join(lines))
    return path
