"""What `cluster_setup/README.md` says to type, and typing it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETUP = ROOT / "cluster_setup"
README = (SETUP / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
LINES = [line.split("  ")[0] for line in re.findall(r"^    (\S.*)", README, re.M)]
IN_TEXT = re.findall(r"`([^`\n]+)`", README)
PROGRAMS = (
    r"ddl-teach |cluster_setup/|scancel |scontrol |ssh|npm |install |export |.venv/|python3? "
)
PROGRAMS += r"|\. |\$SITE_MPI |srun "
NAMED = list(dict.fromkeys(each for each in LINES + IN_TEXT if re.match(PROGRAMS, each)))
# Without those that only speak of a command which stands elsewhere with its words.
COMMANDS = [each for each in NAMED if not any(more.startswith(f"{each} ") for more in NAMED)]
PATIENCE = 200  # seconds, on the busiest machine


def line(begins):
    """The one command of the README that begins so."""
    [command] = [each for each in COMMANDS if each.startswith(begins)]
    return command


def typed(command, folder, course=ROOT, patience=PATIENCE, **variables):
    """What a line prints that is typed in a checkout, where `ddl-teach` and `python` are the
    course's."""
    for name in ("ddl-teach", "python"):
        module = " -m ddl_teach" if name == "ddl-teach" else ""
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable}{module} "$@"\n')
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "IPYTHONDIR": str(folder / "ipython")} | variables
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=course,
        env=environment,
        text=True,
        capture_output=True,
        timeout=patience,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
