"""What a program changes of its process, put back for the next program on the same rank.

    put back    working directory, umask, environment, descriptors 1 and 2, standard streams
                signal handlers, timers, recursion limit, processors it may run on, locale,
                warnings, the root logger, garbage collection, what traces Python
                builtins, loaded modules, the names in modules of ours and in `WATCHED`, the
                methods of our classes; torch's type, device, threads, gradients, determinism
    made anew   what `random`, `numpy.random` and torch draw, if anything was drawn or seeded
    verified    that all of this could be put back, and that no thread of the program's own runs

What `numpy.seterr`, `numpy.set_printoptions` and `decimal` set, a program sets in a context of its
own (`contextvars`), which ends with it. Where something cannot be put back, `restore` says what,
and the launcher takes fresh processes for the next program. What stays: modules that were imported
well, entries of a library's tables, files and child processes that a program has left open.
"""

import builtins
import contextlib
import gc
import io
import locale
import logging
import os
import random
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ddl_runtime import OURS
from ddl_runtime.diagnosis.frames import LIBRARIES, innermost

WATCHED = (np, np.linalg, np.random, os, random, sys, threading, time, warnings)
# What Python itself, or code that displays, replaces while a program runs.
MOVING = {"stdin", "stdout", "stderr", "last_type", "last_value", "last_traceback", "last_exc"}
SIGNALS = (signal.SIGUSR1, signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGHUP,
           signal.SIGPIPE, signal.SIGCHLD, signal.SIGPROF, signal.SIGVTALRM)  # fmt: skip
RANDOM: Any = np.random  # its type hints do not say all
FILTERS: Any = warnings.filters
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
MOMENT = 0.5  # seconds for threads that have been asked to stop


class Setting(NamedTuple):
    """One value of the process, with the functions that read and write it."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _log(given: tuple[int, int, list[logging.Handler]]) -> None:
    logging.root.setLevel(given[0])
    logging.disable(given[1])
    logging.root.handlers[:] = given[2]


def _handle(handlers: list[Any]) -> None:
    for number, handler in zip(SIGNALS, handlers, strict=True):
        if handler is not None:  # one of Python's
            signal.signal(number, handler)


SETTINGS: tuple[Setting, ...] = (
    Setting("umask", _umask, os.umask),
    Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("switch interval", sys.getswitchinterval, sys.setswitchinterval),
    Setting("trace function", sys.gettrace, sys.settrace),
    Setting("profile function", sys.getprofile, sys.setprofile),
    Setting("garbage collection", gc.isenabled, lambda on: (gc.enable if on else gc.disable)()),
    Setting("locale", lambda: locale.setlocale(locale.LC_ALL),
            lambda given: locale.setlocale(locale.LC_ALL, given)),
    Setting("priority", lambda: os.getpriority(os.PRIO_PROCESS, 0),
            lambda given: os.setpriority(os.PRIO_PROCESS, 0, given)),
    Setting("time limit of sockets", socket.getdefaulttimeout, socket.setdefaulttimeout),
    Setting("logging", lambda: (logging.root.level, logging.root.manager.disable,
                                [*logging.root.handlers]), _log),
    Setting("signal handlers", lambda: [signal.getsignal(number) for number in SIGNALS], _handle),
    Setting("blocked signals", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, []),
            lambda given: signal.pthread_sigmask(signal.SIG_SETMASK, given)),
)  # fmt: skip
if hasattr(os, "sched_getaffinity"):
    SETTINGS += (
        Setting("processors", lambda: os.sched_getaffinity(0),
                lambda given: os.sched_setaffinity(0, given)),
    )  # fmt: skip


def _of_torch() -> tuple[tuple[Setting, Any], ...]:
    """The settings of torch, each with the value that a new process has."""
    torch = sys.modules["torch"]
    threads = int(os.environ.get("OMP_NUM_THREADS") or torch.get_num_threads())
    precision = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    certain = torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
    return (
        (Setting("type", torch.get_default_dtype, torch.set_default_dtype), torch.float32),
        (Setting("gradients", torch.is_grad_enabled, torch.set_grad_enabled), True),
        (Setting("threads", torch.get_num_threads, torch.set_num_threads), threads),
        (Setting("precision", *precision), "highest"),
        (Setting("determinism", *certain), False),
        (Setting("device", torch.get_default_device, lambda _: torch.set_default_device(None)),
         torch.device("cpu")),
    )  # fmt: skip


class AtOnce(io.TextIOWrapper):
    """A rank's standard output or error: what is written goes out before its line has ended."""

    def __init__(self, number: int) -> None:
        way = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        super().__init__(way, "utf-8", "backslashreplace", line_buffering=True)

    def write(self, text: str) -> int:
        count = super().write(text)
        if not text.endswith("\n"):
            self.flush()
        return count


class Contents:
    """Names that must stay bound as they are: those of a module or of a class."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._kept = {name: v for name, v in vars(owner).items() if name not in MOVING}

    def put_back(self) -> None:
        now = vars(self._owner)
        for name, value in self._kept.items():
            if now.get(name) is not value:  # one that is equal is another all the same
                setattr(self._owner, name, value)


class LoadedCode:
    """The modules that a process has loaded, and what stands in those that are watched."""

    def __init__(self) -> None:
        self._namespace = vars(builtins)
        self._modules: dict[str, ModuleType] = {}
        self._contents: list[Contents] = [Contents(module) for module in WATCHED]
        self.learn()

    def learn(self) -> None:
        """What was loaded between two programs is as it should be."""
        self._builtins = dict(self._namespace)
        for name in sys.modules.keys() - self._modules.keys():
            self._learn(name)

    def put_back(self) -> list[str]:
        """Returns what cannot be."""
        if self._namespace != self._builtins:
            self._namespace.clear()
            self._namespace.update(self._builtins)
        for contents in self._contents:
            contents.put_back()
        if not self._modules.items() <= sys.modules.items():
            sys.modules.update(self._modules)
        doubtful = []
        for name in sys.modules.keys() - self._modules.keys():
            spec = getattr(sys.modules[name], "__spec__", None)
            if "." not in name and (spec is None or spec.name != name):
                del sys.modules[name]  # not imported: the program has put it there
            elif name.partition(".")[0] in OURS:
                if any(map(_foreign, vars(sys.modules[name]).values())):
                    doubtful.append(f"functions of {name}")
                self._learn(name)
        return doubtful

    def _learn(self, name: str) -> None:
        module = self._modules[name] = sys.modules[name]
        if name.partition(".")[0] in OURS:
            self._contents.append(Contents(module))
            for value in vars(module).values():
                if isinstance(value, type) and value.__module__ == name:
                    self._contents.append(Contents(value))


def _foreign(value: Any) -> bool:
    """Whether it is a function that no library holds."""
    file = value.__code__.co_filename if isinstance(value, FunctionType) else "<"
    return not (file.startswith("<") or _in_library(file))


def _in_library(file: str) -> bool:
    """Whether a library or a package of ours holds this file, wherever the package was found."""
    homes = (sys.modules[name].__path__ for name in OURS if name in sys.modules)
    return file.startswith((*LIBRARIES, *chain.from_iterable(homes)))


class ProcessState:
    """How the process of a rank is before a program; `restore` makes it so again."""

    def __init__(self, library: LoadedCode) -> None:
        self._library = library
        library.learn()
        self._folder = os.open(".", os.O_RDONLY)  # found again even where it has been renamed
        self._outputs = {number: os.dup(number) for number in (1, 2)}
        self._streams = sys.stdout, sys.stderr
        self._environment = dict(os.environ)
        self._settings = [(setting, setting.read()) for setting in SETTINGS]
        self._filters = list(warnings.filters)
        self._random = random.getstate(), RANDOM.get_bit_generator(), _drawn()

    def restore(self) -> list[str]:
        """Put everything back; returns the names of what cannot be."""
        left = self._library.put_back()  # what follows calls functions of it
        os.fchdir(self._folder)
        os.close(self._folder)
        for number, descriptor in self._outputs.items():
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdout, sys.stderr = (  # others in place of those that have been closed
            AtOnce(number) if stream.closed else stream
            for number, stream in enumerate(self._streams, 1)
        )
        if os.environ != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        for timer in TIMERS:
            signal.setitimer(timer, 0)
        warnings.resetwarnings()  # what was warned of once is warned of once more
        FILTERS[:] = self._filters
        self._settings += _of_torch() if "torch" in sys.modules else ()
        for setting, kept in self._settings:
            if setting.read() != kept:
                with contextlib.suppress(OSError, ValueError):
                    setting.write(kept)
                if setting.read() != kept:
                    left.append(setting.name)
        self._draw_afresh()
        return left + _own_threads()

    def _draw_afresh(self) -> None:
        """Seed the random generators anew if the program has drawn from them or seeded them: the
        next program must not notice."""
        drawn, generator, drawn_by_numpy = self._random
        if random.getstate() != drawn:
            random.seed()
        RANDOM.set_bit_generator(generator)
        if _drawn() != drawn_by_numpy:
            np.random.seed()
        if "torch" in sys.modules:
            torch = sys.modules["torch"]
            torch.default_generator.seed()
            if torch.cuda.is_initialized():
                torch.cuda.seed_all()


def _drawn() -> tuple[Any, ...]:
    """What numpy's own generator would draw next."""
    _, key, position, *rest = RANDOM.get_state()
    return key.tobytes(), position, rest


def _own_threads() -> list[str]:
    """Threads that go on with code which is no library's, though they had a moment to end."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and _own_code(thread):
            thread.join(MOMENT)
            if _own_code(thread):
                return [f"the thread {thread.name}"]
    return []


def _own_code(thread: threading.Thread) -> bool:
    frame = innermost(thread.ident)
    stack = traceback.walk_stack(frame) if frame is not None else ()
    return any(not _in_library(inner.f_code.co_filename) for inner, _ in stack)
