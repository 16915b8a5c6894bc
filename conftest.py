"""Guards around all tests: nothing of the user's Jupyter reaches in, no engine stays behind."""

import os
import tempfile
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

# A learner's notebook stops at its first stub; the solved one is run instead.
NOTEBOOKS = Path(__file__).parent / "notebooks"
collect_ignore = [str(NOTEBOOKS / path.name) for path in NOTEBOOKS.glob("solved/*.ipynb")]

# Examples of laws may take as long as they take: no law fails because the machine is busy. They
# are the same each time; `pytest --hypothesis-profile=chance` tries others.
NO_HASTE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("chance", NO_HASTE)
settings.register_profile("suite", NO_HASTE, derandomize=True)
settings.load_profile("suite")

# What every kernel runs first: on a busy machine a learner's 20 seconds may be too few.
PATIENCE = """
def be_patient():
    from ddl_teach.course import Engines
    from ddl_teach.course.exercises import check

    Engines.__init__.__kwdefaults__["timeout"] = check.SECONDS = 100

be_patient()
del be_patient
"""

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
    (startup / "patience.py").write_text(PATIENCE)
    # No progress bar of engines among the outputs that are compared.
    os.environ["IPP_NONINTERACTIVE"] = "1"


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
