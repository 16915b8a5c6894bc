"""The steps of a collective: as plain data, all at once as comic strips do, and with buttons.

A step lets each rank send one message and receive one. Of a chunk of a rank's vector is counted
how often each rank's chunk is in it: 1 everywhere when it is finished, 2 is the usual mistake, and
-1 if it is no sum of the vectors at all. In the picture a column is a rank, a box in it a chunk,
and in the box each rank has its place and its colour. Arcs above are messages to higher ranks,
arcs below to lower ones. Red boxes are wrong.

The player needs no kernel and no network. Where no script runs, in print and in a PDF, the strip
of all steps stands in its place; readers whose system asks for less motion get steps without any.
"""

import base64
import io
import json
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from PIL import Image

from ddl_class.plots.frame import Plane, counted
from ddl_runtime.pictures.style import INK, Look, Picture, describe, ink_on, rank_colour
from ddl_runtime.pictures.words import size_text, spoken

MOST_NAMED = 6  # messages named one by one in words
BOX = 0.14, 0.09  # inches: the height of a chunk, if there are few or many
ARCS = 2.6  # chunks: the room for arcs above the boxes, and the same below
SHARPNESS = 5  # pixels for the place of a rank in a box, and for the height of a box
GAP = 0.16  # between two boxes side by side, as a part of one
EMPTY, WRONG = (0.92, 0.92, 0.92), "#cc0000"

GOALS = {
    "allreduce": "every rank holds the whole sum",
    "reduce_scatter": "every rank holds its own chunk of the sum",
    "reduce": "rank 0 holds the whole sum",
}
"""What a collective should come to, in words."""


class StepMessage(NamedTuple):
    """One message of a step."""

    source: int
    dest: int
    bytes: int


@dataclass(frozen=True)
class DrawnStep:
    """Messages, and `held[rank, chunk, contributor]` after them."""

    messages: tuple[StepMessage, ...]
    held: np.ndarray


@dataclass(frozen=True)
class RecordedSteps:
    """All steps of one run, the first of them what was there before any message."""

    name: str
    steps: Sequence[DrawnStep]
    goal: str = "allreduce"  # one of GOALS

    @property
    def wanted(self) -> np.ndarray:
        """Which chunks of which rank must be finished in the end, as `wanted[rank, chunk]`."""
        rank, chunk = np.indices((self.ranks, self.chunks))
        if self.goal == "reduce_scatter":
            first, end = (of * self.chunks // self.ranks for of in (rank, rank + 1))
            return (first <= chunk) & (chunk < end)
        return rank >= 0 if self.goal == "allreduce" else rank == 0

    @property
    def ranks(self) -> int:
        return len(self.steps[0].held)

    @property
    def chunks(self) -> int:
        return int(self.steps[0].held.shape[1])

    @property
    def wrong(self) -> np.ndarray:
        """Rank and chunk of all that should be finished in the end, and are not."""
        return np.argwhere(self.wanted & (self.steps[-1].held != 1).any(axis=2))

    @property
    def off_by(self) -> int:
        """How many ranks after the right one every chunk of a reduce-scatter was finished, or
        0."""
        finished = (self.steps[-1].held == 1).all(axis=2)
        shifts = range(self.ranks if self.goal == "reduce_scatter" else 0)
        return next((s for s in shifts if finished[np.roll(self.wanted, -s, axis=0)].all()), 0)

    @property
    def sent(self) -> np.ndarray:
        """Bytes sent so far: a row for each step, a column for each rank."""
        sent = np.zeros((len(self.steps), self.ranks), np.int64)
        for row, step in zip(sent, self.steps, strict=True):
            for message in step.messages:
                row[message.source] += message.bytes
        return sent.cumsum(axis=0)


def finding(steps: RecordedSteps) -> str:
    """What a run came to, in one line: what it should and its price, or the first mistake."""
    held, name = steps.steps[-1].held, spoken(steps.name, first=True)
    wrong = steps.wrong
    if shift := steps.off_by:
        by = min(shift, steps.ranks - shift)
        return (
            f"{name} is wrong: off by {counted(by, 'chunk')}; rank 0 holds the chunk of the sum "
            f"that rank {shift} should hold"
        )
    if len(wrong):
        others = len(wrong) - 1
        more = f", and {counted(others, 'more chunk')} {'are' if others > 1 else 'is'} wrong"
        return f"{name} is wrong: {_mistake(held, *wrong[0])}{more if others else ''}"
    sent = steps.sent[-1]
    who = "each rank" if (sent == sent[0]).all() else "the busiest rank"
    after = f"after {counted(len(steps.steps) - 1, 'step')}"
    return f"{name}: {after} {GOALS[steps.goal]}; {who} sent {size_text(sent.max())}"


def _mistake(held: np.ndarray, rank: int, chunk: int) -> str:
    """What is wrong with a chunk of a rank."""
    where, counts = f"on rank {rank}, chunk {chunk}", held[rank, chunk]
    if (counts < 0).any():
        return f"{where} is no sum of the vectors"
    if (counts > 1).any():
        twice = int(np.argmax(counts > 1))
        times = "twice" if counts[twice] == 2 else f"{counts[twice]} times"
        return f"{where} counts rank {twice} {times}"
    missing = np.flatnonzero(counts == 0)
    return f"{where} lacks rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"


def in_words(steps: RecordedSteps) -> list[str]:
    """A sentence or two for each step, for those who cannot see it."""
    vector = counted(steps.chunks, "chunk")
    words = [f"Before: each of {steps.ranks} ranks holds its own vector of {vector}."]
    for number, step in enumerate(steps.steps[1:], 1):
        pairs = [f"rank {message.source} to rank {message.dest}" for message in step.messages]
        sent = ", ".join([size_range(step.messages), *pairs[:MOST_NAMED]])
        if len(pairs) > MOST_NAMED:
            sent += f" and {len(pairs) - MOST_NAMED} more"
        words.append(f"Step {number} of {len(steps.steps) - 1}: {sent}. {_held_text(step.held)}")
    return words


def size_range(messages: Sequence[StepMessage]) -> str:
    """The bytes of a step's messages, as in "3 messages of 8 B each"."""
    sizes = [size_text(size) for size in sorted({message.bytes for message in messages})]
    each = " each" if len(messages) > 1 else ""
    return f"{counted(len(messages), 'message')} of " + (
        f"{sizes[0]}{each}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    )


def _held_text(held: np.ndarray) -> str:
    finished = (held == 1).all(axis=2).sum()
    text = f"{finished} of {held.shape[0] * held.shape[1]} chunks are finished."
    wrong = np.argwhere(((held > 1) | (held < 0)).any(axis=2))
    if len(wrong):
        more = f", and {len(wrong) - 1} more are wrong" if len(wrong) > 1 else ""
        text += f" But {_mistake(held, *wrong[0])}{more}."
    return text


def plot_steps(steps: RecordedSteps) -> Picture:
    """Draw every step of a collective as a panel."""
    columns = 4 if steps.ranks <= 5 else 3
    rows = -(-len(steps.steps) // columns)
    inches = 0.36 + BOX[steps.chunks > 8] * (steps.chunks + 2 * ARCS)  # of a panel
    size = 10.0, 0.45 + rows * inches
    picture = Picture(figsize=size, layout="none")  # type: ignore[arg-type]  # not in its types
    axes = picture.subplots(rows, columns, squeeze=False, subplot_kw={"axes_class": Plane})
    room: Look = {"left": 0.03, "right": 0.99, "bottom": 0.0, "top": 1 - 0.7 / size[1]}
    picture.subplots_adjust(**room, wspace=0.06, hspace=0.36 / (inches - 0.36))
    for ax in axes.flat:
        ax.set_axis_off()
    for number, (ax, step) in enumerate(zip(axes.flat, steps.steps, strict=False)):
        words = f"step {number}: {size_range(step.messages)}" if number else "before"
        ax.set_title(words, fontsize=9, fontweight="normal", pad=2)
        _draw_panel(ax, step)
    words = finding(steps)
    picture.text(0.01, 1 - 0.2 / size[1], words, fontsize=11.5, fontweight="bold", va="center")
    describe(picture, f"{words}. {' '.join(in_words(steps))}")
    return picture


def _draw_panel(ax: Plane, step: DrawnStep) -> None:
    ranks, chunks, _ = step.held.shape
    ax.set_xlim(-0.6, ranks - 0.4)
    ax.set_ylim(chunks + ARCS, -ARCS)
    _draw_boxes(ax, step.held)
    for message in step.messages:
        path = arc(message, ranks, chunks)
        look: Look = {"color": rank_colour(message.source), "linewidth": 1.4, "mutation_scale": 7}
        ax.add_patch(FancyArrowPatch(path=path, arrowstyle="-|>", shrinkA=0, shrinkB=0, **look))


def _draw_boxes(ax: Plane, held: np.ndarray) -> None:
    """Each contributor has its place in a box, so that the picture reads without colours too."""
    ranks, chunks, contributors = held.shape
    # An image instead of a shape for each place: of 16 ranks there are 4,096 in a panel.
    places = np.where(held[..., None] > 0, [rank_colour(k) for k in range(contributors)], EMPTY)
    wide, high = contributors * SHARPNESS, SHARPNESS
    image = np.ones((chunks, high + 1, ranks, wide + round(wide * GAP), 3))
    slots = np.repeat(places.transpose(1, 0, 2, 3), SHARPNESS, axis=2)
    image[:, :high, :, :wide] = slots[:, None]
    flat = image.reshape(chunks * (high + 1), -1, 3)
    ax.imshow(flat, extent=(-0.5, ranks - 0.5, chunks, 0), aspect="auto")
    finished, wrong = np.all(held == 1, axis=2), np.any((held > 1) | (held < 0), axis=2)
    width, height = wide / image.shape[3], high / image.shape[1]
    for chosen, edge, line in ((finished, INK, 1.2 if chunks <= 8 else 0.6), (wrong, WRONG, 2.2)):
        column, top = np.argwhere(chosen).T
        frame: Look = {"facecolors": "none", "edgecolors": edge, "linewidths": line}
        place = top + height / 2, column - 0.5, column - 0.5 + width
        ax.draw_boxes(*place, height / 2, **frame)
    for rank, chunk in np.argwhere(wrong):
        counts = held[rank, chunk]
        text = "?" if (counts < 0).any() else f"{counts.max()}×"
        halo = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        look: Look = {"color": WRONG, "fontsize": 6.5, "fontweight": "bold", "bbox": halo}
        ax.write(rank - GAP / 2, chunk + 0.42, text, **look)


def arc(message: StepMessage, ranks: int, chunks: int) -> Path:
    """The path of an arc from sender to receiver: above the boxes to higher ranks, below to lower
    ones."""
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
    """Steps that a notebook plays, above the strip of them all."""

    def __init__(self, steps: RecordedSteps) -> None:
        self.steps = steps

    @property
    def alt(self) -> str:
        """All steps in words."""
        return f"{finding(self.steps)}. {' '.join(in_words(self.steps))}"

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
        strip = _png(plot_steps(self.steps))
        return {"text/html": self._page(strip), "image/png": strip, "text/plain": self.alt}


def player_data(steps: RecordedSteps) -> dict[str, Any]:
    """What the script draws from: of each step only the boxes that it changed."""
    colours = [rank_colour(rank) for rank in range(steps.ranks)]
    return {
        "ranks": steps.ranks,
        "chunks": steps.chunks,
        "colours": [{"fill": to_hex(colour), "ink": ink_on(colour)} for colour in colours],
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
