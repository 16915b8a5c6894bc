"""A search while it runs and when it is over: each trial a line, each worker a row.

Drawn as text, because it is drawn again and again while workers want the processors. What to look
at: how many grey lines end on the left, and how little of the right is theirs; the white before a
rung is what waiting for all costs.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from ddl_class.plots.frame import counted
from ddl_class.plots.svg import Drawing, Frame, Scale, linear, logarithmic
from ddl_runtime.pictures.style import Look, ink_on
from ddl_runtime.pictures.words import time_text, time_unit
from ddl_teach.search.report import Record

DECISIONS: Mapping[str, tuple[str, str]] = {
    "stopped": ("#b8b8b8", "stopped, or behind at the end"),
    "interrupted": ("#aa4499", "interrupted"),
    "waiting": ("#e8c547", "done, not yet decided"),
    "promoted": ("#56b4e9", "goes on"),
    "running": ("#332288", "running"),
    "crashed": ("#000000", "crashed"),
    "best": ("#d55e00", "best"),
}
"""The colour of each decision and what it says; later ones are drawn above."""
OVER = ("running", "interrupted")  # what has no end yet, or never will

WIDTH, HEIGHT = 980, 460
TOP, BOTTOM = 152, 408  # of both panels
LINES, ROWS = (62, 470), (556, 962)  # from where to where they reach
LOSSES, WORKERS = Frame(*LINES, TOP, BOTTOM), Frame(*ROWS, TOP, BOTTOM)
FAR = 2.0  # times the median: losses above lie on the edge
MOST_NAMED = 16  # workers whose row is named
DIGIT = 7.0  # pixels that a digit is wide


def plot_search(
    records: Sequence[Record], *, planned: int | None = None, now: float | None = None
) -> Drawing:
    """Draw what was done until `now`, in seconds, or until the last event; `planned` is how many
    steps it will be in all."""
    latest = max((max(job.start, job.end or 0.0) for job in records), default=0.0)
    now = latest if now is None else max(now, latest)
    trials: dict[int, list[Record]] = {}
    for record in records:
        trials.setdefault(record.trial, []).append(record)
    best, takeaway = leader(records), finding(records)
    spent = progress(records, now, planned)
    drawing = Drawing(WIDTH, HEIGHT, f"{takeaway}. {spent}.")
    drawing.text(14, 24, takeaway, font_size=16, font_weight="bold")
    if planned:
        part = _steps(records) / planned
        drawing.rect(14, 40, 300, 16, fill="#eeeeee", stroke="#999999", rx=3)
        drawing.rect(14, 40, 300 * min(part, 1.0), 16, fill="#4477aa", rx=3)
        drawing.text(324, 53, f"{part:.0%}", font_weight="bold")
    drawing.text(378 if planned else 14, 53, spent)
    if best is not None:
        settings = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in best.settings.items()
        )
        drawing.text(14, 80, f"Trial {best.trial}: {settings}")
    x, there = 14.0, {record.decision for record in records}
    for name, (colour, label) in DECISIONS.items():
        if name in there:
            drawing.rect(x, 96, 14, 14, fill=colour)
            drawing.text(x + 20, 108, label)
            x += 44 + DIGIT * len(label)
    _draw_losses(drawing, trials, None if best is None else best.trial)
    _draw_workers(drawing, records, now)
    return drawing


def leader(records: Sequence[Record]) -> Record | None:
    """The best, and while none is called so, the one with the lowest loss so far."""
    done = [record for record in records if record.loss is not None]
    return min(done, key=lambda job: (job.decision != "best", job.loss), default=None)


def finding(records: Sequence[Record]) -> str:
    """A line that names the leading trial, and says what became of the others."""
    best, last = leader(records), {record.trial: record for record in records}
    if best is None:
        return f"{counted(len(last), 'trial')} begun, none done yet"
    longest = max(record.rung for record in records)
    early = sum(job.decision == "stopped" and job.rung < longest for job in last.values())
    crashed = sum(record.decision == "crashed" for record in last.values())
    fates = {"stopped early": early, "crashed": crashed}
    others = ", ".join(f"{number} {fate}" for fate, number in fates.items() if number)
    verb = "is the best" if best.decision == "best" else "leads"
    of = f"of {counted(len(last), 'trial')}{': ' if others else ''}{others}"
    return f"Trial {best.trial} {verb} with a loss of {best.loss:.3g}, {of}"


def progress(records: Sequence[Record], now: float, planned: int | None = None) -> str:
    """How far it is, and how long it will go on if it goes on so."""
    running, steps = sum(record.decision == "running" for record in records), _steps(records)
    phrases = [f"{counted(len(records) - running, 'job')} done in {time_text(now)}"]
    if running:
        phrases.append(f"{running} running")
    phrases.append(f"{steps:,} of {planned:,} steps" if planned else counted(steps, "step"))
    if planned and running and steps:
        phrases.append(f"about {time_text(now * max(planned - steps, 0) / steps)} left")
    return ", ".join(phrases)


def _steps(records: Sequence[Record]) -> int:
    return sum(record.steps for record in records if record.loss is not None)


def _draw_losses(
    drawing: Drawing, trials: Mapping[int, Sequence[Record]], best: int | None
) -> None:
    """Every trial as a line; where none has more than one job, as a point at its number."""
    several = any(len(jobs) > 1 for jobs in trials.values())
    lines = {}
    for trial, jobs in trials.items():
        over = [record for record in jobs if record.decision not in OVER]
        steps = accumulate(record.steps for record in over)
        losses = [np.inf if record.loss is None else record.loss for record in over]
        lines[trial] = [*zip(steps if several else [trial], losses, strict=False)]
    points = np.array([point for line in lines.values() for point in line]).reshape(-1, 2)
    drawing.text(LOSSES.left, TOP - 12, "loss", text_anchor="end")
    below = "steps of the trial" if several else "trial"
    if not np.isfinite(points[:, 1]).any():
        LOSSES.draw(drawing, below)
        return
    x, marks = _across(points[:, 0], several)
    LOSSES.draw(drawing, below, [(x(mark), f"{mark:,.0f}") for mark in marks])
    y = _upwards(drawing, points[np.isfinite(points[:, 1]), 1])
    order = [*DECISIONS]
    for trial in sorted(lines, key=lambda trial: order.index(trials[trial][-1].decision)):
        places = [(x(at), y(loss)) for at, loss in lines[trial]]
        decision = trials[trial][-1].decision
        colour, _ = DECISIONS[decision]
        width, radius = (3.2, 4.5) if decision == "best" else (1.4, 2.4)
        drawing.line(places, stroke=colour, stroke_width=width)
        for place in places:
            drawing.circle(*place, radius, fill=colour)
        if decision == "crashed":
            _cross(drawing, *places[-1], 5.0)
    if best is not None:
        at, loss = min(lines[best], key=lambda point: point[1])
        left = x(at) > sum(LINES) / 2
        look: Look = {"stroke": "white", "stroke_width": 4, "paint_order": "stroke"}
        look |= {"font_weight": "bold", "text_anchor": "end" if left else "start"}
        drawing.text(x(at) + (-9 if left else 9), y(loss) + 17, f"trial {best}", **look)


def _across(steps: np.ndarray, several: bool) -> tuple[Scale, np.ndarray]:
    """The axis of steps, with a mark for each rung where they are few; or that of trials."""
    marks, most = np.unique(steps), max(steps.max(), 1.0)
    if not several or len(marks) > 8:
        return linear(0, most, *LINES), _round_numbers(most)
    if most >= 6 * marks[0]:
        return logarithmic(marks[0] / 1.3, most * 1.15, *LINES), marks
    return linear(0, most * 1.06, *LINES), marks


def _upwards(drawing: Drawing, losses: np.ndarray) -> Scale:
    """The axis of losses; what is far above the others lies on its edge."""
    least, most = float(losses.min()), float(losses.max())
    if least > 0:
        most = max(min(most, FAR * float(np.median(losses))), 1.1 * least)
        y = logarithmic(least, most, BOTTOM - 28, TOP + 6)
        powers = 10.0 ** np.floor(np.log10(least)) * 10.0 ** np.arange(6)
        marks = np.outer(powers, (1, 2, 3, 5, 7)).ravel()
        marks = marks[(marks >= least) & (marks <= most)]
    else:
        low = min(least, 0.0)
        y = linear(low, max(most, low + 1e-9), BOTTOM - 28, TOP + 6)
        marks = low + _round_numbers(max(most - low, 1e-9))
    shown = marks if len(marks) > 1 else (least, most)
    LOSSES.mark_left(drawing, [(y(mark), f"{mark:.3g}") for mark in shown], grid=True)
    return lambda loss: max(y(loss), TOP + 6.0)


def _draw_workers(drawing: Drawing, records: Sequence[Record], now: float) -> None:
    """Every worker as a row of boxes, with the trial's number where there is room."""
    workers = sorted({record.worker for record in records})
    now = now or 1.0  # second: an axis needs a length
    factor, unit = time_unit(now)
    x, high = linear(0, now, *ROWS), (BOTTOM - TOP - 4) / max(len(workers), 1)
    marks = [(x(t / factor), f"{t:g}") for t in _round_numbers(now * factor)]
    WORKERS.draw(drawing, f"time ({unit})", marks)
    drawing.text(WORKERS.left, TOP - 12, "worker", text_anchor="end")
    middles = {worker: TOP + 4 + (row + 0.5) * high for row, worker in enumerate(workers)}
    named = workers[:: 1 + len(workers) // MOST_NAMED]
    WORKERS.mark_left(drawing, [(middles[worker], f"{worker}") for worker in named])
    tall, edge = min(0.82 * high, 26.0), {"stroke": "white", "stroke_width": 0.8}
    for record in records:
        begin, end = x(record.start), x(now if record.end is None else record.end)
        middle, (colour, _) = middles[record.worker], DECISIONS[record.decision]
        wide, words = max(end - begin, 0.6), f"{record.trial}"
        drawing.rect(begin, middle - tall / 2, wide, tall, fill=colour, **edge)
        if wide > DIGIT * len(words) + 3 and tall > 11:
            look: Look = {"fill": ink_on(colour), "font_size": 11, "text_anchor": "middle"}
            drawing.text(begin + wide / 2, middle + 4, words, **look)
        if record.decision == "crashed":
            _cross(drawing, end, middle, min(5.0, tall / 2))


def _round_numbers(most: float) -> np.ndarray:
    """Round numbers from 0 to `most`, in four to ten steps of 1, 2 or 5."""
    decade = 10.0 ** np.floor(np.log10(most))
    step = next(step for step in (decade / 1, decade / 2, decade / 5) if most / step >= 4)
    return np.arange(0, most * (1 + 1e-9), step)


def _cross(drawing: Drawing, x: float, y: float, size: float) -> None:
    for up in (size, -size):
        drawing.line([(x - size, y - up), (x + size, y + up)], stroke="black", stroke_width=2.4)
