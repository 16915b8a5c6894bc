"""The third wall: seccomp, which permits only the system calls that a rank program needs.

These are memory, threads, clocks, files and existing sockets. Refused are new processes and
programs, the network, access and signals to other processes. So are changes of a file's mode,
owner or times, which Landlock does not forbid. The filter is a small program in the kernel that
looks at a call's number and sometimes at an argument. It cannot be removed again.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ddl_class.grading.inside import kernel

PERMITTED = {
    name: tuple(None if number == "-" else int(number) for number in numbers)
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()[1:]
    for name, *numbers in [line.split()]
}
NEWER = 450  # from here on: calls that this table does not know, which libraries can do without
CLONE3 = (435, 435)
THREAD = 0x00010000  # the flag by which clone makes a thread of the same process
# Permitted if one argument is right: numbers, which argument, how it is compared, with what.
ONLY_WITH = {
    "clone": ((56, 220), 0, "has", (THREAD,)),
    "tgkill": ((234, 131), 0, "is", ("own process",)),
    "prlimit64": ((302, 261), 0, "is", (0, "own process")),
}
# Permitted unless one argument is one of these: so signals are sent to others, terminals fed.
NOT_WITH = {
    "fcntl": ((72, 25), 1, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": ((16, 29), 1, (0x8901, 0x8902, 0x5412)),  # FIOSETOWN, SIOCSPGRP, TIOCSTI
}
PROCESSORS = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
OTHER_NUMBERING = 0x40000000  # x86_64 has a second set of numbers for the same calls

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_SET, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, PROCESSOR, ARGUMENTS = 0, 4, 16  # where the filter finds them, 8 bytes an argument
ALLOWED, ENDED, FAILS = 0x7FFF0000, 0x80000000, 0x00050000
REFUSAL = FAILS | errno.EPERM
FILTER = 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def can_refuse() -> bool:
    """Whether the numbers of this processor's system calls are known here."""
    return kernel.processor() in PROCESSORS


def refuse() -> None:
    """Refuse all others from now on, to this process and all its threads to come."""
    instructions = program(kernel.processor(), os.getpid())
    described = _Program(len(instructions) // 8, instructions)
    kernel.control(kernel.SET_NO_NEW_PRIVILEGES, 1)
    pointer = ctypes.cast(ctypes.pointer(described), ctypes.c_void_p).value
    kernel.control(kernel.SET_SECCOMP, FILTER, pointer)


@cache
def program(processor: str, own_process: int) -> bytes:
    """The filter's instructions; `own_process` is 1 in namespaces."""
    column, audited = PROCESSORS[processor]
    steps = [
        (LOAD, 0, 0, PROCESSOR),
        (JUMP_EQUAL, 1, 0, audited),
        (ANSWER, 0, 0, ENDED),
        (LOAD, 0, 0, NUMBER),
    ]
    if processor == "x86_64":
        steps += [(JUMP_AT_LEAST, 0, 1, OTHER_NUMBERING), (ANSWER, 0, 0, ENDED)]
    steps += [(JUMP_AT_LEAST, 0, 1, NEWER), (ANSWER, 0, 0, FAILS | errno.ENOSYS)]
    # The C library then falls back to clone, whose flags a filter can see.
    steps += _if(CLONE3[column], FAILS | errno.ENOSYS)
    for numbers in PERMITTED.values():
        if (number := numbers[column]) is not None:
            steps += _if(number, ALLOWED)
    for numbers, argument, comparison, allowed in ONLY_WITH.values():
        jump = JUMP_SET if comparison == "has" else JUMP_EQUAL
        values = [own_process if value == "own process" else value for value in allowed]
        steps += _by_argument(numbers[column], argument, jump, values, ALLOWED, REFUSAL)
    for numbers, argument, forbidden in NOT_WITH.values():
        steps += _by_argument(numbers[column], argument, JUMP_EQUAL, forbidden, REFUSAL, ALLOWED)
    steps.append((ANSWER, 0, 0, REFUSAL))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _by_argument(
    number: int, argument: int, jump: int, values: Sequence[int], matching: int, otherwise: int
) -> list[tuple[int, int, int, int]]:
    """One answer if the argument is one of the values, another if it is not."""
    checks = [step for value in values for step in ((jump, 0, 1, value), (ANSWER, 0, 0, matching))]
    return [
        (JUMP_EQUAL, 0, len(checks) + 2, number),
        (LOAD, 0, 0, ARGUMENTS + 8 * argument),
        *checks,
        (ANSWER, 0, 0, otherwise),
    ]


def _if(number: int, answer: int) -> list[tuple[int, int, int, int]]:
    return [(JUMP_EQUAL, 0, 1, number), (ANSWER, 0, 0, answer)]
