"""Requests to the Linux kernel that Python has no function for; they raise OSError.

System calls without a function in the C library go by numbers, which depend on the processor.
"""

import ctypes
import os
import platform
import signal

LIBRARY = ctypes.CDLL(None, use_errno=True)
LIBRARY.syscall.restype = ctypes.c_long

NEW_USER, NEW_MOUNTS, NEW_PIDS = 0x10000000, 0x00020000, 0x20000000
NEW_NET, NEW_IPC, NEW_NAMES = 0x40000000, 0x08000000, 0x04000000

READ_ONLY, NO_SETUID, NO_DEVICES, NO_PROGRAMS = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
DETACH = 2

SET_PARENT_DEATH_SIGNAL, DROP_FROM_BOUNDING_SET = 1, 24
SET_SECCOMP, SET_NO_NEW_PRIVILEGES, AMBIENT, CLEAR_AMBIENT = 22, 38, 47, 4

NUMBERS = {
    "x86_64": {"capset": 126, "pivot_root": 155, "clone": 56},
    "aarch64": {"capset": 91, "pivot_root": 41, "clone": 220},
}
# Newer ones have the same number everywhere.
COMMON = {
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}


def processor() -> str:
    """The kind of processor, as the kernel calls it."""
    return platform.machine()


def function(name: str, *arguments: object) -> int:
    """Call a function of the C library that returns -1 and an error number, or a result."""
    return _checked(getattr(LIBRARY, name)(*map(_argument, arguments)), name)


def system_call(name: str, *arguments: object) -> int:
    """Call the kernel by number."""
    return _checked(LIBRARY.syscall(_number(name), *map(_argument, arguments)), name)


def fork(namespaces: int) -> int:
    """As os.fork, but the child is process 1 of new namespaces. Entering them first would take a
    second fork, which costs as much as all else that a rank is started with."""
    number, python = _number("clone"), ctypes.PyDLL(None, use_errno=True)
    python.PyOS_BeforeFork()
    child = python.syscall(number, *map(_argument, (namespaces | signal.SIGCHLD, 0, 0, 0, 0)))
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return _checked(child, "clone")


def control(option: int, *arguments: int) -> int:
    """prctl: what a process may still decide about itself."""
    return function("prctl", option, *[*arguments, 0, 0, 0, 0][:4])


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount; the error names what could not be mounted where."""
    try:
        function("mount", source, target, kind or None, flags, options or None)
    except OSError as error:
        what = f"{error.strerror}: mounting {source} on {target}"
        raise OSError(error.errno, what) from None


def _number(name: str) -> ctypes.c_long:
    number = COMMON.get(name) or NUMBERS.get(processor(), {}).get(name)
    if number is None:
        raise OSError(f"{name} is not known on {processor()}")
    return ctypes.c_long(number)


def _argument(value: object) -> object:
    if isinstance(value, int):
        return ctypes.c_ulong(value & (1 << 64) - 1)
    return os.fsencode(value) if isinstance(value, str) else value


def _checked(result: int, name: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
