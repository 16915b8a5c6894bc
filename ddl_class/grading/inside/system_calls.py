"""The third wall: seccomp, which permits only the system calls that a rank program needs.

These are memory, threads, clocks, files and existing sockets. Refused are new processes and
programs, the network, access and signals to other processes, and changes of a file's mode, owner
or times, which Landlock does not forbid. The filter is a small program in the kernel that looks at
a call's number and sometimes at an argument. It cannot be removed again.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from ddl_class.grading.inside import kernel

# numbers on x86_64 and on aarch64; None where there is no such call
PERMITTED = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "pread64": (17, 67), "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70),
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "close": (3, 57),
    "close_range": (436, 436), "lseek": (8, 62), "stat": (4, None), "fstat": (5, 80),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
    "readlinkat": (267, 78), "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17),
    "chdir": (80, 49), "fchdir": (81, 50), "dup": (32, 23), "dup2": (33, None),
    "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59), "flock": (73, 32),
    "fsync": (74, 82), "fdatasync": (75, 83), "ftruncate": (77, 46), "fallocate": (285, 47),
    "fadvise64": (221, 223), "sendfile": (40, 71), "copy_file_range": (326, 285),
    "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None),
    "unlinkat": (263, 35), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "umask": (95, 166), "statfs": (137, 43), "fstatfs": (138, 44), "getxattr": (191, 8),
    "lgetxattr": (192, 9), "fgetxattr": (193, 10), "listxattr": (194, 11),
    "llistxattr": (195, 12), "flistxattr": (196, 13), "mmap": (9, 222), "munmap": (11, 215),
    "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214),
    "msync": (26, 227), "munlock": (150, 229), "mincore": (27, 232), "membarrier": (324, 283),
    "get_mempolicy": (239, 236), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "restart_syscall": (219, 128),
    "signalfd4": (289, 74), "pause": (34, None), "futex": (202, 98), "futex_waitv": (449, 449),
    "set_robust_list": (273, 99), "get_robust_list": (274, 100), "rseq": (334, 293),
    "set_tid_address": (218, 96), "gettid": (186, 178), "exit": (60, 93),
    "exit_group": (231, 94), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "sched_getscheduler": (145, 120), "sched_getparam": (143, 121),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "getcpu": (309, 168), "arch_prctl": (158, None), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153), "getitimer": (36, 102),
    "setitimer": (38, 103), "alarm": (37, None), "timerfd_create": (283, 85),
    "timerfd_settime": (286, 86), "timerfd_gettime": (287, 87), "timer_create": (222, 107),
    "timer_settime": (223, 110), "timer_gettime": (224, 108), "timer_getoverrun": (225, 109),
    "timer_delete": (226, 111), "select": (23, None), "pselect6": (270, 72), "poll": (7, None),
    "ppoll": (271, 73), "epoll_create": (213, None), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441), "eventfd": (284, None), "eventfd2": (290, 19),
    "recvfrom": (45, 207), "sendto": (44, 206), "recvmsg": (47, 212), "sendmsg": (46, 211),
    "shutdown": (48, 210), "getsockopt": (55, 209), "setsockopt": (54, 208),
    "getsockname": (51, 204), "getpeername": (52, 205), "socketpair": (53, 199),
    "getpid": (39, 172), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getresuid": (118, 148),
    "getresgid": (120, 150), "getgroups": (115, 158), "getpgrp": (111, None),
    "getpgid": (121, 155), "getsid": (124, 156), "uname": (63, 160), "sysinfo": (99, 179),
    "getrlimit": (97, 163), "setrlimit": (160, 164), "getrusage": (98, 165),
    "getrandom": (318, 278), "prctl": (157, 167), "capget": (125, 90), "getpriority": (140, 141),
    "wait4": (61, 260), "waitid": (247, 95),
}  # fmt: skip
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
    steps += [(JUMP_AT_LEAST, 0, 1, NEWER), (ANSWER, 0, 0, FAILS | errno.ENOSYS)]
    # The C library then falls back to clone, whose flags a filter can see.
    steps += _if(CLONE3[column], FAILS | errno.ENOSYS)
    for numbers in PERMITTED.values():
        if numbers[column] is not None:
            steps += _if(numbers[column], ALLOWED)
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
