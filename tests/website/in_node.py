"""Python files in Pyodide under Node, with a stand-in for NumPy."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
import tools

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOUNTS = {
    "/project": str(ROOT),
    "/stand_in": str(HERE / "stand_in"),
    "/pure": sysconfig.get_path("purelib"),  # pytest and what it needs are plain Python
}


def run_in_node(file, *words, seconds=280, **variables):
    """What a file prints, and its exit status."""
    try:
        node, home = tools.node(), tools.npm_packages() / "pyodide"
    except tools.NoTools as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [node, HERE / "node_stacks.mjs", home, json.dumps(MOUNTS), file, *words],
        capture_output=True, text=True, timeout=seconds, env=os.environ | variables,
    )  # fmt: skip
    return done.stdout + done.stderr, done.returncode
