"""Pictures over time that fill from the left to the right: a step, memory, actors; simulated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import torch
from torch import nn

from ddl_class.plots.svg import Drawing
from ddl_measure.experiments.pipelines import PassSeconds, timed
from ddl_runtime.pictures.style import rank_colour
from ddl_runtime.pictures.words import size_text, time_text
from ddl_teach import Comm, Phantom, simulate
from ddl_teach.comm import Uniform
from ddl_teach.networks.data_parallel.averaging import average_gradients
from ddl_teach.networks.pipelines.gpipe import gpipe
from ddl_teach.networks.pipelines.one_f_one_b import one_f_one_b
from ddl_teach.serving.actors import learn
from ddl_teach.training.consistency.stale_synchronous import StaleSynchronous
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.paces import ByChance
from slides.figures.sketch import INK, PALE, QUIET, STRONG, WARM, Sketch

RANKS, LEFT, LONG = 4, 130, 1000  # ranks; where time begins, pixels of all of it
FAST, FREE = Uniform(1e-4, 1e9), Uniform(0.0, float("inf"))
LAYERS, WIDE, BACKWARD = 6, 300, 4e-3  # of a learner's network; seconds of its passes
KEPT = 2**30  # bytes of a micro-batch's activations
ANSWER, LEARN = 0.03, 0.02  # mean seconds of an answer, seconds of a step


def plain_step(comm: Comm) -> int:
    """A step of data parallelism: both passes, then an all-reduce for each array. Returns how
    many arrays there were."""
    network = nn.Sequential(*(nn.Linear(WIDE, WIDE) for _ in range(LAYERS)))
    arrays = list(network.parameters())
    for array in arrays:
        array.grad = torch.zeros_like(array)
    with comm.span("passes", kind="work"):
        comm.work(seconds=BACKWARD)
    average_gradients(comm, arrays)
    return len(arrays)


def step() -> Drawing:
    """The timeline of that step: what computes, and what waits for messages."""
    run = simulate(plain_step, RANKS, network=FAST)
    messages = 1 - BACKWARD / run.time
    sketch = Sketch(
        f"Passes take {time_text(BACKWARD)}, then {run.results[0]} all-reduces one after the "
        f"other; {messages:.0%} of {time_text(run.time)} are messages"
    )
    scale = LONG / run.time
    for rank in range(RANKS):
        y = 60 + 88 * rank
        sketch.rank(70, y + 34, rank, 30)
        for span in run.timeline.of(rank):
            computes = span.name == "passes"
            if computes or span.kind in {"send", "recv"}:
                sketch.drawing.rect(
                    LEFT + scale * span.start, y, scale * (span.end - span.start), 68,
                    fill=rank_colour(rank) if computes else "#f0c9b0", stroke="none",
                )  # fmt: skip
                if not computes and span.end > span.start:
                    ends = [(LEFT + scale * span.end, y), (LEFT + scale * span.end, y + 68)]
                    sketch.drawing.line(ends, stroke=WARM, stroke_width=1)
    middle = LEFT + scale * BACKWARD
    sketch.words((LEFT + middle) / 2, 30, "both passes", 24, bold=True, colour=STRONG)
    words = f"{run.results[0]} all-reduces, one for each array"
    sketch.words((middle + LEFT + LONG) / 2, 30, words, 24, bold=True, colour=WARM)
    _time(sketch, f"time: {time_text(run.time)} in all, {messages:.0%} of it messages; simulated")
    return sketch.drawing


def held() -> Drawing:
    """What stage 0 of a pipeline holds over the time of a step, by GPipe and by 1F1B."""
    curves, peaks, end = {}, {}, 0.0
    for schedule in (gpipe(RANKS, 8), one_f_one_b(RANKS, 8)):
        costs = PassSeconds(kept_bytes=KEPT)
        run = simulate(timed, RANKS, network=FREE, schedule=schedule, costs=costs)
        curves[schedule.name], peaks[schedule.name] = run.memory.curve(0), run.memory.peak(0)
        end = max(end, run.time)
    sketch = Sketch("Activations of stage 0 over a step: " + ", ".join(
        f"{name} at most {size_text(peak)}" for name, peak in peaks.items()
    ))  # fmt: skip
    scale, high = LONG / end, 370 / max(peaks.values())
    for (name, (times, sizes)), colour in zip(curves.items(), ("#4477aa", WARM), strict=True):
        outline, level = [(float(LEFT), 420.0)], 420.0
        for time, size in zip(times, sizes, strict=True):
            x, before = LEFT + scale * float(time), level
            level = 420 - high * float(size)
            outline += [(x, before), (x, level)]
        sketch.drawing.line(outline, fill=colour, fill_opacity=0.25, stroke=colour, stroke_width=5)
        words, inside = f"{name}: at most {size_text(peaks[name])}", name == "1F1B"
        x, y = (LEFT + LONG / 2, 350) if inside else (LEFT + LONG, 70)
        sketch.words(x, y, words, 27, "middle" if inside else "end", INK if inside else colour,
                     bold=True)  # fmt: skip
    for size in range(0, max(peaks.values()) + 1, 2 * KEPT):
        sketch.words(LEFT - 14, 420 - high * size, size_text(size), 20, "end", QUIET)
    _time(sketch, "time of a step of 4 stages and 8 micro-batches of 1 GiB; simulated")
    return sketch.drawing


def actors() -> Drawing:
    """Actors and a learner, with nothing ahead and with answers one step ahead."""
    policy = SimpleNamespace(rule=SGD(0.0), initial=partial(Phantom, 80_000))
    policy.room = policy.gradient = partial(Phantom, 8_000)
    policy.answers = lambda weights, ticket: Phantom(8_000)
    runs = {}
    for name, when in (("nothing ahead", Synchronous()), ("one step ahead", StaleSynchronous(1))):
        runs[name] = simulate(
            learn, RANKS, network=FAST, policy=policy, consistency=when, steps=5, per_step=3,
            answering=partial(_seconds, pace=ByChance(ANSWER)), training=LEARN,
        )  # fmt: skip
    ages = {name: max(run.results[0].report.staleness) for name, run in runs.items()}
    sketch = Sketch("; ".join(
        f"{name}: five steps take {time_text(run.time)}, answers up to {ages[name]} steps old"
        for name, run in runs.items()
    ))  # fmt: skip
    scale = LONG / max(run.time for run in runs.values())
    for place, (name, run) in enumerate(runs.items()):
        top = 235 * place
        title = f"{name}: {time_text(run.time)}, ages up to {ages[name]}"
        sketch.words(LEFT, top + 14, title, 23, "start", STRONG, True)
        for rank in range(RANKS):
            y = top + 36 + 48 * rank
            sketch.words(LEFT - 12, y + 20, "learner" if rank == 0 else f"actor {rank}", 19, "end")
            sketch.box(LEFT, y, scale * run.time, 40, fill=PALE)
            for start, stop in _busy(run.timeline.of(rank)):
                colour = WARM if rank == 0 else rank_colour(rank)
                sketch.box(LEFT + scale * start, y, scale * (stop - start), 40, fill=colour)
    _time(sketch, "time; pale: waits; simulated")
    return sketch.drawing


def _seconds(ticket: int, pace: ByChance) -> float:
    return pace(0, ticket)


def _busy(spans: Sequence[tuple]) -> list[tuple[float, float]]:
    return [(span[2], span[3]) for span in spans if span[1] == "work" and span[3] > span[2]]


def _time(sketch: Sketch, words: str) -> None:
    """Cover what is drawn over time until its time has come; then the axis, which always shows."""
    sketch.unveil(LEFT - 4, 40, LONG + 24, 424)
    sketch.arrow((LEFT, 432 + 34), (LEFT + LONG + 15, 432 + 34), INK, 2)
    sketch.words(LEFT, 487, words, 20, "start", QUIET)
