"""How notebooks, checks, animations and rehearsals of labs run programs: on strict ranks.

What works by luck on other ranks is an error here (`ddl_runtime.core.watch`). This is the one
place that says so; `strict=False` is the word that switches it off, where time is measured or
ranks are many. `Engines.run` and the cells of `%%px` are strict as well. Virtual time stays what
it is, except that a send which waits for its receive also takes that time.
"""

from collections.abc import Callable
from functools import partial

import ddl_teach
from ddl_teach import Run


def _strict(function: Callable[..., Run]) -> Callable[..., Run]:
    strict = partial(function, strict=True)
    strict.__doc__ = function.__doc__
    return strict


simulate = _strict(ddl_teach.simulate)
launch = _strict(ddl_teach.launch)
