"""start.py on a course in miniature: real folders, real pip, nothing from a network."""

import ast
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GONE = "http://127.0.0.1:9/simple"  # a port where nobody answers

# A build backend of a few lines, so that installing the miniature needs no download.
BACKEND = """
import pathlib, time, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    time.sleep(float(pathlib.Path("seconds.txt").read_text()))
    name = "ddl_teach-1.dist-info"
    with zipfile.ZipFile(pathlib.Path(folder, "ddl_teach-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("ddl_teach.pth", str(pathlib.Path.cwd()))
        wheel.writestr(f"{name}/METADATA", "Metadata-Version: 2.1\\nName: ddl-teach\\nVersion: 1")
        wheel.writestr(f"{name}/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(f"{name}/RECORD", "")
    return "ddl_teach-1-py3-none-any.whl"
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "ddl-teach"
version = "1"
"""
SAY_WHERE = (
    "import os, sys; print('the lab', sys.prefix, os.environ.get('PYTHONPATH'), sys.argv[1:])"
)


@pytest.fixture
def course(tmp_path):
    folder = tmp_path / "my course"
    (folder / "ddl_teach").mkdir(parents=True)
    shutil.copy(ROOT / "start.py", folder)
    shutil.copytree(ROOT / "bootstrap", folder / "bootstrap")
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "seconds.txt").write_text("0")
    (folder / "requirements.lock").write_text("# nothing\n")
    (folder / "ddl_teach" / "__main__.py").write_text(SAY_WHERE)
    return folder


def begin(course, **variables):
    """Start start.py as somebody would who has settings of their own."""
    return subprocess.Popen(
        [sys.executable, "start.py"],
        cwd=course,
        env=os.environ | {"PIP_RETRIES": "1", "PYTHONPATH": "elsewhere"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def start(course, **variables):
    process = begin(course, **variables)
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


def stamp(course):
    return course / ".venv" / "start.json"


def wait_until_building(process):
    for line in process.stdout:
        if line.startswith("Installing the course"):
            return
    pytest.fail("start.py ended before it installed the course")


def test_first_and_second_time(course):
    status, first = start(course)
    assert status == 0
    assert "Preparing Python packages" in first
    assert f"the lab {course / '.venv'} None ['lab']" in first
    written = stamp(course).stat().st_mtime_ns
    status, second = start(course)
    assert status == 0
    assert second.splitlines() == first.splitlines()[-1:]
    assert stamp(course).stat().st_mtime_ns == written


def test_settings_that_would_install_elsewhere_do_not(course, tmp_path):
    status, output = start(
        course, PIP_TARGET=str(tmp_path / "target"), PIP_USER="1", VIRTUAL_ENV=str(tmp_path)
    )
    assert status == 0, output
    assert not (tmp_path / "target").exists()


def test_a_changed_lock_updates_and_a_moved_folder_starts_anew(course):
    start(course)
    mark = course / ".venv" / "mark"
    mark.touch()
    (course / "requirements.lock").write_text("# still nothing\n")
    status, output = start(course)
    assert (status, mark.exists()) == (0, True)
    assert "has changed" in output
    moved = course.rename(course.with_name("moved"))
    status, output = start(moved)
    assert (status, (moved / ".venv" / "mark").exists()) == (0, False)
    assert f"the lab {moved / '.venv'}" in output


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_first_time(course, how):
    (course / "seconds.txt").write_text("3")
    process = begin(course)
    wait_until_building(process)
    process.send_signal(how)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in rest
    assert not stamp(course).exists()
    (course / "seconds.txt").write_text("0")
    status, output = start(course)
    assert (status, stamp(course).exists()) == (0, True), output


def test_two_at_the_same_moment(course):
    (course / "seconds.txt").write_text("2")
    one = begin(course)
    wait_until_building(one)
    status, output = start(course)
    assert status == 0
    assert "Another start.py is preparing" in output
    assert "Making .venv" not in output
    one.communicate(timeout=60)
    assert one.returncode == 0


def test_a_lock_left_by_nobody_does_not_hold_up(course):
    (course / ".venv.lock").write_text("")
    with open(course / ".venv.lock") as free:
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert start(course)[0] == 0


@pytest.mark.parametrize("half_made", ["broken link", "file", "lost python"])
def test_a_half_made_environment_is_made_anew(course, half_made):
    venv = course / ".venv"
    if half_made == "broken link":
        venv.symlink_to(course / "nowhere")
    elif half_made == "file":
        venv.write_text("")
    else:
        start(course)
        (venv / "bin" / "python").unlink()
    status, output = start(course)
    assert (status, stamp(course).exists()) == (0, True), output


def test_no_network(course):
    (course / "requirements.lock").write_text("no-such-package==1\n")
    status, output = start(course, PIP_INDEX_URL=GONE, PIP_EXTRA_INDEX_URL="", PIP_FIND_LINKS="")
    assert status == 1
    assert "ERROR: No matching distribution found for no-such-package==1" in output
    assert "pip cannot reach the package index" in output
    assert "Traceback" not in output


def test_folder_of_somebody_else(course):
    if os.geteuid() == 0:
        pytest.skip("nothing is unwritable for root")
    course.chmod(0o555)
    status, output = start(course)
    course.chmod(0o755)
    assert status == 1
    assert "folder of your own" in output


def test_unknown_word(course):
    done = subprocess.run(
        [sys.executable, "start.py", "tset"], cwd=course, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "does not know 'tset'" in done.stderr


def test_an_old_python_understands_start_py():
    tree = ast.parse((ROOT / "start.py").read_text(), feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert not [function for function in functions if function.returns or function.args.args]


def test_an_old_python_is_told_what_to_do():
    pretend = "import runpy, sys; sys.version_info = (3, 8, 0); runpy.run_path('start.py')"
    done = subprocess.run(
        [sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed; this is 3.8." in done.stderr
    assert "start.py" in done.stderr.splitlines()[-1]
