"""IPython inside a rank: cells with everything that a notebook's cells have.

Magics, `!commands`, `await` and the value of the last line work as in the notebook itself. What a
cell displays does not appear here but goes to the notebook, together with its place in the
printed text. Errors are returned, not printed: the notebook shows the one that came first.
"""

from collections.abc import Callable
from typing import Any

from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

Show = Callable[[dict, dict], None]


def make_current(shell: InteractiveShell | None) -> None:
    """From now on `get_ipython()` gives this shell; None where the next one is to be made.

    IPython has no public way to change it.
    """
    InteractiveShell._instance = shell


class NamedCells(CachingCompiler):
    """Calls each cell what the notebook calls it, so that diagnoses and tracebacks do."""

    name = ""

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        return self.name or super().get_code_name(raw_code, transformed_code, number)


class Results(DisplayHook):
    """Shows the value of a cell's last line."""

    def write_output_prompt(self) -> None:
        """The notebook puts the rank in front."""

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        self.shell.show(format_dict, md_dict or {})

    def finish_displayhook(self) -> None:
        """Nothing to flush."""


class Displays(DisplayPublisher):
    """Shows what `display(...)` is given, figures included."""

    def publish(self, data: dict, metadata: dict | None = None, **_: Any) -> None:
        self.shell.show(data, metadata or {})

    def clear_output(self, wait: bool = False) -> None:
        """What ranks have shown stays."""


class Shell(InteractiveShell):
    """One rank's namespace and how cells run in it."""

    compiler_class = Type(NamedCells)
    displayhook_class = Type(Results)
    display_pub_class = Type(Displays)

    def __init__(self, show: Show, names: dict[str, Any]) -> None:
        self.show = show
        config = Config()
        config.HistoryManager.enabled = False
        config.HistoryManager.hist_file = ":memory:"
        config.InteractiveShell.display_page = True
        config.InteractiveShell.colors = "nocolor"
        super().__init__(config=config, user_ns=names)
        type(self)._instance = self
        make_current(self)

    def enable_gui(self, gui: str | None = None) -> None:
        """Ranks have no windows: figures are shown when the cell ends."""

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the notebook shows errors."""

    showsyntaxerror = showindentationerror = showtraceback

    def execute(self, name: str, code: str) -> None:
        """Run a cell; raises what it raised, or SystemExit after exit() or quit()."""
        self.compile.name = name
        result = self.run_cell(code)
        left, self.exit_now = SystemExit() if self.exit_now else None, False
        if error := result.error_before_exec or result.error_in_exec or left:
            raise error

    def ask_exit(self) -> None:
        """`exit()` ends a rank's cell, not the rank."""
        self.exit_now = True
