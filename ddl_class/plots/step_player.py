"""The steps of an all-reduce: all at once as comic strips do, and with buttons to play them.

A column is a rank, a box in it a chunk of its vector, and in the box each rank has its place and
its colour: a box is full when every rank's part is in it. Arcs above are messages to higher ranks,
arcs below to lower ones. Red boxes are wrong.

The player is a page of its own inside the notebook: it needs no kernel and no network. Where no
script runs, in print and in a PDF, the strip of all steps stands in its place, and a button shows
it to those who do not want to see things move. Readers whose system asks for less motion get steps
without any.
"""

import base64
import io
import json
import pathlib
from collections.abc import Iterator
from html import escape
from typing import Any
from uuid import uuid4

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from PIL import Image

from ddl_class.plots.steps import (
    DrawnStep,
    RecordedSteps,
    StepMessage,
    finding,
    in_words,
    size_range,
)
from ddl_runtime.pictures.style import INK, Look, Picture, describe, in_style, ink_on, rank_colour
from ddl_runtime.pictures.words import size_text

BOX = 0.14, 0.09  # inches: the height of a chunk, if there are few or many
ARCS = 2.6  # chunks: the room for arcs above the boxes, and the same below
SHARPNESS = 5  # pixels for the place of a rank in a box, and for the height of a box
GAP = 0.16  # between two boxes side by side, as a part of one
EMPTY, WRONG = (0.92, 0.92, 0.92), "#cc0000"


@in_style
def plot_steps(steps: RecordedSteps) -> Picture:
    """Draw every step as a panel."""
    columns = 4 if steps.ranks <= 5 else 3
    rows = -(-len(steps.steps) // columns)
    inches = 0.36 + BOX[steps.chunks > 8] * (steps.chunks + 2 * ARCS)  # of a panel
    size = 10.0, 0.45 + rows * inches
    picture = Picture(figsize=size, layout="none")  # type: ignore[arg-type]  # not in its types
    panels = picture.subplots(rows, columns, squeeze=False).ravel()
    room: Look = {"left": 0.03, "right": 0.99, "bottom": 0.0, "top": 1 - 0.7 / size[1]}
    picture.subplots_adjust(**room, wspace=0.06, hspace=0.36 / (inches - 0.36))
    for ax in panels:
        ax.set_axis_off()
    for number, (ax, step) in enumerate(zip(panels, steps.steps, strict=False)):
        sizes = size_range(step.messages) if number else ""
        ax.set_title(
            f"step {number}: {sizes}" if number else "before",
            fontsize=9,
            fontweight="normal",
            pad=2,
        )
        _draw_panel(ax, step)
    words = finding(steps)
    picture.text(0.01, 1 - 0.2 / size[1], words, fontsize=11.5, fontweight="bold", va="center")
    describe(picture, f"{words}. {' '.join(in_words(steps))}")
    return picture


def _draw_panel(ax: Axes, step: DrawnStep) -> None:
    ranks, chunks, _ = step.held.shape
    ax.set_xlim(-0.6, ranks - 0.4)
    ax.set_ylim(chunks + ARCS, -ARCS)
    _draw_boxes(ax, step.held)
    for message in step.messages:
        path = arc(message, ranks, chunks)
        look: Look = {"color": rank_colour(message.source), "linewidth": 1.4, "mutation_scale": 7}
        ax.add_patch(FancyArrowPatch(path=path, arrowstyle="-|>", shrinkA=0, shrinkB=0, **look))


def _draw_boxes(ax: Axes, held: np.ndarray) -> None:
    """Each contributor has its place in a box, so that the picture reads without colours too."""
    ranks, chunks, contributors = held.shape
    # An image instead of a shape for each place: of 16 ranks there are 4,096 in a panel.
    places = np.where(held[..., None] > 0, [rank_colour(k) for k in range(contributors)], EMPTY)
    wide, high = contributors * SHARPNESS, SHARPNESS
    image = np.ones((chunks, high + 1, ranks, wide + round(wide * GAP), 3))
    slots = np.repeat(places.transpose(1, 0, 2, 3), SHARPNESS, axis=2)
    image[:, :high, :, :wide] = slots[:, None]
    extent = (-0.5, ranks - 0.5, chunks, 0)
    flat = image.reshape(chunks * (high + 1), -1, 3)
    ax.imshow(flat, extent=extent, aspect="auto")
    finished, wrong = np.all(held == 1, axis=2), np.any((held > 1) | (held < 0), axis=2)
    box = image.shape[3], image.shape[1]
    _frame(ax, finished, wide / box[0], high / box[1], INK, 1.2 if chunks <= 8 else 0.6)
    _frame(ax, wrong, wide / box[0], high / box[1], WRONG, 2.2)
    for rank, chunk in np.argwhere(wrong):
        counts = held[rank, chunk]
        text = "?" if (counts < 0).any() else f"{counts.max()}×"
        halo = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        look: Look = {"color": WRONG, "fontsize": 6.5, "fontweight": "bold", "bbox": halo}
        ax.text(rank - GAP / 2, chunk + 0.42, text, ha="center", va="center", **look)


def _frame(
    ax: Axes, chosen: np.ndarray, width: float, height: float, edge: str, line: float
) -> None:
    """A frame around the chosen boxes of `chosen[rank, chunk]`."""
    boxes = []
    for rank, top in np.argwhere(chosen).tolist():
        left, right, bottom = rank - 0.5, rank - 0.5 + width, top + height
        boxes.append([(left, top), (right, top), (right, bottom), (left, bottom)])
    ax.add_collection(PolyCollection(boxes, facecolor="none", edgecolor=edge, linewidth=line))


def arc(message: StepMessage, ranks: int, chunks: int) -> Path:
    """From sender to receiver: above the boxes to higher ranks, below them to lower ones."""
    upwards = message.dest > message.source
    distance = abs(message.dest - message.source) / max(ranks - 1, 1)
    base = 0.0 if upwards else float(chunks)
    height = (0.8 + 3.6 * distance) * (-1 if upwards else 1)
    source, dest = message.source - GAP / 2, message.dest - GAP / 2
    points = [(source, base), ((source + dest) / 2, base + height), (dest, base)]
    return Path(points, [Path.MOVETO, Path.CURVE3, Path.CURVE3])


SCRIPT = pathlib.Path(__file__).with_suffix(".js")
DOTS_PER_INCH, MOST_DOTS = 120, 1.6e6  # of the strip, so that no page grows beyond 300 kB
COLOURS = 48  # a third of the file, and hardly a difference to be seen

PAGE = """
<div id="{name}" class="ddl-steps">
<style>
#{name} {{ max-width: 920px; color: #333333; background: white; padding: 4px }}
#{name} button, #{name} input {{ font-size: 14px; margin: 2px 4px 2px 0; padding: 3px 10px }}
#{name} input {{ width: 180px; vertical-align: middle }}
#{name} button[aria-disabled="true"] {{ color: #767676 }}
#{name} [data-part="words"] {{ min-height: 2.6em; margin: 4px 0 }}
@media print {{
  #{name} [data-part="player"] {{ display: none }}
  #{name} [data-part="strip"] {{ display: block !important }}
}}
</style>
<strong>{finding}</strong>
<div data-part="player" hidden role="group" aria-label="Steps of {algorithm}">
<button type="button" data-part="back" aria-label="one step back">◀</button>
<button type="button" data-part="play">▶ play</button>
<button type="button" data-part="forward" aria-label="one step forward">▶</button>
<input type="range" data-part="slider" min="0" max="{last}" value="0" aria-label="step">
<span data-part="counter"></span>
<div data-part="stage"></div>
<p data-part="words" aria-live="polite"></p>
<p><small>In each box, place and colour k are filled when rank k's part is in that chunk.
Black frame: finished. Orange: changed in this step. Red: wrong.</small></p>
<button type="button" data-part="all" aria-expanded="false">all steps at once</button>
</div>
<img data-part="strip" src="data:image/png;base64,{strip}"
style="width: 100%; height: auto" alt="{alt}">
<script>({script})(document.getElementById("{name}"), {data});</script>
</div>
"""


class StepPlayer:
    """Steps that a notebook plays; `steps` are the plain data, `strip` the picture of them all."""

    def __init__(self, steps: RecordedSteps) -> None:
        self.steps = steps

    @property
    def alt(self) -> str:
        """All steps in words."""
        return f"{finding(self.steps)}. {' '.join(in_words(self.steps))}"

    @property
    def strip(self) -> Picture:
        """All steps at once, a panel for each."""
        return plot_steps(self.steps)

    def page(self) -> str:
        """The player as a piece of a page, which loads nothing from elsewhere."""
        return self._repr_mimebundle_()["text/html"]

    def _page(self, strip: str) -> str:
        # "</" would end the script that the data stand in.
        data = json.dumps(player_data(self.steps), separators=(",", ":")).replace("</", "<\\/")
        return PAGE.format(
            name=f"steps-{uuid4().hex[:12]}",
            finding=escape(finding(self.steps)),
            algorithm=escape(self.steps.name),
            last=len(self.steps.steps) - 1,
            strip=strip,
            alt=escape(self.alt),
            script=_script(),
            data=data,
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        strip = _png(self.strip)
        return {"text/html": self._page(strip), "image/png": strip, "text/plain": self.alt}


def player_data(steps: RecordedSteps) -> dict[str, Any]:
    """What the script draws from: of each step only the boxes that it changed."""
    colours = [rank_colour(rank) for rank in range(steps.ranks)]
    return {
        "ranks": steps.ranks,
        "chunks": steps.chunks,
        "colours": [{"fill": to_hex(it), "ink": ink_on(it)} for it in colours],
        "words": in_words(steps),
        "messages": [
            [[message.source, message.dest, size_text(message.bytes)] for message in step.messages]
            for step in steps.steps
        ],
        "sizes": [[size_text(sent) for sent in row] for row in steps.sent],
        "changes": [list(changes) for changes in _changes(steps)],
    }


def _changes(steps: RecordedSteps) -> Iterator[Iterator[tuple[int, int, str]]]:
    before = np.full_like(steps.steps[0].held, -2)
    for step in steps.steps:
        changed = np.argwhere((step.held != before).any(axis=2)).tolist()
        yield ((rank, chunk, _counts(step.held[rank, chunk])) for rank, chunk in changed)
        before = step.held


def _counts(counts: np.ndarray) -> str:
    return "?" if (counts < 0).any() else ",".join(map(str, counts.tolist()))


def _png(picture: Picture) -> str:
    """The picture as a small file in base64."""
    drawn, file = io.BytesIO(), io.BytesIO()
    width, height = picture.get_size_inches()
    dots = min(DOTS_PER_INCH, (MOST_DOTS / width / height) ** 0.5)
    picture.savefig(drawn, format="png", dpi=dots)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(file, "png", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _script() -> str:
    """The player's script, without its comments."""
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    kept = (line.strip() for line in lines if not line.strip().startswith("//"))
    return "\n".join(kept).strip().removesuffix(";")
