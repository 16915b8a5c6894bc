"""Runs the cells of a page of the book inside Pyodide; what a cell shows becomes HTML as the
book's own outputs do. It stands in the site beside `outputs.py`, which is the book's."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from outputs import as_html

shell = InteractiveShell.instance(colors="nocolor")


def run(code: str) -> str:
    """What the cell prints, and then what it shows."""
    # A cell sets the hook for its result unless it is set already; then capture_output has it.
    with shell.display_trap, capture_output() as captured:
        shell.run_cell(code, store_history=True)
    printed = {"output_type": "stream", "text": captured.stdout + captured.stderr}
    shown = [
        {"output_type": "display_data", "data": output.data, "metadata": output.metadata or {}}
        for output in captured.outputs
    ]
    return "\n".join(filter(None, map(as_html, [printed, *shown])))
