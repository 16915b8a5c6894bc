"""Answers written to be graded better than they are, to see what they must not, or to do harm.

Each stands where ring_allreduce is asked for, and says what it earns: nothing, or the points of a
right answer where it is one, whatever else it tries. Where an attack gets hold of something that
it should not, it says LEAK; what it could make of a machine outside of its sandbox, it marks.
"""

from dataclasses import dataclass

from notebook_cells import RING

TRY = '''
def attempt(act, *words):
    """An attack that is refused goes on with the next."""
    try:
        found = act(*words)
    except BaseException:
        return None
    raise Exception(f"LEAK {found!r}")

'''
THEN_RIGHT = RING.replace("def ring_allreduce(", "def honest_allreduce(")


@dataclass(frozen=True)
class Attack:
    """`body` of the function; what is `before` it runs first. `earns`: whether it is right."""

    body: str
    before: str = ""
    earns: bool = False
    told: str = ""  # what the learner must read
    slow: bool = False  # only the time limit ends it

    def source(self, **places):
        """The answer cell, with the machine's places filled in."""
        lines = "\n".join("    " + line for line in self.body.strip().split("\n"))
        text = f"{TRY}{self.before}\n{THEN_RIGHT if self.earns else ''}"
        text += f"\n\ndef ring_allreduce(comm, x):\n{lines}\n"
        text += "    honest_allreduce(comm, x)\n" if self.earns else ""
        for name, place in places.items():
            text = text.replace(f"<{name}>", str(place))
        return text


FORGING = {
    "patches check": Attack(
        "pass",
        "import ddl_class\nddl_class.check = ddl_class.judge = print\n"
        "check = judge = stage = print",
        told="x itself is unchanged",
    ),
    "patches assert": Attack(
        "pass",
        "import builtins\nbuiltins.AssertionError = builtins.Exception = type('E', (), {})\n"
        "builtins.all = builtins.any = lambda *_: True",
        told="x itself is unchanged",
    ),
    "patches numpy": Attack(
        "pass",
        "import numpy as np\nnp.array_equal = np.allclose = lambda *_, **__: True\n"
        "np.ndarray = np.testing = None",
    ),
    "patches pytest": Attack(
        "pass", "import sys, types\nsys.modules['pytest'] = types.ModuleType('pytest')"
    ),
    "patches the communicator": Attack(
        "x *= 7",
        "from ddl_runtime.records.ledger import Ledger\n"
        "Ledger.bytes_sent = property(lambda _: 0)\n"
        "import ddl_teach\nddl_teach.simulate = print",
    ),
    "says that it is alone": Attack(
        "comm.size = type(comm).size = 1\ncomm.rank = 0\nhonest_allreduce(comm, x)",
        THEN_RIGHT,
    ),
    "guesses the vectors of the others": Attack(
        "width = 2 ** max(1, 48 // comm.size)\n"
        "pattern = (x // width**comm.rank).astype(x.dtype)\n"
        "honest_allreduce(comm, np.zeros_like(x))\n"
        "x[:] = sum(pattern * x.dtype.type(width**k) for k in range(comm.size))",
        f"import numpy as np\n{THEN_RIGHT}",
    ),
    "prints what a right one prints": Attack(
        "print('✓ 06.ring: right on 1, 2, 3 and 4 simulated ranks.')\nprint('right')\nprint(2.0)"
    ),
    "prints a better score": Attack("print(1000.0)\nreturn 1000.0"),
    "returns an equal of everything": Attack(
        "return Same()",
        "class Same:\n    __eq__ = __lt__ = __gt__ = __bool__ = lambda *_: True\n"
        "    __array__ = __float__ = lambda *_: 1.0\n    __hash__ = object.__hash__",
        told="a Same cannot travel",
    ),
    "returns a pickle that runs": Attack(
        "return Payload()",
        "import os\nclass Payload:\n    def __reduce__(self):\n"
        "        return os.system, ('touch <marks>/pickle',)\n"
        "    __reduce_ex__ = lambda self, _: self.__reduce__()",
        told="a Payload cannot travel",
    ),
    "returns the sum only in its words": Attack("x += 1\nreturn x * comm.size"),
    "not a number": Attack("x[...] = float('nan') if x.dtype.kind == 'f' else -1"),
    "another shape": Attack("x.shape = (1, *x.shape)", told="another type or shape"),
    "another type": Attack("x.dtype = 'uint8'", told="another type or shape"),
    "a file instead of messages": Attack(
        "open(f'/tmp/{comm.rank}', 'wb').write(x.tobytes())\ncomm.barrier()\n"
        "x[:] = sum(np.frombuffer(open(f'/tmp/{r}', 'rb').read()) for r in range(comm.size))",
        "import numpy as np",
    ),
    "shared memory instead of messages": Attack(
        "store = shared_memory.SharedMemory('store', create=comm.rank == 0, size=100_000)",
        "from multiprocessing import shared_memory",
    ),
    "memory from before the ranks": Attack(
        "store[8 * comm.rank : 8 * comm.rank + 8] = x[:1].tobytes()[:8].ljust(8)\n"
        "comm.barrier()\n"
        "if comm.size > 1 and store[8:16].strip(bytes(1)) and comm.rank == 0:\n"
        "    raise Exception('LEAK: a rank sees the memory of another')",
        "import mmap\nstore = mmap.mmap(-1, 4096)",
    ),
    "calls the native collective": Attack("comm.native.allreduce(x)", told="AttributeError"),
    "calls MPI": Attack(
        "from mpi4py import MPI\nMPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, x)",
    ),
    "imports the solution": Attack(
        "from ddl_teach.collectives import ring\nring.allreduce(comm, x)",
        told="ddl_teach[./]collectives",
    ),
    "shadows modules": Attack(
        "import numpy\nreturn numpy",
        "import sys\nsys.path.insert(0, '/tmp')\n"
        "open('/tmp/json.py', 'w').write('raise Exception')\n"
        "sys.modules['numpy'] = sys.modules['ddl_teach'] = None",
    ),
    "tells nothing of its work": Attack(
        "x[:] = x * comm.size\nsys.settrace(None)",
        "import sys, atexit, gc\natexit.register(print, 'right')\n"
        "sys.setprofile(lambda *_: None)\ngc.disable()",
    ),
}

WIRE = """
import os, struct, sys
import ddl_runtime.core.arrays

def said(comm, text):
    os.write(3, struct.pack('<I', len(text)) + text)
"""
TALKING = {
    "garbage on the wire": Attack("said(comm, os.urandom(1000))", WIRE, told="malformed message"),
    "a giant length": Attack("os.write(3, bytes([255] * 4))", WIRE, told="malformed message"),
    "half a message": Attack("os.write(3, b'abc')\nos._exit(0)", WIRE, told="ended in the middle"),
    "a message byte by byte, without end": Attack(
        "import time\nos.write(3, b'aaa\\0')\n"
        "while True:\n    os.write(3, b'a')\n    time.sleep(0.3)",
        WIRE,
        told="time was up",
        slow=True,
    ),
    "answers twice": Attack(
        "encode = comm._grader.ask.__globals__['send_frame'].__globals__['encode']\n"
        "said(comm, encode(('returned', None, (x * comm.size,), '')))",
        WIRE,
    ),
    "another rank's request": Attack("comm._grader.ask('wait', 77)", told="malformed message"),
    "a communicator that it has not": Attack(
        "comm._grader._number = 5\ncomm.barrier()", told="malformed message"
    ),
    "a verb that no communicator has": Attack(
        "comm._grader.ask('carry_out')", told="malformed message"
    ),
    "begins what no communicator begins": Attack(
        "comm._grader.begin('isend', x, 77, 0)\ncomm.barrier()", told="malformed message"
    ),
    "begins without end": Attack(
        "while True:\n    comm.work(seconds=1.0)", told="time was up", slow=True
    ),
    "words of other kinds": Attack(
        "comm._grader.ask('recv', [], {}, x, None)", told="malformed message"
    ),
    "looks for other sockets": Attack(
        "for number in range(1000):\n    if number != 3:\n        try:\n"
        "            os.write(number, b'garbage')\n        except OSError:\n            pass\n"
        "attempt(lambda: os.readlink('/proc/1/fd/4'))",
        WIRE,
    ),
    "stops listening": Attack(
        "import socket, time\nlink = socket.socket(fileno=3)\nlink.shutdown(socket.SHUT_RD)\n"
        "comm._link.close()\ntime.sleep(1000)",
        told="connection|time was up|middle",
    ),
    "floods with messages": Attack(
        "for tag in range(10**9):\n    comm.isend(x, comm.rank, tag % 30_000)",
        told="at once|time was up",
        slow=True,
    ),
    "floods with bytes": Attack(
        "import numpy as np\nbig = np.zeros(4 * 10**6)\n"
        "for tag in range(10**9):\n    comm.isend(big, comm.rank, tag % 30_000)",
        told="under way|time was up|memory",
    ),
    "wrong sizes": Attack(
        "import numpy as np\ny = np.empty(len(x) + 1)\n"
        "comm.sendrecv(x, (comm.rank + 1) % comm.size, y, (comm.rank - 1) % comm.size)",
    ),
    "a negative size": Attack("comm._grader.ask('recv', -8, 13, 0, 0)", told="malformed message"),
    "returns a great array": Attack(
        "import numpy as np\nreturn np.zeros(10**7)", told="travel at once|memory"
    ),
    "returns lists without end": Attack(
        "nested = []\nfor _ in range(10**5):\n    nested = [nested]\nreturn nested", told="deep"
    ),
}

SNOOPING = {
    "reads the hidden tests": Attack("attempt(lambda: open('<source>').read())", earns=True),
    "reads what else is there": Attack(
        "import os\nfor place in ('<source>', '<submissions>', '<out>', '<package>/collectives',\n"
        "              '<package>/course', '<home>'):\n"
        "    attempt(lambda: [os.listdir(place), *map(open, os.listdir(place))][:9] or 1 / 0)\n"
        "attempt(lambda: open('<submissions>/honest00.ipynb').read())\n"
        "attempt(lambda: open('<out>/verdicts/06_two/honest00.json').read())",
        earns=True,
    ),
    "changes what else is there": Attack(
        "import shutil\nfor place in ('<marks>', '<submissions>', '<out>', '<home>/.jupyter'):\n"
        "    for name in ('mark', 'grades.csv', 'honest00.ipynb'):\n"
        "        attempt(lambda: open(f'{place}/{name}', 'w'))\n"
        "    shutil.rmtree(place, ignore_errors=True)",
        earns=True,
    ),
    "changes modes and times of what else is there": Attack(
        "import os\nfor place in ('<marks>', '<submissions>', '<out>', '<source>'):\n"
        "    attempt(os.chmod, place, 0o777)\n    attempt(os.utime, place, (0, 0))\n"
        "    attempt(os.chown, place, -1, -1)\n    attempt(os.setxattr, place, 'user.x', b'')\n"
        "    attempt(os.truncate, place, 0)",
        earns=True,
    ),
    "looks at the grader": Attack(
        "import os\n"
        "for process in (*range(9), os.getppid(), *range(<grader> - 9, <grader> + 9)):\n"
        "    if process != os.getpid():\n"
        "        for file in ('environ', 'mem', 'maps', 'cmdline'):\n"
        "            attempt(lambda: open(f'/proc/{process}/{file}', 'rb').read(9))",
        earns=True,
    ),
    "traces the grader": Attack(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "attempt(lambda: 1 // (libc.ptrace(16, <grader>, 0, 0) + 1 == 1))",
        earns=True,
    ),
    "looks for secrets in its memory": Attack(
        "import gc, sys\nfound = [name for name in sys.modules if 'judge' in name]\n"
        "if found or any('HIDDEN' in str(o)[:99] for o in gc.get_objects() if type(o) is str):\n"
        "    raise Exception(f'LEAK {found}')\n"
        "frame = sys._getframe()\nwhile frame:\n"
        "    if 'stage' in frame.f_locals:\n"
        "        raise Exception('LEAK')\n    frame = frame.f_back",
        earns=True,
    ),
    "reads its environment": Attack(
        "import os\nif 'SECRET_OF_THE_GRADER' in os.environ:\n    raise Exception('LEAK')",
        earns=True,
    ),
    "goes to the network": Attack(
        "import socket\nfor kind in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):\n"
        "    attempt(lambda: socket.socket(kind))\n"
        "attempt(lambda: socket.create_connection(('127.0.0.1', <port>), timeout=1))\n"
        "attempt(lambda: socket.create_connection(('192.0.2.1', 80), timeout=1))",
        earns=True,
    ),
    "becomes somebody": Attack(
        "import ctypes, os, resource\nlibc = ctypes.CDLL(None)\nbefore = os.getuid()\n"
        "attempt(lambda: (os.setuid(0), 1 // (before != 0)))\nattempt(os.chroot, '/tmp')\n"
        "for flags in (0x10000000, 0x00020000, 0x20000000):\n"
        "    attempt(lambda: 1 // (libc.unshare(flags) == 0))\n"
        "attempt(lambda: 1 // (libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0) == 0))\n"
        "attempt(resource.setrlimit, resource.RLIMIT_AS, (-1, -1))\n"
        "attempt(resource.prlimit, <grader>, resource.RLIMIT_CPU, (1, 1))",
        earns=True,
    ),
}
