"""Guards around all tests: nothing of the user's Jupyter reaches in, no engine stays behind."""

import gc
import math
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import psutil
import pytest
from hypothesis import HealthCheck, settings
from ipykernel import kernelspec
from nbval.plugin import IPyNbCell

from tests import outputs, warm_start

# A learner's notebook stops at its first stub; the solved one is run instead.
NOTEBOOKS = Path(__file__).parent / "notebooks"
LEARNERS = {NOTEBOOKS / path.name for path in NOTEBOOKS.glob("solved/*.ipynb")}

# Examples of laws may take as long as they take: no law fails because the machine is busy. They
# are the same each time; `pytest --hypothesis-profile=chance` tries others.
NO_HASTE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("chance", NO_HASTE)
settings.register_profile("suite", NO_HASTE, derandomize=True)
settings.register_profile("quick", NO_HASTE, derandomize=True, max_examples=10)
settings.load_profile("suite")

# Bits are compared with the processor's; tests marked gpu ask for the GPU by its name.
os.environ.setdefault("DDL_TEACH_DEVICE", "cpu")

# What every kernel runs first: on a busy machine a learner's 20 seconds may be too few.
PATIENCE = """
def be_patient():
    from ddl_class import Engines
    from ddl_class.exercises import check

    Engines.__init__.__kwdefaults__["timeout"] = check.SECONDS = 100

be_patient()
del be_patient
"""
# ... and this: where the kernel has begun warm, so do its engines.
WARMLY = f"""
def begin_warm():
    import os

    from ddl_runtime.launcher import mpiexec

    def start(ranks, words, extra, folder, place=None, survivors=False):
        warm = [] if place or survivors else [{warm_start.__file__!r}]
        return cold(ranks, [*warm, *words], extra, folder, place, survivors)

    if {warm_start.ADDRESS!r} in os.environ:
        cold, mpiexec.start = mpiexec.start, start

begin_warm()
del begin_warm
"""
WARM = sys.platform == "linux"  # what tests/warm_start.py does, only this system can

# What a test needs besides Python, by the folder or file that it stands in, and by its fixtures.
MARKED_BY_PLACE = {
    "notebooks": "notebook",
    "tests/browser": "browser",
    "tests/test_book.py": "book",
    "tests/labs": "box",
}
MARKED_BY_FIXTURE = {
    "pool": "real",
    "real": "real",
    "engines": "real",
    "browser": "browser",
    "box": "box",
    "box_of": "box",
    "book": "long",
}

FEW = 2  # cases of a test are in `test --quick`
MANY = {6, 8}  # real ranks that train whole networks: three to a core take minutes

PRIVATE = pytest.StashKey[tempfile.TemporaryDirectory]()


def pytest_configure(config: pytest.Config) -> None:
    """Give the notebooks' kernels and engines folders of their own, and every process one thread.

    Two files of tests run at the same time: threads of two libraries would wait for one another's
    processors, spinning.
    """
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    config.stash[PRIVATE] = tempfile.TemporaryDirectory(prefix="ddl-teach-tests-")
    folder = config.stash[PRIVATE].name
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "DDL_TEACH_DATA"):
        os.environ[variable] = os.path.join(folder, variable)
    startup = Path(os.environ["IPYTHONDIR"], "profile_default", "startup")
    startup.mkdir(parents=True)
    (startup / "patience.py").write_text(PATIENCE + WARMLY)
    # No progress bar of engines among the outputs that are compared.
    os.environ["IPP_NONINTERACTIVE"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Look for no garbage in what lives until the end: half of this time would go there."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out learners' notebooks, also where one of them is named."""
    return True if collection_path in LEARNERS else None


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs real ranks, a box, a browser: so that `-m` can leave it out."""
    for item in items:
        place = _place_of(item.path, item.config.rootpath)
        marks = {mark for start, mark in MARKED_BY_PLACE.items() if place.startswith(start)}
        for fixture in getattr(item, "fixturenames", ()):
            marks |= {MARKED_BY_FIXTURE[fixture]} if fixture in MARKED_BY_FIXTURE else set()
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        if "real" in filter(lambda value: isinstance(value, str), parameters):
            marks.add("real")  # one of two grounds
        many = any(isinstance(value, int) and value in MANY for value in parameters)
        if place.startswith("tests/networks") and "real" in marks and many:
            marks.add("long")
        for mark in marks:
            item.add_marker(mark)
    _sample(items)
    _expect_outputs(items)


def _expect_outputs(items: list[pytest.Item]) -> None:
    """Have nbval compare what cells showed when notebooks/outputs.json was made."""
    known = outputs.expected()
    for item in items:
        if isinstance(item, IPyNbCell):
            shown = known.get(item.path.stem, {}).get(item.cell.id)
            if shown and not getattr(item.config.option, "record", None):
                outputs.expect(item, shown)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before the kernel starts
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Begin each notebook as a learner who has done nothing, whatever tests ran before."""
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(item, IPyNbCell) and item.parent.kernel is None:
            folder = item.config.stash[PRIVATE].name
            os.environ["DDL_TEACH_DATA"] = os.path.join(folder, item.path.stem)
            if WARM:
                patch.setenv(warm_start.ADDRESS, warm_start.begin(os.path.join(folder, "warm")))
                starter = kernelspec.make_ipkernel_cmd(python_arguments=[warm_start.__file__])
                patch.setattr(kernelspec, "make_ipkernel_cmd", lambda *_, **__: starter)
        return (yield)


@cache  # twenty thousand tests stand in a few hundred files
def _place_of(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _sample(items: list[pytest.Item]) -> None:
    """Of a test's cases mark as long all but one in n, if it is `sampled(n)`, and as slow all but
    the first few.

    Which are first is drawn by their names: as good as by chance, and the same on every machine.
    """
    cases = defaultdict(list)
    for item in items:
        cases[item.path, getattr(item, "originalname", item.name)].append(item)
    for those in cases.values():
        those.sort(key=lambda item: crc32(item.nodeid.encode()))
        if mark := those[0].get_closest_marker("sampled"):
            for item in those[math.ceil(len(those) / mark.args[0]) :]:
                item.add_marker("long")
        for item in those[FEW:]:
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say why tests of a GPU were skipped to who asked for these alone: pytest counts them."""
    if config.option.markexpr == "gpu":
        skipped = terminalreporter.stats.get("skipped", [])
        for reason in sorted({report.longrepr[2] for report in skipped}):
            terminalreporter.write_line(reason)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the engines of kernels that nbval has killed: they know our folder."""
    folder = config.stash[PRIVATE].name
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and _belongs(process, folder):
                process.kill()
        except psutil.Error:
            continue  # it has ended, or belongs to somebody else
    config.stash[PRIVATE].cleanup()


def _belongs(process: psutil.Process, folder: str) -> bool:
    return process.environ().get("IPYTHONDIR", "").startswith(folder)
