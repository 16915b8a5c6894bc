"""A program finds its process as if it were the first: what the one before has changed is put
back, or the process is a new one."""

import builtins
import importlib
import os
import threading
import time

import pytest

from ddl_runtime.diagnosis.deadlock import RankFailed
from ddl_teach import Ranks

pytestmark = pytest.mark.real

MODULES = (
    "builtins decimal gc importlib locale logging os random signal socket sys time warnings "
    "ddl_teach.collectives.ring ddl_teach.comm json numpy"
).split()


@pytest.fixture(scope="module")
def pair():
    with Ranks(2) as ranks:
        yield ranks


def process(comm):
    return os.getpid()


# What is changed, by a statement, and an expression that shows it.
CHANGES = {
    "numpy's errors": ("numpy.seterr(all='raise')", "numpy.geterr()"),
    "numpy's printing": ("numpy.set_printoptions(precision=2)", "str(numpy.array([1 / 3]))"),
    "numbers of decimal": ("decimal.getcontext().prec = 3", "decimal.getcontext().prec"),
    "warnings": ("warnings.simplefilter('error')", "list(warnings.filters)"),
    "a list of filters": ("warnings.filters = []", "len(warnings.filters) > 0"),
    "who shows warnings": ("warnings.showwarning = print", "warnings.showwarning.__module__"),
    "environment": ("os.environ['HOME'] = 'nowhere'", "os.environ['HOME']"),
    "working directory": ("os.chdir('/')", "os.getcwd()"),
    "umask": ("os.umask(0)", "(old := os.umask(0), os.umask(old))[0]"),
    "signals": (
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)",
        "str(signal.getsignal(signal.SIGHUP))",
    ),
    "timer": ("signal.setitimer(signal.ITIMER_REAL, 9)", "signal.getitimer(signal.ITIMER_REAL)"),
    "a builtin": ("builtins.sum = min", "sum([2, 3])"),
    "a name among the builtins": ("builtins.mine = 1", "hasattr(builtins, 'mine')"),
    "builtins that put back": (
        "builtins.vars = builtins.setattr = builtins.map = None",
        "len(vars(os)) > 0",
    ),
    "another module": (
        "sys.modules['numpy'] = random", "importlib.import_module('numpy').__name__",
    ),
    "no module": ("del sys.modules['json']", "'json' in sys.modules"),
    "an invented module": (
        "sys.modules['invented'] = type(sys)('invented')", "'invented' in sys.modules",
    ),
    "the table of modules": ("sys.modules = {}", "'numpy' in sys.modules"),
    "an equal table of modules": ("sys.modules = dict(sys.modules)", "id(sys.modules)"),
    "path": ("sys.path = ['nowhere']", "len(sys.path) > 1"),
    "recursion limit": ("sys.setrecursionlimit(500)", "sys.getrecursionlimit()"),
    "trace": ("sys.settrace(lambda *_: None)", "sys.gettrace()"),
    "garbage": ("gc.disable()", "gc.isenabled()"),
    "locale": ("locale.setlocale(locale.LC_ALL, 'C.UTF-8')", "locale.setlocale(locale.LC_ALL)"),
    "log level": ("logging.root.setLevel(1)", "logging.root.level"),
    "logging": ("logging.disable()", "logging.root.manager.disable"),
    "log handlers": (
        "logging.root.addHandler(logging.NullHandler())", "len(logging.root.handlers)",
    ),
    "sockets": ("socket.setdefaulttimeout(1)", "socket.getdefaulttimeout()"),
    "processors": (
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])", "os.sched_getaffinity(0)",
    ),
    "a collective": ("ring.allreduce = print", "ring.allreduce.__module__"),
    "a method": ("comm.Comm.send = print", "comm.Comm.send.__module__"),
    "numpy itself": ("numpy.sum = print", "numpy.sum.__module__"),
    "the system": ("os.fchdir = os.dup2 = print", "os.fchdir.__module__ + os.dup2.__module__"),
    "time": ("time.sleep = print", "time.sleep.__module__"),
}  # fmt: skip


def names():
    """What statements and expressions speak of, under the last part of its name."""
    return {name.split(".")[-1]: importlib.import_module(name) for name in MODULES}


def evaluate(comm, expression):
    return eval(expression, names())


def execute(comm, statement, fail=False):
    exec(statement, names())
    if fail:
        raise KeyError("and fails")


@pytest.mark.parametrize("fail", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.sampled(4)
def test_what_a_program_changes_is_put_back(pair, what, fail):
    statement, expression = CHANGES[what]
    before = pair.run(evaluate, expression=expression).results
    processes = pair.run(process).results
    if fail:
        with pytest.raises(RankFailed, match="KeyError: 'and fails'"):
            pair.run(execute, statement=statement, fail=True)
    else:
        pair.run(execute, statement=statement)
    assert pair.run(evaluate, expression=expression).results == before
    assert pair.run(process).results == processes


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.sampled(4)
def test_what_is_put_back_had_been_changed(pair, what):
    """Within one program the change shows: the test above can fail."""
    statement, expression = CHANGES[what]
    before = pair.run(evaluate, expression=expression).results
    after = pair.run(changed, statement=statement, expression=expression).results
    assert all(new != old for new, old in zip(after, before, strict=True))


def changed(comm, statement, expression):
    known, look = names(), compile(expression, "look", "eval")
    space = vars(builtins)
    kept = dict(space)
    exec(statement, known)
    try:
        return eval(look, known)
    except Exception as error:
        return error.args
    finally:
        space.update(kept)


DRAWS = {
    "random": ("random.seed(1)", "random.random()"),
    "numpy": ("numpy.random.seed(1)", "numpy.random.random()"),
    "torch": (
        "import torch; torch.manual_seed(1)",
        "importlib.import_module('torch').rand(1).item()",
    ),
    "numpy's generator": (
        "numpy.random.set_bit_generator(numpy.random.MT19937(1))",
        "numpy.random.random()",
    ),
}


@pytest.mark.parametrize("what", DRAWS)
@pytest.mark.sampled(2)
def test_numbers_that_one_program_draws_say_nothing_of_the_next(pair, what):
    seed, draw = DRAWS[what]
    after = []
    for _ in range(2):
        pair.run(execute, statement=seed)
        after += pair.run(evaluate, expression=draw).results
    assert len(set(after)) == 4


TORCH = {
    "type": ("torch.set_default_dtype(torch.float64)", "torch.get_default_dtype()"),
    "device": ("torch.set_default_device('meta')", "torch.ones(1).device.type"),
    "gradients": ("torch.set_grad_enabled(False)", "torch.is_grad_enabled()"),
    "threads": ("torch.set_num_threads(3)", "torch.get_num_threads()"),
    "determinism": (
        "torch.use_deterministic_algorithms(True)",
        "torch.are_deterministic_algorithms_enabled()",
    ),
}


@pytest.mark.parametrize("known", [False, True], ids=["loaded in it", "loaded before"])
@pytest.mark.sampled(2)
def test_torch_is_as_in_a_new_process(known):
    pytest.importorskip("torch")
    whole = "; ".join(statement for statement, _ in TORCH.values())
    looks = f"({', '.join(expression for _, expression in TORCH.values())})"
    with Ranks(1) as alone:
        fresh = alone.run(with_torch, expression=looks).results
        if not known:
            alone.close()  # the next program starts a new process
        alone.run(execute, statement=f"import torch; {whole}")
        assert alone.run(with_torch, expression=looks).results == fresh


def with_torch(comm, expression):
    import torch

    return eval(expression, {"torch": torch})


def leaves_a_thread(comm):
    def work():
        while True:
            time.sleep(0.01)

    if comm.rank == 1:
        threading.Thread(target=work, daemon=True, name="the worker").start()


def patches_what_it_loads(comm):
    from ddl_teach.collectives import bruck

    bruck.allgather = lambda comm, x, out: None


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (leaves_a_thread, "process of rank 1 for good: the thread the worker"),
        (patches_what_it_loads, "functions of ddl_teach.collectives.bruck"),
    ],
)
@pytest.mark.sampled(2)
def test_where_something_cannot_be_put_back_processes_are_new(program, said):
    with Ranks(2) as ranks:
        before = ranks.run(process).results
        with pytest.warns(UserWarning, match=said):
            ranks.run(program)
        assert not set(ranks.run(process).results) & set(before)


def test_a_thread_that_ends_in_a_moment_costs_nothing(pair):
    def program(comm):
        threading.Thread(target=lambda: time.sleep(0.1)).start()

    before = pair.run(process).results
    pair.run(program)
    assert pair.run(process).results == before


def test_modules_of_the_library_stay_loaded(pair):
    def loads(comm):
        return id(importlib.import_module("ddl_teach.collectives.tree"))

    assert pair.run(loads).results == pair.run(loads).results
