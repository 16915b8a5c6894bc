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

from bootstrap import command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
GONE = "http://127.0.0.1:9/simple"  # a port where nobody answers

# A build backend of a few lines, so that installing the miniature needs no download.
BACKEND = """
import pathlib, time, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    while not pathlib.Path("go").exists():
        time.sleep(0.1)
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
    (folder / "go").touch()
    (folder / "requirements.lock").write_text("# nothing\n")
    (folder / "ddl_teach" / "__main__.py").write_text(SAY_WHERE)
    return folder


@pytest.fixture
def quick(course):
    """A course as on a Python without `ensurepip`, whose own pip serves .venv: seconds less."""
    installation = course / "bootstrap" / "installation.py"
    text = installation.read_text()
    assert text.count('"-m", "venv"') == 1
    installation.write_text(text.replace('"-m", "venv"', '"-m", "venv", "--without-pip"'))
    return course


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
    output, _ = process.communicate(timeout=250)
    return process.returncode, output


def stamp(course):
    return course / ".venv" / "start.json"


def wait_until(process, words):
    """Read what start.py says up to the line that begins with these words."""
    for line in process.stdout:
        if line.startswith(words):
            return
    pytest.fail(f"start.py ended before it said {words!r}")


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


@pytest.fixture
def become(monkeypatch):
    """`become(words)`: what start.py turns into, with everything prepared."""
    monkeypatch.setattr(command, "prepare", lambda: "python")
    monkeypatch.setattr(command.os, "chdir", lambda folder: None)
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    programs = []
    monkeypatch.setattr(command.os, "execve", lambda _, words, __: programs.append(words[2:]))

    def run(*words):
        command.main([*words])
        return programs[-1]

    return run


@pytest.mark.parametrize(
    ("words", "lab"),
    [
        ([], []),
        (["--no-browser"], ["--", "--no-browser"]),
        (["--port", "8890"], ["--", "--port=8890"]),
        (["--port=0", "--no-browser"], ["--", "--no-browser", "--port=0"]),
    ],
)
def test_options_of_the_lab_are_handed_on(become, words, lab):
    assert become(*words) == ["ddl_teach", "lab", *lab]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--port", "many"], "a port is a number from 0 to 65535, not 'many'"),
        (["--port", "65536"], "a port is a number from 0 to 65535, not '65536'"),
        (["--port"], "expected one argument"),
        (["--no-browser", "--loud"], "unrecognized arguments: --loud"),
    ],
)
def test_what_the_lab_cannot_have_is_named(words, advice, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(words)
    assert end.value.code == 2
    assert advice in capsys.readouterr().err


def test_settings_that_would_install_elsewhere_do_not(quick, tmp_path):
    status, output = start(
        quick, PIP_TARGET=str(tmp_path / "target"), PIP_USER="1", VIRTUAL_ENV=str(tmp_path)
    )
    assert status == 0, output
    assert not (tmp_path / "target").exists()


@pytest.mark.long
def test_a_changed_lock_updates_and_a_moved_folder_starts_anew(quick):
    start(quick)
    mark = quick / ".venv" / "mark"
    mark.touch()
    (quick / "requirements.lock").write_text("# still nothing\n")
    status, output = start(quick)
    assert (status, mark.exists()) == (0, True)
    assert "has changed" in output
    moved = quick.rename(quick.with_name("moved"))
    status, output = start(moved)
    assert (status, (moved / ".venv" / "mark").exists()) == (0, False)
    assert f"the lab {moved / '.venv'}" in output


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_first_time(quick, how):
    (quick / "go").unlink()
    process = begin(quick)
    wait_until(process, "Installing the course")
    process.send_signal(how)
    if how == signal.SIGKILL:  # its pip goes on for a while, and holds the lock as long
        (quick / "go").touch()
    rest, _ = process.communicate(timeout=250)
    assert process.returncode != 0
    assert "Traceback" not in rest
    assert not stamp(quick).exists()
    (quick / "go").touch()
    status, output = start(quick)
    assert (status, stamp(quick).exists()) == (0, True), output


@pytest.mark.long
def test_two_at_the_same_moment(quick):
    (quick / "go").unlink()
    one = begin(quick)
    wait_until(one, "Installing the course")
    other = begin(quick)
    wait_until(other, "Another start.py is preparing")
    (quick / "go").touch()
    output, _ = other.communicate(timeout=250)
    assert other.returncode == 0
    assert "Making .venv" not in output
    one.communicate(timeout=250)
    assert one.returncode == 0


def test_a_lock_left_by_nobody_does_not_hold_up(quick):
    (quick / ".venv.lock").write_text("")
    with open(quick / ".venv.lock") as free:
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert start(quick)[0] == 0


@pytest.mark.long
@pytest.mark.parametrize("half_made", ["broken link", "file", "lost python"])
def test_a_half_made_environment_is_made_anew(quick, half_made):
    venv = quick / ".venv"
    if half_made == "broken link":
        venv.symlink_to(quick / "nowhere")
    elif half_made == "file":
        venv.write_text("")
    else:
        start(quick)
        (venv / "bin" / "python").unlink()
    status, output = start(quick)
    assert (status, stamp(quick).exists()) == (0, True), output


def test_no_network(quick):
    (quick / "requirements.lock").write_text("no-such-package==1\n")
    status, output = start(quick, PIP_INDEX_URL=GONE, PIP_EXTRA_INDEX_URL="", PIP_FIND_LINKS="")
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


def test_files_that_the_quick_tier_leaves_out_have_no_quick_test():
    words = command.TIERS["--quick"]
    places = [str(ROOT / "tests" / place) for place in command.REAL]
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--co", "-q", "-p", "no:xdist", *words[:2], *places],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert collected.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, collected.stdout[-2000:]
    assert "deselected" in collected.stdout
