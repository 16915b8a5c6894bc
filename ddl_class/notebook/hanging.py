"""The `simulate` of notebooks: of ranks that hang it shows first, moving, where they wait."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any

from ddl_class import ranks as strict_ranks
from ddl_runtime.diagnosis.deadlock import Deadlock
from ddl_teach import Run

MOST = 2000  # spans that are shown without being asked for


@wraps(strict_ranks.simulate)
def simulate(program: Callable[..., Any], ranks: int = 65_536, **given: Any) -> Run:  # noqa: D103
    try:
        return strict_ranks.simulate(program, ranks, **given)
    except Deadlock as error:
        with suppress(Exception):  # too much to watch, or no way to show it: the error says it all
            _show(error)
        raise


def _show(error: Deadlock) -> None:
    from ddl_class.engines.outputs import in_notebook

    if error.run is None or not in_notebook():
        return
    from ddl_class.exercises.predictions import show
    from ddl_class.notebook.animation import MOST_RANKS, animate
    from ddl_class.plots.player import MovingPicture

    spans = sum(map(len, error.run.timeline.spans))
    lost = not spans and any(own.messages_sent for own in error.run.ledger)  # trace=False
    if error.run.ranks <= MOST_RANKS and spans <= MOST and not lost:
        film = replace(animate(error).film, story="")  # the error itself is shown below
        show(MovingPicture(film, from_end=True))
