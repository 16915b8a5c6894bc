"""Checkpoints: what is needed to go on as if nothing had happened, on the disk from time to time.

    save every T seconds, which takes C; a failure every M: C / T + T / 2M of the time is lost
    best T = sqrt(2 C M)                                                        (Young, 1974)

- *Whole or not at all.* A file is written under another name and renamed, with a checksum in it:
  a file that a kill or a bad disk has damaged is found, reported and not used.
- *All or none.* Each rank writes its own file. Ranks resume from the newest step that all of
  them have, and none removes an older file before all have the new one.
- *Everything.* Weights, the optimizer's states, random generators, the place in the data: with one
  left out, or a generator seeded again, the resumed training is another one. `state_of` is for
  NumPy's; torch's own is an array already, `torch.get_rng_state().numpy()`.

Young, "A first order approximation to the optimum checkpoint interval", CACM 17, 1974.
What to look at: kill it anywhere. Resumed, it ends with the same weights, bit for bit.
"""

import functools
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ddl_runtime.core.checks import whole_number
from ddl_runtime.records.whole_file import drafts, write_whole
from ddl_teach.collectives import recursive_doubling, tree
from ddl_teach.comm import Comm
from ddl_teach.training.consistency.states import pack, unpack

State = dict[str, Any]
NOTHING, LATEST = -1, 2**62
OWN = r"rank-\d+-of-(\d+)"  # a rank's folder
say = functools.partial(print, flush=True)  # before the training goes on, not when it is over


@dataclass(frozen=True)
class Checkpoint:
    """So many steps are done, and this is all that the next one needs."""

    step: int
    state: State


class Damaged(ValueError):
    """A file that is not what was written."""


class Checkpoints:
    """The checkpoints of all ranks of `comm` in one folder. It may be another disk on every node.
    With `alike`, all ranks have the same state: rank 0 writes, and any number goes on from it."""

    def __init__(
        self,
        comm: Comm,
        folder: str | os.PathLike[str],
        *,
        keep: int = 2,
        alike: bool = False,
        tell: Callable[[str], None] = say,
    ) -> None:
        whole_number(keep, "Checkpoints: keep", 1)
        self._comm, self._keep, self._alike, self._tell = comm, keep, alike, tell
        self._writes = not alike or comm.rank == 0
        name = "all" if alike else f"rank-{comm.rank}-of-{comm.size}"
        self.own = Path(folder) / name

    def save(self, step: int, state: State) -> None:
        """Put the state after `step` steps on every rank's disk; all ranks call it alike."""
        if self._writes:
            self.own.mkdir(parents=True, exist_ok=True)
            write(self.own, step, state)
        self._comm.barrier()  # from here on all have it
        if self._writes:
            # Of a later step are those that not all ranks had when they resumed.
            kept = [earlier for earlier in steps(self.own) if earlier <= step][-self._keep :]
            for old in set(steps(self.own)) - set(kept):
                path_of(self.own, old).unlink(missing_ok=True)

    def newest(self) -> Checkpoint | None:
        """Where to go on: the newest step of which every rank has a whole file, if there is one.
        All ranks call it alike, and get the same step."""
        known = self.own.is_dir()
        names = (re.fullmatch(OWN, folder.name) for folder in self.own.parent.glob("rank-*"))
        counts = set() if self._alike else {int(name[1]) for name in names if name}
        ranks = self._comm.size
        # Before any of these ranks has made a folder.
        others = self._agree(0 if ranks in counts else max(counts, default=0), "max")
        if others:
            raise ValueError(
                f"{self.own.parent} holds checkpoints of {others} ranks, and these are {ranks}: "
                f"start {others}, take another folder, or alike=True where all states are the same"
            )
        if self._writes:
            self.own.mkdir(parents=True, exist_ok=True)
            for draft in drafts(self.own):
                draft.unlink(missing_ok=True)
        mine = self._newest_whole(LATEST)
        newest_of_all = self._agree(mine.step if mine else NOTHING, "max")
        step, before = LATEST, None
        while step not in (before, NOTHING):
            before = step
            if mine is not None and mine.step > step:
                mine = self._newest_whole(step)
            # A rank that writes no file takes the step of the others.
            own = (mine.step if mine else NOTHING) if self._writes else step
            step = self._agree(own, "min")
        if step == NOTHING:
            if newest_of_all != NOTHING:
                self._begin_anew(known, newest_of_all)
            return None
        return self._from_first(step, mine) if self._alike else mine

    def _newest_whole(self, at_most: int) -> Checkpoint | None:
        if not self._writes:
            return None
        who = f"rank {self._comm.rank}"
        return newest_whole(self.own, at_most, lambda text: self._tell(f"{who}: {text}"))

    def _agree(self, number: int, operation: str) -> int:
        numbers = np.array([number])
        recursive_doubling.allreduce(self._comm, numbers, op=operation)
        return int(numbers[0])

    def _begin_anew(self, known: bool, newest_of_all: int) -> None:
        """Let the training begin anew when a rank has no checkpoint: it was ended in its first
        save. Raise if its folder is missing, for then the other ranks' work must not be thrown
        away."""
        if not self._agree(known, "min"):
            where = self.own if not known else "the folder of another rank"
            raise FileNotFoundError(
                f"some ranks have a checkpoint of step {newest_of_all}, but {where} is not there: "
                "mount its disk, start the ranks on their nodes, or remove all checkpoints"
            )
        if self._comm.rank == 0:
            lost = f"step {newest_of_all} was saved, but no step by all ranks"
            self._tell(f"{lost}: the training begins anew")

    def _from_first(self, step: int, mine: Checkpoint | None) -> Checkpoint:
        """The checkpoint that rank 0 has read, on all ranks: the others need not see its disk."""
        packed = pack(mine.state) if mine is not None else np.empty(0, np.uint8)
        size = np.array([len(packed)])
        tree.broadcast(self._comm, size)
        packed = np.resize(packed, int(size[0]))
        tree.broadcast(self._comm, packed)
        return Checkpoint(step, unpack(packed))


def path_of(folder: Path, step: int) -> Path:
    """The path of a step's checkpoint in this folder."""
    return folder / f"step-{step:09d}.checkpoint"


def steps(folder: Path) -> list[int]:
    """The steps that have a file in this folder, ascending; the files need not be whole."""
    names = [re.fullmatch(r"step-(\d+)\.checkpoint", file.name) for file in folder.glob("step-*")]
    return sorted(int(name[1]) for name in names if name)


def newest_whole(
    folder: Path, at_most: int = LATEST, tell: Callable[[str], None] = say
) -> Checkpoint | None:
    """The newest checkpoint in this folder that is whole; `tell` is called with a text for each
    newer one that is damaged. Without a whole one None."""
    for step in reversed([known for known in steps(folder) if known <= at_most]):
        try:
            return read(folder, step)
        except Damaged as error:
            tell(f"{error}; it is passed over")
    return None


def write(folder: Path, step: int, state: State) -> None:
    """Write the checkpoint of this step into the folder, whole or not at all."""
    contents = b"step %d\n" % step + pack(state).tobytes()
    digest = hashlib.sha256(contents).hexdigest().encode()
    write_whole(path_of(folder, step), digest + b"\n" + contents)


def read(folder: Path, step: int) -> Checkpoint:
    """The checkpoint of this step; raises `Damaged` if its file is missing, cut off or changed."""
    path = path_of(folder, step)
    try:
        digest, _, contents = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise Damaged(f"{path} cannot be read ({error.strerror})") from None
    if hashlib.sha256(contents).hexdigest().encode() != digest:
        raise Damaged(f"{path} is damaged or half written: its checksum does not fit")
    header, _, packed = contents.partition(b"\n")
    if header != b"step %d" % step:
        raise Damaged(f"{path} holds {header.decode()}: it has been renamed")
    return Checkpoint(step, unpack(np.frombuffer(packed, np.uint8)))


def state_of(generator: np.random.Generator) -> str:
    """All that decides what a generator draws next, as text."""
    return json.dumps(generator.bit_generator.state, default=np.ndarray.tolist)


def restore(generator: np.random.Generator, state: str) -> None:
    """Set the generator to this state: it then draws what the saved one would have drawn. Both
    must be of one kind."""
    content, kind = json.loads(state), type(generator.bit_generator).__name__
    if (other := content["bit_generator"]) != kind:
        raise ValueError(f"a state of a {other} does not fit a {kind}: make a {other}")
    generator.bit_generator.state = content
