"""How notebooks, checks, animations and rehearsals of labs run programs: on strict ranks.

What works by luck on other ranks is an error here (`ddl_runtime.core.watch`). This is the one
place that says so; `strict=False` is the word that switches it off, where time is measured or
ranks are many. `Engines.run` and the cells of `%%px` are strict as well. Virtual time stays what
it is, except that a send which waits for its receive also takes that time.

Many simulated ranks take a while: a notebook then says how far they are.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import Any

import numpy as np

import ddl_teach
from ddl_class.not_installed import NO_MPI, has_mpi
from ddl_teach import Run, collectives, comm, theory
from ddl_teach.comm import ANY, Phantom

MANY = 10_000  # ranks
EVERY = 1.0  # seconds


def simulate(  # noqa: D103, it has the words of what it calls
    program: Callable[..., Any], ranks: int = 65_536, *, strict: bool = True, **given: Any
) -> Run:
    if isinstance(ranks, int) and ranks >= MANY and sys.platform != "emscripten":  # has threads
        from ddl_class.engines.outputs import watched  # engines load this file

        if watched():
            given = {"progress": partial(_progress, ranks)} | given
    return ddl_teach.simulate(program, ranks, strict=strict, **given)


simulate.__doc__ = ddl_teach.simulate.__doc__


@contextmanager
def _progress(ranks: int, so_far: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Print once a second how far the simulation inside the `with` is."""
    ended, begun = Event(), time.monotonic()

    def show() -> None:
        while not ended.wait(EVERY):
            messages, done = so_far()
            text = (
                f"{ranks:,} simulated ranks: {messages:,} messages sent, {done:,} ranks are done"
            )
            print(f"\r{text}".ljust(90), end="", flush=True)

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if (seconds := time.monotonic() - begun) > EVERY:
            print(f"\r{ranks:,} simulated ranks took {seconds:.0f} s here".ljust(90), flush=True)


def launch(  # noqa: D103, as above
    program: Callable[..., Any], ranks: int = 4, *, strict: bool = True, **given: Any
) -> Run:
    if has_mpi():
        return ddl_teach.launch(program, ranks, strict=strict, **given)
    print(NO_MPI.format(f"these {ranks}"))
    given = {name: value for name, value in given.items() if name not in ("on", "survivors")}
    return simulate(program, ranks, strict=strict, **given)


launch.__doc__ = ddl_teach.launch.__doc__
NAMES = {
    "ANY": ANY,
    "Phantom": Phantom,
    "collectives": collectives,
    "networks": comm,
    "np": np,
    "simulate": simulate,
    "theory": theory,
}  # which cells of ranks know
