"""What the user's own settings may not do to the course's environment.

A PYTHONPATH, an activated environment or a pip that installs for the user would otherwise reach
into .venv: the lesson would run with other packages than the lock file says.
"""

import os
from pathlib import Path

# Where pip installs to is our decision; where it finds packages stays the user's.
PIP_DESTINATIONS = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON"}
ACTIVATED = {"VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "__PYVENV_LAUNCHER__"}


def clean_environment(venv: Path) -> dict[str, str]:
    """Return the variables a program inside ``venv`` is started with."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") and name not in PIP_DESTINATIONS | ACTIVATED
    }
    return kept | {
        "VIRTUAL_ENV": str(venv),
        "PATH": f"{venv / 'bin'}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "PIP_USER": "0",  # wins over a pip.conf that says otherwise
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
