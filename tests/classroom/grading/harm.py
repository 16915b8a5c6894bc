"""More attacks: answers that would stop the machine, the grader, or whoever reads their pages."""

from attacks import Attack

HARMING = {
    "exits": Attack("import os\nos._exit(0)", told="ended in the middle"),
    "ends while a thread of it goes on": Attack(
        "import ctypes, os, threading, time\n"
        "threading.Thread(target=time.sleep, args=(10**6,), daemon=True).start()\n"
        "ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)",
        told="time was up",
        slow=True,
    ),
    "asks to exit": Attack("import sys\nsys.exit(0)", told="SystemExit"),
    "exits where it is defined": Attack("pass", "import os\nos._exit(0)", told="ended"),
    "is interrupted": Attack("raise KeyboardInterrupt", told="KeyboardInterrupt"),
    "crashes": Attack("import ctypes\nctypes.string_at(0)", told="signal 11"),
    "fork bomb": Attack("import os\nwhile True:\n    os.fork()", told="os.fork is refused"),
    "thread bomb": Attack(
        "import threading, time\nwhile True:\n"
        "    threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        told="can't start|memory|signal",
    ),
    "memory bomb": Attack("held = []\nwhile True:\n    held.append(bytearray(10**7))"),
    "memory bomb at once": Attack("bytearray(10**12)", told="MemoryError"),
    "fills the disk": Attack(
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "for place in ('/tmp', '/dev/shm', '/var/tmp', '<marks>', '.'):\n"
        "    for number in range(10**6):\n"
        "        file = libc.open(f'{place}/{number}'.encode(), 0o102, 0o600)\n"
        "        wrote = libc.write(file, bytes(10**7), 10**7)\n        libc.close(file)\n"
        "        if wrote < 10**7:\n            break\n"
        "raise Exception('the disk is full')",
        told="the disk is full",
    ),
    "fills the disk with names": Attack(
        "import ctypes, os\nlibc, number = ctypes.CDLL(None, use_errno=True), 0\n"
        "while libc.mkdir(f'/tmp/{number}'.encode(), 0o700) == 0:\n    number += 1\n"
        "raise Exception(os.strerror(ctypes.get_errno()))",
        told="No space|denied",
    ),
    "writes a file": Attack("open('/tmp/own', 'w')", told="writing is refused"),
    "makes a folder": Attack("import os\nos.mkdir('/tmp/own')", told="os.mkdir is refused"),
    "infinite loop": Attack("while True:\n    pass", told="time was up", slow=True),
    "sleeps in one rank": Attack(
        "import time\ncomm.rank or time.sleep(10**6)", told="rank 0 still computed", slow=True
    ),
    "loops where it is defined": Attack("pass", "while True: pass", told="time was up", slow=True),
    "deadlock": Attack(
        "comm.recv(x, (comm.rank + 1) % comm.size)", told="All ranks wait to receive"
    ),
    "leaves a process behind": Attack(
        "import subprocess\nsubprocess.Popen(['sleep', '12345.678'], start_new_session=True)",
        told="subprocess.Popen is refused",
    ),
    "leaves a thread behind": Attack(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(10**6,)).start()",
        earns=True,
    ),
    "runs a shell": Attack("import os\nos.execv('/bin/sh', ['sh'])", told="Error"),
    "kills whom it sees": Attack(
        "import os, signal\nfor process in (-1, os.getppid(), 1, <grader>, *range(2, 2000)):\n"
        "    for number in (9, 15, 19):\n        try:\n"
        "            os.kill(process, number)\n        except OSError:\n            pass",
        earns=True,
    ),
    "ignores signals": Attack(
        "import signal\nfor number in range(1, 32):\n    try:\n"
        "        signal.signal(number, signal.SIG_IGN)\n    except OSError:\n        pass\n"
        "while True:\n    pass",
        told="time was up",
        slow=True,
    ),
    "recursion without end": Attack("ring_allreduce(comm, x)", told="RecursionError"),
    "recursion of the machine": Attack(
        "import sys\nsys.setrecursionlimit(10**9)\nring_allreduce(comm, x)",
        told="signal|Recursion|[Mm]emory|time was up",
    ),
    "100 MB of output": Attack(
        "for _ in range(10):\n    print('x' * 10**6)\nimport os\n"
        "for number in (1, 2):\n    os.write(number, bytes(10**6))",
        earns=True,
    ),
    "an error of great length": Attack("raise Exception('x' * 10**7)", told="Exception: xxx"),
    "an error that cannot be read": Attack(
        "raise Silent",
        "class Silent(Exception):\n    def __str__(self):\n        raise ValueError\n"
        "    __repr__ = __str__",
        told="could not be made",
    ),
    "an error that never ends": Attack(
        "raise Long",
        "class Long(Exception):\n    def __str__(self):\n        while True: pass",
        told="time was up",
        slow=True,
    ),
    "escapes for terminal and page": Attack(
        "print(MESSAGE)\nraise Exception(MESSAGE)",
        "MESSAGE = '\\x1b[2J\\x1b]0;owned\\x07\\u202e=cmd()<script>alert(1)</script>"
        "<img src=x onerror=alert(1)></pre>{{ 7*7 }}'\n# </script><script>alert(2)</script>",
        told="Exception: =cmd",
    ),
    "clean-up that never ends": Attack(
        "comm.keep = Sticky()\nraise ValueError",
        "class Sticky:\n    def __del__(self):\n        while True: pass",
        told="ValueError",
    ),
    "collects signals of its end": Attack(
        "import ctypes\nctypes.CDLL(None).prctl(1, 0)\nctypes.CDLL(None).prctl(4, 1)", earns=True
    ),
}
