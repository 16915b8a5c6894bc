"""One look for the whole course.

A colour means one thing. Ranks have colours of their own (Paul Tol's "muted" scheme), and so have
algorithms (Tol's "bright"). What a rank does is coal, steel, fire or ash: no rank looks like that.
Colour-blind readers can tell any two of a scheme apart, and a rank and what it does. No picture is
drawn through pyplot: nothing global changes, nothing must be closed.
"""

import base64
import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

Points = tuple[Sequence[float], Sequence[float]]  # where they lie along the two axes
Look = dict[str, Any]  # how something is drawn: keywords of matplotlib
INK, WRONG = "#333333", "#cc0000"

# Rank 0 is indigo, rank 1 light blue, and so on; `rank_colour` goes on beyond.
RANK_COLOURS = "#332288 #88ccee #117733 #cc6677 #ddcc77 #aa4499 #44aa99 #882255 #999933".split()
# The kinds of spans. Where a rank does several at once, the first of them in this order is drawn.
KIND_COLOURS: Mapping[str, str] = {
    "work": "#2a2c30",
    "reduce": "#869cb2",
    "send": "#e65400",
    "recv": "#ffb726",
    "barrier": "#d3d8de",
    "span": "#f3eee4",
}
KIND_LABELS: Mapping[str, str] = {
    "work": "work",
    "reduce": "reduce",
    "send": "send",
    "recv": "receive, or wait for it",
    "barrier": "wait in a barrier",
    "span": "named span",
}

ALGORITHM_COLOURS: Mapping[str, str] = {
    "ring": "#4477aa",
    "recursive_doubling": "#ee6677",
    "rabenseifner": "#228833",
    "tree": "#ccbb44",
    "linear": "#aa3377",
    "hierarchical": "#66ccee",
    "native": "#555555",
}

STYLE: Mapping[Any, Any] = {
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 10.0,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 6.0,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
}

# Stands above every function that draws; what others draw afterwards looks as before.
in_style = matplotlib.rc_context({**STYLE})

PIXELS_PER_INCH = 100
SHARPNESS = 2  # pixels of a picture for each pixel on the page, for screens with small ones


class Picture(Figure):
    """A figure that shows itself in a notebook, once, with a text for those who cannot see it."""

    alt: str = ""

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=SHARPNESS * PIXELS_PER_INCH)
        width, height = (round(inches * PIXELS_PER_INCH) for inches in self.get_size_inches())
        # JupyterLab gives an image of type image/png no alt text, whatever its metadata say.
        data = base64.b64encode(file.getvalue()).decode()
        shown = {"width": width, "height": height, "alt": self.alt}
        words = " ".join(f'{name}="{html.escape(str(value))}"' for name, value in shown.items())
        page = f'<img src="data:image/png;base64,{data}" {words}>'
        bundle = {"text/html": page, "image/png": data, "text/plain": self.alt}
        return bundle, {"image/png": shown}


@in_style
def new_axes(width: float = 9.0, height: float = 4.0) -> Axes:
    """Empty axes in a picture of their own, in the look of the course; sizes in inches."""
    return Picture(figsize=(width, height)).add_subplot()


def describe(figure: Figure, alt: str) -> None:
    """Give a figure its text for those who cannot see it; several parts add up."""
    if isinstance(figure, Picture):
        figure.alt = f"{figure.alt} {alt}".strip()


def figure_of(ax: Axes) -> Figure:
    """The whole figure in which axes stand."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # axes stay in their figure
    return figure


def rank_colour(rank: int) -> tuple[float, float, float]:
    """The colour of a rank, the same in every picture. Nine hues; each further nine ranks have the
    same hues lighter or darker, four times."""
    hue = to_rgb(RANK_COLOURS[rank % len(RANK_COLOURS)])
    strength, target = ((0.0, 0.0), (0.4, 1.0), (0.35, 0.0), (0.65, 1.0))[
        rank // len(RANK_COLOURS) % 4
    ]
    red, green, blue = (part + (target - part) * strength for part in hue)
    return red, green, blue


def ink_on(colour: ColorType) -> str:
    """White or black, whichever stands out more on this colour (WCAG 2.2, relative luminance)."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ (0.2126, 0.7152, 0.0722) < 0.179 else "black"


def algorithm_colour(name: str, position: int = 0) -> tuple[float, float, float]:
    """The colour of an algorithm; one that is not the course's own is coloured by `position`."""
    return to_rgb(ALGORITHM_COLOURS[name]) if name in ALGORITHM_COLOURS else rank_colour(position)
