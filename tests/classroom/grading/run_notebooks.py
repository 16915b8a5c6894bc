"""Run notebooks as a kernel does, and print what their checks said.

`run_notebooks.py FOLDER` reads, as json, for each notebook the sources of its cells; each is run
in a shell that knows nothing of the others. Prints, as json, for each notebook what its last check
said, or "" where it passed.
"""

import contextlib
import io
import json
import os
import subprocess
import sys

from IPython.core.interactiveshell import InteractiveShell

from ddl_class.exercises import check
from ddl_runtime.diagnosis.frames import error_text

check.SECONDS = 500.0  # on a busy machine, too


def run_all(notebooks, folder):
    """What the last check of each notebook says, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, str(folder)],
        input=json.dumps(notebooks),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"DDL_TEACH_DATA": str(folder / "data")},
    )
    verdicts: dict[str, str] = json.loads(done.stdout)
    return verdicts


def verdict(shell, cells):
    """What the last cell with a check says."""
    shell.reset()
    shell.history_manager.input_hist_raw[:] = [""]
    said = "no check was run"
    for source in cells:
        error = shell.run_cell(source, store_history=True).error_in_exec
        if "check(" in source:
            said = error_text(error) if error else ""
    return said


def main(folder):
    os.chdir(folder)
    notebooks = json.load(sys.stdin)
    shell = InteractiveShell.instance()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        verdicts = {name: verdict(shell, cells) for name, cells in notebooks.items()}
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
