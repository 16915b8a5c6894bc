"""The steps of an all-reduce with buttons: play, one step back, one forward.

A page of its own inside the notebook: it needs no kernel and no network. Where no script runs, in
print and in a PDF, the strip of all steps stands in its place, and a button shows it to those who
do not want to see things move. Readers whose system asks for less motion get steps without any.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from matplotlib.colors import to_hex
from PIL import Image

from ddl_class.plots.step_panels import plot_steps
from ddl_class.plots.steps import RecordedSteps, finding, in_words
from ddl_runtime.pictures.style import Picture, ink_on, rank_colour, size_text

SCRIPT = Path(__file__).with_suffix(".js")
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
    return {
        "ranks": steps.ranks,
        "chunks": steps.chunks,
        "colours": [_colour(rank) for rank in range(steps.ranks)],
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


def _colour(rank: int) -> dict[str, str]:
    colour = rank_colour(rank)
    return {"fill": to_hex(colour), "ink": ink_on(colour)}


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
