"""The second wall: Landlock, by which a process gives up access to files for good (Linux 5.13).

Where namespaces are not allowed, as in many containers, this wall stands without the first one. It
lists what is allowed; the kernel refuses everything else.
"""

import ctypes
import os
from collections.abc import Iterable, Iterator

from ddl_class.grading.inside import kernel

RUN_FILE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
RIGHTS_SINCE = {1: 1 << 12, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # the highest, by version
NETWORK_SINCE, SCOPE_SINCE = 4, 6
JUST_THE_VERSION, BENEATH = 1, 1


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scope")]


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def version() -> int:
    """Which version this kernel has; 0 for none."""
    try:
        return kernel.system_call("landlock_create_ruleset", None, 0, JUST_THE_VERSION)
    except OSError:
        return 0


def allow_only(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Allow this process to read these paths and to write in those, and nothing else. Signals to
    other processes and the network are forbidden too, as far as this kernel's Landlock can do
    it."""
    known = version()
    files = max(top for since, top in RIGHTS_SINCE.items() if since <= known) * 2 - 1
    ruleset = _Ruleset(
        files, 0b11 if known >= NETWORK_SINCE else 0, 0b11 if known >= SCOPE_SINCE else 0
    )
    size = 8 if known < NETWORK_SINCE else 16 if known < SCOPE_SINCE else 24
    rules = kernel.system_call("landlock_create_ruleset", ctypes.byref(ruleset), size, 0)
    wanted = [(path, READ_FILE | READ_FOLDER) for path in readable]
    for path, rights in [*wanted, *((path, files) for path in writable)]:
        try:
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there need not be allowed
        if not os.path.isdir(path):
            rights &= READ_FILE | WRITE_FILE | RUN_FILE
        rule = ctypes.byref(_Rule(rights & files, folder))
        kernel.system_call("landlock_add_rule", rules, BENEATH, rule, 0)
        os.close(folder)
    kernel.control(kernel.SET_NO_NEW_PRIVILEGES, 1)
    kernel.system_call("landlock_restrict_self", rules, 0)
    os.close(rules)


def without(path: str, masked: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The readable parts of `path`: (path, True) for what may be read whole, (folder, False) for
    folders of which only later entries may be read. A link to something masked is left out."""
    masked = list(masked)
    if os.path.islink(path):
        real = os.path.realpath(path)
        if not any(_is_in(mask, real) or _is_in(real, mask) for mask in masked):
            yield path, True
        return
    inside = [mask for mask in masked if _is_in(mask, path)]
    if path in inside:
        return
    yield path, not inside
    if inside:
        for name in sorted(os.listdir(path)):
            yield from without(os.path.join(path, name), masked)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
