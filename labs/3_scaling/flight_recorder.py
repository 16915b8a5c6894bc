"""Which rank was missing: the flight recorders of all ranks, laid beside one another.

    python labs/3_scaling/flight_recorder.py hand_in/3_torchrun

torch numbers the collectives of a group on every rank. Ranks that wait have begun one more than
those that are missing. A rank that called another one, or one of another size, stands there too.
A rank that torch's watchdog has ended left a file of the watchdog's, `nccl-2` of rank 2.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any


def main() -> None:
    """Print the last collective of each rank, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    print("\n".join(compared(parser.parse_args().folder)))


def compared(folder: Path) -> list[str]:
    """A line for each rank, then those that are behind, or did something else than most."""
    left = [*folder.glob("nccl-*"), *folder.glob("rank-*.json")]  # what a rank wrote itself counts
    files = {int(file.stem.split("-")[1]): file for file in left}
    if len(files) < 2:
        return [f"{folder} has flight recorders of {len(files)} ranks: two are needed to compare"]
    last = {rank: last_of(files[rank]) for rank in sorted(files)}
    lines = [f"rank {rank}: {words}" for rank, (_, words) in last.items()]
    newest = max(number for number, _ in last.values())
    waiting = Counter(words for number, words in last.values() if number == newest)
    most, count = waiting.most_common(1)[0]
    for rank, (number, words) in last.items():
        if number < newest:
            lines.append(f"Rank {rank} was missing: others are in {most}.")
        elif words != most and 2 * count > waiting.total():
            lines.append(f"Rank {rank} is the odd one: most are in {most}.")
    if len(waiting) > 1 and 2 * count <= waiting.total():
        lines.append("Ranks are in different collectives of one number, and no half is larger.")
    if len(lines) == len(files):
        lines.append("All were in the same collective: look at the network (NCCL_DEBUG=INFO).")
    return lines


def last_of(file: Path) -> tuple[int, str]:
    """The number of the newest collective that a rank has begun, and what it is."""
    raw = file.read_bytes()
    whole = json.loads(raw) if file.suffix == ".json" else pickle.loads(raw)
    entries: list[dict[str, Any]] = whole["entries"]
    if not entries:
        return 0, "no collective at all, or none was recorded (TORCH_FR_BUFFER_SIZE=2000)"
    entry = max(entries, key=lambda each: each["record_id"])
    own = [frame for frame in entry["frames"] if "site-packages" not in frame["filename"]]
    where = f"{Path(own[0]['filename']).name}:{own[0]['line']}" if own else "torch's own thread"
    name, sizes, number = entry["profiling_name"], entry["input_sizes"], entry["collective_seq_id"]
    return number, f"collective {number}: {name} of {sizes}, called at {where}"


if __name__ == "__main__":
    main()
