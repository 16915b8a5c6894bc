"""The third wall: system calls that no rank program needs are refused (seccomp).

No new process and no other program, so nothing stays behind and no bomb goes off; no socket, so
no network; no look into, and no signal to, another process; no change of a file's mode, owner or
times, which Landlock does not forbid, nor of its length; none of the kernel's rarer doors.
The filter is a little program for the kernel: it looks at the number of a call, sometimes at its
first argument, and answers "allowed" or "not permitted". It can never be taken off again.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from ddl_class.grading.inside import kernel

# numbers on x86_64 and on aarch64; None where there is no such call
REFUSED = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "process_madvise": (440, 440),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "shmget": (29, 194), "semget": (64, 190),
    "msgget": (68, 186), "mq_open": (240, 180), "init_module": (175, 105),
    "finit_module": (313, 273), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "quotactl": (179, 60), "swapon": (167, 224),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466), "file_setattr": (469, 469),
    "truncate": (76, 45),  # Landlock forbids it since Linux 6.2
}  # fmt: skip
CLONE3 = (435, 435)
THREAD = 0x00010000  # the flag by which clone makes a thread of the same process
# Refused unless one argument is right: numbers, which argument, how it is compared, with what.
ONLY_WITH = {
    "clone": ((56, 220), 0, "has", (THREAD,)),
    "tgkill": ((234, 131), 0, "is", ("own process",)),
    "prlimit64": ((302, 261), 0, "is", (0, "own process")),
}
# Refused if one argument is one of these: by which signals are sent to others, terminals fed.
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
    """Refuse them from now on, to this process and all its threads to come."""
    instructions = _filter(kernel.processor(), os.getpid())
    program = _Program(len(instructions) // 8, instructions)
    kernel.control(kernel.SET_NO_NEW_PRIVILEGES, 1)
    pointer = ctypes.cast(ctypes.pointer(program), ctypes.c_void_p).value
    kernel.control(kernel.SET_SECCOMP, FILTER, pointer)


def _filter(processor: str, own_process: int) -> bytes:
    column, audited = PROCESSORS[processor]
    steps = [
        (LOAD, 0, 0, PROCESSOR),
        (JUMP_EQUAL, 1, 0, audited),
        (ANSWER, 0, 0, ENDED),
        (LOAD, 0, 0, NUMBER),
    ]
    if processor == "x86_64":
        steps += [(JUMP_AT_LEAST, 0, 1, OTHER_NUMBERING), (ANSWER, 0, 0, ENDED)]
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            steps += _fails_if(numbers[column], errno.EPERM)
    # The C library then falls back to clone, whose flags a filter can see.
    steps += _fails_if(CLONE3[column], errno.ENOSYS)
    for numbers, argument, comparison, allowed in ONLY_WITH.values():
        jump = JUMP_SET if comparison == "has" else JUMP_EQUAL
        values = [own_process if value == "own process" else value for value in allowed]
        steps += _by_argument(numbers[column], argument, jump, values, ALLOWED, REFUSAL)
    for numbers, argument, forbidden in NOT_WITH.values():
        steps += _by_argument(numbers[column], argument, JUMP_EQUAL, forbidden, REFUSAL, ALLOWED)
    steps.append((ANSWER, 0, 0, ALLOWED))
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


def _fails_if(number: int, error: int) -> list[tuple[int, int, int, int]]:
    return [(JUMP_EQUAL, 0, 1, number), (ANSWER, 0, 0, FAILS | error)]
