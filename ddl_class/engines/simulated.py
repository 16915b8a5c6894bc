"""Simulated ranks in place of engines, where there is no MPI: in a browser above all.

    engines = Engines(4)          four simulated ranks, with the same names as engines
    %%px                          this cell runs on each of them, and its variables stay
    engines.run(program)          a whole rank program, as `simulate` runs it

Each cell has a communicator of its own: what was made of an older one (split, background) must be
made again. Times are virtual.
"""

import ast
import copy
import io
import linecache
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from typing import Any, NoReturn

from IPython.core.getipython import get_ipython

from ddl_class.engines.outputs import RankOutput
from ddl_class.engines.pool import EngineMagics
from ddl_class.not_installed import HOW, NO_MPI
from ddl_class.ranks import NAMES, simulate
from ddl_runtime.core.checks import first_ranks, whole_number
from ddl_runtime.core.running import running_comm
from ddl_runtime.diagnosis.deadlock import DiagnosedError
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import Comm, Run


class RankText(io.TextIOBase):
    """Takes what ranks print, each for itself; functions in the background print as rank 0."""

    def __init__(self, outputs: Sequence[RankOutput]) -> None:
        self._outputs = outputs

    def write(self, text: str) -> int:
        comm = running_comm()
        self._outputs[0 if comm is None else comm.rank].write(text.encode())
        return len(text)


class SimulatedEngines:
    """Ranks that keep their variables from cell to cell; programs do not see these."""

    alive = False  # no processes, on which a check would look again

    def __init__(
        self, ranks: int = 4, *, timeout: float = 20, on: object = None, network: Any = Uniform()
    ) -> None:
        self.size = whole_number(ranks, "ranks", 1)
        self.timeout = timeout  # seconds for a cell or program that names no other
        self._network = network
        self.restart()
        print(NO_MPI.format(f"these {self.size}"))
        if (shell := get_ipython()) is not None:
            shell.register_magics(EngineMagics(shell, self))

    def __repr__(self) -> str:
        return f"{self.size} simulated ranks; a cell may take {self.timeout:g} s"

    def run(self, program: Callable[..., Any], ranks: int | None = None, **given: Any) -> Run:
        """Run `program(comm, **given)` on the first `ranks`, or on all, as `Engines.run` does."""
        usual = {"network": self._network, "timeout": self.timeout}
        return simulate(program, first_ranks(ranks, self.size, "ranks"), **(usual | given))

    def cell(
        self,
        code: str,
        ranks: Iterable[int] | None = None,
        *,
        timeout: float | None = None,
        name: str = "cell [ ]",
    ) -> None:
        """Run a cell's code on some ranks or all, and show what they print."""
        shell: Any = get_ipython()
        if shell is not None:
            code = shell.transform_cell(code)
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        lines = ast.parse(code, name)
        last = lines.body.pop() if lines.body and isinstance(lines.body[-1], ast.Expr) else None
        chosen = set(range(self.size) if ranks is None else ranks)
        if missing := chosen - set(range(self.size)):
            raise ValueError(
                f"there are {self.size} ranks, and none has the number {min(missing)}"
            )
        kept = [RankOutput() for _ in range(self.size)]

        def program(comm: Comm) -> None:
            if comm.rank not in chosen:
                return
            names = self._names[comm.rank]
            names["comm"] = comm
            exec(compile(lines, name, "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), name, "eval"), names)
                if value is not None:
                    print(repr(value))

        try:
            with redirect_stdout(RankText(kept)):
                self.run(program, timeout=self.timeout if timeout is None else timeout)
        finally:
            for rank, output in enumerate(kept):
                output.publish(rank)

    def push(self, **values: Any) -> None:
        """Make the values known on every rank, under these names."""
        for names in self._names:
            names.update(copy.deepcopy(values))

    def pull(self, expression: str) -> list[Any]:
        """The value of an expression on every rank."""
        return [copy.deepcopy(eval(expression, names)) for names in self._names]

    @property
    def client(self) -> NoReturn:
        """Simulated ranks are no processes, so ipyparallel cannot reach them."""
        raise DiagnosedError(f"This needs engines that are processes: {HOW.format('class')}")

    def restart(self) -> None:
        """Forget what cells have defined: the ranks know the course's names only."""
        self._names: list[dict[str, Any]] = [dict(NAMES) for _ in range(self.size)]

    def stop(self) -> None:
        """There is no process to end."""

    close = stop
