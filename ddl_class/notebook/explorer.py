"""The explorer: move latency, bandwidth, ranks and size, and see which all-reduce wins.

    explore()                                   five sliders and the picture of their point
    explore(latency=20e-6, bandwidth=5e9)       begin with what was measured
    explore(["ring", "recursive_doubling"])     only these two compete

Every slider is logarithmic and goes in steps that carry their unit; the arrow keys move it. The
picture is an ordinary output below the sliders, so it stays where there are no sliders: in a
notebook read without its kernel, and in a page or a PDF made from it.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import ipywidgets
import numpy as np
from IPython.display import HTML, DisplayHandle, display

from ddl_class.plots.frame import need
from ddl_class.plots.svg import Drawing
from ddl_class.plots.winners import plot_winners
from ddl_runtime.pictures.words import rate_text, size_text, time_text
from ddl_teach.theory.collectives import ALGORITHMS, formula
from ddl_teach.theory.crossover import winner_map
from ddl_teach.theory.machine import Link

NAMES = Path(__file__).with_name("slider_names.js")
LATENCIES = [digit * 10.0**power for power in range(-7, -2) for digit in (1, 2, 5)]
BANDWIDTHS = [digit * 10.0**power for power in range(7, 12) for digit in (1, 2, 5)]
ADDING = [*(digit * 10.0**power for power in (9, 10, 11) for digit in (1, 2, 5)), math.inf]
RANKS = sorted([2, 3, 5, 7, *(2**k for k in range(2, 17)), *(3 * 2**k for k in range(1, 15))])
SIZES = [2.0**k for k in range(5, 31)]
BETWEEN = [2.0 ** (k + 0.5) for k in range(5, 30)]  # sizes of the map that the slider skips


class Explorer:
    """Sliders for the costs and the point, where these algorithms compete; they begin here.

    Seconds, bytes, bytes per second; `adding` is how many bytes a second a rank adds to others:
    endless, as in the simplest formulas, unless given. `picture()` is that of the sliders' point.
    """

    def __init__(
        self, algorithms: Sequence[str] = tuple(ALGORITHMS), *, latency: float = 1e-6,
        bandwidth: float = 10e9, ranks: int = 16, nbytes: float = 2**16, adding: float = math.inf,
    ) -> None:  # fmt: skip
        words = f"{ranks} ranks and {nbytes} bytes take no time, whatever the algorithm: begin "
        need(ranks >= 2 and nbytes > 0, f"{words}with at least 2 ranks and 1 byte")
        self._formulas = {name: formula(name) for name in algorithms}
        self.sliders = {
            "latency": _slider("latency", LATENCIES, latency, time_text),
            "bandwidth": _slider("bandwidth", BANDWIDTHS, bandwidth, rate_text),
            "adding": _slider("adding", ADDING, adding, _adding_text),
            "ranks": _slider("ranks", RANKS, ranks, "{:,}".format),
            "nbytes": _slider("vector", SIZES, float(nbytes), size_text),
        }
        self._shown = DisplayHandle()
        for slider in self.sliders.values():
            slider.observe(lambda _: self._shown.update(self.picture()), "value")

    def picture(self) -> Drawing:
        """The map of the fastest algorithms for the sliders' costs, and the times at the point
        that the sliders choose."""
        at = {name: slider.value for name, slider in self.sliders.items()}
        ranks = [count for _, count in self.sliders["ranks"].options]
        nbytes = np.unique([*BETWEEN, *(size for _, size in self.sliders["nbytes"].options)])
        link = Link(at["latency"], 1 / at["bandwidth"], 1 / at["adding"])
        times = {name: time(at["ranks"], nbytes, link) for name, time in self._formulas.items()}
        return plot_winners(
            winner_map(ranks, nbytes, link, self._formulas),
            ranks,
            nbytes,
            times,
            (at["ranks"], at["nbytes"]),
            costs=f"latency {time_text(at['latency'])}, {rate_text(at['bandwidth'])}, "
            f"adding {_adding_text(at['adding'])}",
        )

    def _ipython_display_(self) -> None:
        network, work = (
            ipywidgets.VBox([self.sliders[name] for name in names])
            for names in (("latency", "bandwidth", "adding"), ("ranks", "nbytes"))
        )
        display(ipywidgets.HBox([network, work], layout={"flex_flow": "row wrap"}))
        name = f"names-{uuid4().hex[:12]}"
        script = NAMES.read_text(encoding="utf-8")
        call = f'({script})(document.getElementById("{name}"))'
        display(HTML(f'<div id="{name}"></div><script>{call}</script>'))
        self._shown.display(self.picture())


explore = Explorer


def _slider(
    name: str, steps: Sequence[float], begin: float, text: Callable[[float], str]
) -> ipywidgets.SelectionSlider:
    """A slider over these steps and the value it begins with, each written with its unit."""
    options = sorted({*steps, begin})
    return ipywidgets.SelectionSlider(
        description=name,
        options=[(text(step), step) for step in options],
        value=begin,
        layout={"width": "26em"},
        style={"description_width": "6em"},
    )


def _adding_text(rate: float) -> str:
    return "for free" if rate == math.inf else f"at {rate_text(rate)}"
