"""The first wall: new namespaces, in which only the files that may be seen exist.

A process in them has mounts, process numbers, network (without interfaces), host name and
inter-process memory of its own. Its file system holds a few read-only views: Python, libraries,
and the parts of this project that rank programs use. It is process 1 there, so when it ends the
kernel ends all processes that it started. An ordinary user makes them in a user namespace; root
makes them directly and then becomes the user "nobody".
"""

import contextlib
import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from ddl_class.grading.inside import kernel

EVERYTHING = (
    kernel.NEW_MOUNTS | kernel.NEW_PIDS | kernel.NEW_NET | kernel.NEW_IPC | kernel.NEW_NAMES
)
FILES = kernel.READ_ONLY | kernel.NO_SETUID | kernel.NO_DEVICES  # how files are shown
DEVICES = ("null", "zero", "full", "random", "urandom")
AT_CURRENT, AT_RECURSIVE = -100, 0x8000
INSIDE_ID = 1000  # the user id inside, for an ordinary user outside
NOBODY = 65534


class _Attributes(ctypes.Structure):
    """struct mount_attr"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def map_user(user: int, group: int) -> None:
    """In a new user namespace: this user and group of the machine are INSIDE_ID here."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{INSIDE_ID} {user} 1"),
        ("gid_map", f"{INSIDE_ID} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def furnish(shown: Iterable[str], masked: Iterable[str], place: str, scratch: int) -> None:
    """Make `shown` without `masked` the only file system. It is built in `place`, an empty folder,
    with a private /tmp of `scratch` bytes. Process 1 must call it."""
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    _tmpfs(place, "size=1m,mode=755")
    os.mkdir(f"{place}/tmp")  # first, since Python itself may lie in it
    _tmpfs(f"{place}/tmp", f"size={scratch},nr_inodes=1k,mode=1777")
    for path in sorted(shown):
        _show(path, place + path)
    for path in masked:
        target = place + path
        if os.path.isdir(target):
            kernel.mount("none", target, "tmpfs", kernel.READ_ONLY, "size=4k,mode=555")
        elif os.path.lexists(target):
            kernel.mount("/dev/null", target, flags=kernel.BIND)
    os.mkdir(f"{place}/dev")
    for name in DEVICES:
        _show(f"/dev/{name}", f"{place}/dev/{name}", kernel.READ_ONLY | kernel.NO_SETUID)
    os.mkdir(f"{place}/proc")
    flags = kernel.NO_SETUID | kernel.NO_DEVICES
    with contextlib.suppress(PermissionError):  # inside some containers: then there is none
        kernel.mount("proc", f"{place}/proc", "proc", flags | kernel.NO_PROGRAMS)
    os.chdir(place)
    kernel.system_call("pivot_root", ".", ".")
    kernel.function("umount2", ".", kernel.DETACH)
    os.chdir("/tmp")
    kernel.mount("none", "/", flags=kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | flags)
    name = b"sandbox"
    kernel.function("sethostname", name, len(name))


def become_nobody() -> None:
    """Give up all rights of root, and those that came with the namespaces. If Python lies in a
    folder that only root can enter, root keeps its name without its rights."""
    kernel.control(kernel.SET_NO_NEW_PRIVILEGES, 1)
    kernel.control(kernel.AMBIENT, kernel.CLEAR_AMBIENT)
    if os.geteuid() == 0:
        for capability in range(64):
            try:
                kernel.control(kernel.DROP_FROM_BOUNDING_SET, capability)
            except OSError:
                break  # this kernel has no more of them
        os.setgroups([])
    open_to_all = all(folder.stat().st_mode & 1 for folder in Path(os.__file__).resolve().parents)
    if os.geteuid() == 0 and open_to_all:
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        with contextlib.suppress(OSError):
            # Threads are counted by user and namespace: those of others shall not count here.
            kernel.function("unshare", kernel.NEW_USER)
    version = 0x20080522
    header = (ctypes.c_uint32 * 2)(version, 0)
    kernel.system_call("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def _show(path: str, target: str, flags: int = FILES) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT, 0o444))
    kernel.mount(path, target, flags=kernel.BIND | kernel.RECURSIVE)
    wanted = _Attributes(set=flags)
    try:
        kernel.system_call(
            "mount_setattr", AT_CURRENT, target, AT_RECURSIVE,
            ctypes.byref(wanted), ctypes.sizeof(wanted),
        )  # fmt: skip
    except OSError:  # before Linux 5.12; flags that were set must be set again
        held = os.statvfs(target).f_flag & 0xF
        kernel.mount("none", target, flags=kernel.REMOUNT | kernel.BIND | flags | held)


def _tmpfs(target: str, options: str) -> None:
    kernel.mount("tmpfs", target, "tmpfs", kernel.NO_SETUID | kernel.NO_DEVICES, options)
