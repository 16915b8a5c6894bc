"""The picture of a search: every trial is there, in the colour of what became of it."""

import math
import xml.etree.ElementTree as ElementTree
from collections import Counter
from types import SimpleNamespace

import pytest

from ddl_class.plots.search import DECISIONS, LINES, ROWS, plot_search

SVG = "{http://www.w3.org/2000/svg}"


def job(trial, rung, loss, decision, worker=0, start=0.0, end=1.0, steps=10):
    about = {"trial": trial, "rung": rung, "loss": loss, "decision": decision, "steps": steps}
    settings = {"rate": 0.12345, "hidden": 16}
    return SimpleNamespace(**about, settings=settings, worker=worker, start=start, end=end)


def halving(trials=60, workers=4):
    """Sixty trials, a third goes on, one crashes; one is running and one was interrupted."""
    jobs = [
        job(k, 0, 2.0 - k / 100, "promoted" if k >= 40 else "stopped", k % workers, k // workers,
            k // workers + 0.9)
        for k in range(trials - 2)
    ]  # fmt: skip
    jobs += [job(trials - 2, 0, None, "crashed", 1, 15.0, 15.1), job(59, 0, 1e9, "stopped", 2)]
    jobs += [job(k, 1, 1.0 - k / 100, "waiting", k % workers, 16.0, 18.0, 30) for k in (40, 41)]
    jobs += [job(42, 1, None, "running", 2, 16.0, None, 30)]
    return [*jobs, job(43, 1, None, "interrupted", 3, 16.0, 17.0, 30)]


def elements(drawing, tag):
    return ElementTree.fromstring(drawing.svg).iter(SVG + tag)


def words(drawing):
    return [element.text for element in elements(drawing, "text")]


def boxes(drawing, reach):
    """Colours of the boxes of one panel."""
    places = (box for box in elements(drawing, "rect") if box.get("x"))
    inside = [box for box in places if reach[0] <= float(box.get("x")) <= reach[1]]
    return [box.get("fill") for box in inside if float(box.get("y")) > 120]


def test_every_job_is_a_box_and_every_loss_a_point_in_the_colour_of_its_decision():
    jobs = halving()
    drawing = plot_search(jobs, planned=900)
    colours = {name: colour for name, (colour, _) in DECISIONS.items()}
    assert Counter(boxes(drawing, ROWS)) == Counter(colours[it.decision] for it in jobs)
    last = {it.trial: it.decision for it in jobs}
    points = [it for it in jobs if it.decision not in ("running", "interrupted")]
    dots = Counter(dot.get("fill") for dot in elements(drawing, "circle"))
    assert dots == Counter(colours[last[it.trial]] for it in points)
    heights = [float(dot.get("cy")) for dot in elements(drawing, "circle")]
    assert all(140 < height < 410 for height in heights)


def test_the_title_the_bar_and_the_words_say_how_it_stands():
    drawing = plot_search(halving(), planned=900, now=20.0)
    found = "Trial 41 leads with a loss of 0.59, of 60 trials: 41 stopped early, 1 crashed"
    # 59 first rungs of 10 steps, and two of 30.
    spent = "63 jobs done in 20 s, 1 running, 650 of 900 steps, about 7.69 s left"
    shown = words(drawing)
    assert {found, spent, "72%", "Trial 41: rate 0.123, hidden 16", "trial 41"} <= {*shown}
    assert drawing.alt == f"{found}. {spent}."
    assert {label for _, label in DECISIONS.values()} - {*shown} == {"best"}


def test_at_the_end_the_best_is_named_whoever_had_the_lowest_loss_before():
    jobs = [job(0, 0, 0.1, "stopped"), job(1, 0, 0.2, "promoted"), job(1, 1, 0.15, "best")]
    assert "Trial 1 is the best with a loss of 0.15, of 2 trials: 1 stopped early" in words(
        plot_search(jobs, planned=30)
    )


def test_a_running_job_grows_with_the_time():
    jobs = [job(0, 0, 1.0, "promoted"), job(0, 1, None, "running", 0, 1.0, None)]

    def share(now):
        wide = [float(box.get("width")) for box in elements(plot_search(jobs, now=now), "rect")
                if box.get("x") and box.get("stroke") == "white"]  # fmt: skip
        return wide[1] / sum(wide)

    assert math.isclose(share(2.0), 0.5)
    assert math.isclose(share(10.0), 0.9)


def test_where_all_trials_have_one_job_they_stand_side_by_side():
    jobs = [job(k, 0, 1.0 + k, "stopped") for k in range(5)]
    drawing = plot_search(jobs)
    places = [float(dot.get("cx")) for dot in elements(drawing, "circle")]
    assert len({*places}) == 5
    assert "trial" in words(drawing)


@pytest.mark.parametrize(
    "jobs",
    [[], [job(0, 0, None, "running", 0, 0.0, None)], [job(0, 0, None, "crashed")],
     [job(0, 0, -1.0, "best")], [job(0, 0, 0.0, "best")], [job(0, 0, 1e-300, "best")],
     [job(0, 0, 3.0, "stopped"), job(1, 0, 3.0, "best")]],
    ids=["nothing", "running", "crashed", "negative", "zero", "tiny", "equal"],
)  # fmt: skip
@pytest.mark.parametrize("planned", [None, 100])
def test_little_is_drawn_too(jobs, planned):
    drawing = plot_search(jobs, planned=planned)
    numbers = "".join(f"{one.attrib}" for one in ElementTree.fromstring(drawing.svg).iter())
    assert "nan" not in numbers
    assert "inf" not in numbers
    assert LINES[1] < ROWS[0]
