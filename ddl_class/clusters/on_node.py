"""What one node says of itself, as a line of JSON. Runs on the node:

    python - MARK NODE HOST PORT NAME ...          (this file comes through the standard input)

It looks for the file MARK that the asking side has written, and writes the same into MARK.NODE. It
calls back at HOST and PORT, and looks the other nodes' NAMEs up. It needs nothing but Python's own
library, so that a node on which nothing else is installed can say so.
"""

import json
import platform
import socket
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

CALL_LIMIT = 5  # seconds until a call back must have been answered


def answers(mark: str, node: str, host: str, port: int, names: list[str]) -> dict:
    """Everything that is asked of a node, as plain data."""
    return {
        "name": socket.gethostname(),
        "python": f"{platform.python_version()} at {sys.executable}",
        "packages": {each.metadata["Name"]: each.version for each in distributions()},
        "addresses": {name: _address(name) for name in names},
        "mark": _mark(mark, node),
        "call": _call(host, port),
        "gpus": _gpus(),
    }


def _address(name: str) -> str:
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        return f"unknown: {error.strerror}"


def _mark(mark: str, node: str) -> str:
    """What stands in the mark; the same goes into ours, where the asking side looks for it."""
    try:
        text = Path(mark).read_text()
        Path(f"{mark}.{node}").write_text(text)
    except OSError as error:
        return f"missing: {error.strerror}"
    return text


def _call(host: str, port: int) -> str:
    """Our address as the asking side would see it, or why it could not be called."""
    try:
        with socket.create_connection((host, port), timeout=CALL_LIMIT) as line:
            return line.getsockname()[0]
    except OSError as error:
        return f"failed: {error}"


def _gpus() -> list[str]:
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [line.split(" (UUID")[0] for line in lines]


if __name__ == "__main__":
    mark, node, host, port, *names = sys.argv[1:]
    print(json.dumps(answers(mark, node, host, int(port), names)))
