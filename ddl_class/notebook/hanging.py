"""The `simulate` of notebooks: of ranks that hang it shows first how far they came, moving."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from ddl_class import ranks as strict_ranks
from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_teach import Run


@wraps(strict_ranks.simulate)
def simulate(program: Callable[..., Any], ranks: int = 65_536, **given: Any) -> Run:  # noqa: D103
    try:
        return strict_ranks.simulate(program, ranks, **given)
    except Deadlock as error:
        from ddl_class.engines.outputs import watched

        if watched() and given.get("trace", True) and error.run is not None:
            from ddl_class.exercises.predictions import show
            from ddl_class.notebook.animation import animate
            from ddl_class.plots.player import MovingPicture

            with suppress(ValueError):  # too many ranks or messages to watch
                film = replace(animate(error).film, story="")  # the error itself is shown below
                show(MovingPicture(film))
        raise
