"""Open the course, or run its tests, on any machine that has Python.

    python3 start.py              opens the course in JupyterLab
    python3 start.py test         runs every test; further words go to pytest

The first time, this makes the folder .venv and installs into it exactly what requirements.lock
says; that takes a few minutes. Every later time begins at once. Nothing outside this folder
changes.
"""

# This file keeps to words that every Python understands, so that an old one can say what is wrong.
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def newer_python():
    """Return the name of a Python on this machine that is new enough, or None."""
    for name in ("python3.13", "python3.12", "python3.11", "python3.14"):
        try:
            with open(os.devnull, "w") as nowhere:
                if subprocess.call([name, "-c", ""], stdout=nowhere, stderr=nowhere) == 0:
                    return name
        except OSError:
            continue
    return None


if sys.version_info < (3, 11):
    found = newer_python()
    if found:
        advice = "This machine has one: type '%s start.py' instead." % found
    else:
        advice = (
            "Install one with your system's package manager, from python.org or with conda,\n"
            "then type its name in front: 'python3.12 start.py', say."
        )
    this = "%d.%d" % sys.version_info[:2]
    sys.exit("Python 3.11 or newer is needed; this is %s.\n%s" % (this, advice))

if os.name != "posix":
    sys.exit(
        "The MPI that comes as a Python package is for Linux and macOS only.\n"
        "On Windows, install WSL ('wsl --install'), open it and start the course there."
    )

sys.path.insert(0, HERE)

from bootstrap.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
