"""`%%px`: this cell runs on every engine.

%%px                          on all ranks
%%px --ranks 0,2              on these; also 1:4
%%px --timeout 60             seconds; engines.timeout where none is named
%%px --local                  here in the notebook as well, first
%px x = comm.rank             one line
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

OPTIONS = "%%px takes --ranks 0,2, --timeout 60 and --local; cells always wait for their ranks."


class Cells(Protocol):
    """What runs a notebook's cells: its engines."""

    size: int

    def cell(
        self,
        code: str,
        ranks: Sequence[int] | None = None,
        *,
        timeout: float | None = None,
        name: str = ...,
    ) -> None:
        """Run a cell's code on these ranks, or on all."""

    def stop(self) -> None:
        """End them."""


@magics_class
class EngineMagics(Magics):
    """The magics of one notebook and its engines."""

    def __init__(self, shell: InteractiveShell, engines: Cells) -> None:
        super().__init__(shell)
        self.engines = engines

    @magic_arguments()
    @argument("--ranks", "--targets", "-t", help="which ranks: 0,2 or 1:4; all where not named")
    @argument("--timeout", type=float, help="seconds after which the cell is stopped")
    @argument("--local", action="store_true", help="run the cell in the notebook too, first")
    @argument("--block", action="store_true", help="cells always wait for their ranks")
    def _cell_options(self, line: str) -> None:
        """Run this cell on the engines."""

    @line_cell_magic
    def px(self, line: str, cell: str | None = None) -> None:
        """Run a line or a cell on the engines: %%px [--ranks 0,2] [--timeout 60] [--local]."""
        # Newer versions of IPython count a cell before it runs, older ones after it.
        name = f"cell [{len(self.shell.user_ns['In']) - 1}]"
        if cell is None:
            self.engines.cell(line, name=name)
            return
        try:
            options = parse_argstring(EngineMagics._cell_options, line)
        except UsageError as error:
            raise UsageError(f"{error}. {OPTIONS}") from None
        if options.timeout is not None and not options.timeout > 0:
            raise UsageError(
                f"--timeout takes a positive number of seconds, not {options.timeout}"
            )
        ranks = None if options.ranks is None else _ranks(options.ranks, self.engines.size)
        if options.local:
            self.shell.run_cell(cell).raise_error()
        # The learner's lines are counted with the one of %%px.
        code = cell if cell.startswith("%%") else f"#\n{cell}"
        self.engines.cell(code, ranks, timeout=options.timeout, name=name)


def register(engines: Cells) -> None:
    """Let `%%px` in this notebook, if this is one, mean these engines."""
    if (shell := get_ipython()) is not None:
        shell.register_magics(EngineMagics(shell, engines))


def registered() -> Cells | None:
    """The engines of this notebook, if there are any."""
    shell = get_ipython()
    magics = shell.magics_manager.registry.get("EngineMagics") if shell is not None else None
    return None if magics is None else magics.engines


def _ranks(text: str, size: int) -> list[int]:
    """Read `2`, `0,2`, `1:4`, `all`."""
    chosen: set[int] = set()
    try:
        for word in text.split(","):
            if word == "all":
                chosen.update(range(size))
            elif ":" in word:
                chosen.update(
                    range(size)[slice(*(int(n) if n else None for n in word.split(":")))]
                )
            else:
                chosen.add(range(size)[int(word)])
    except (ValueError, IndexError):
        raise UsageError(
            f"--ranks takes numbers of 0 to {size - 1}, as in 2 or 0,2 or 1:4, not '{text}'"
        ) from None
    return sorted(chosen)
