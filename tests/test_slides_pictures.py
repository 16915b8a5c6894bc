"""Numbers in drawn pictures of the decks are those of formulas; pictures over time fill once."""

import re
from pathlib import Path

import numpy as np
import pytest

from ddl_teach.networks.pipelines.instructions import Backward, Forward
from ddl_teach.networks.pipelines.one_f_one_b import order
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link
from slides.chromium import find_chromium, opened
from slides.deck import decks, read
from slides.figures import (
    cluster,
    cluster_drawn,
    communication_drawn,
    failures_drawn,
    jobs_drawn,
    timelines,
    today_drawn,
    training_drawn,
)
from slides.figures.sketch import Sketch
from slides.page import page_of

DECK = """\
# One

<!-- Notes: first -->

---

# Two

{{ figure("timelines.held") }}

<!-- Notes: second -->
"""


def test_a_step_takes_its_passes_and_a_ring_for_each_array():
    link = Link.of(timelines.FAST)
    wide = timelines.WIDE
    rings = sum(formula("ring")(timelines.RANKS, 4 * n, link) for n in (wide * wide, wide))
    whole = timelines.BACKWARD + timelines.LAYERS * rings
    share = 1 - timelines.BACKWARD / whole
    alt = timelines.step().alt
    assert f"{2 * timelines.LAYERS} all-reduces" in alt
    assert f"{share:.0%} of {1e3 * whole:.1f} ms are messages" in alt


def test_stage_0_keeps_what_its_list_of_instructions_says():
    kept, most = 0, 0
    for instruction in order(0, timelines.RANKS, 8):
        kept += isinstance(instruction, Forward) - isinstance(instruction, Backward)
        most = max(most, kept)
    assert timelines.held().alt.endswith(f"GPipe at most 8 GiB, 1F1B at most {most} GiB")


def test_answers_are_never_older_than_their_bound():
    ages = re.findall(r"([\d.]+) ms, answers up to (\d) steps old", timelines.actors().alt)
    [(waits, none), (ahead, some)] = ages
    assert (none, some) == ("0", "1")
    assert float(ahead) < float(waits)


def test_headers_and_payload_are_a_whole_frame_and_notes_have_the_same_rate():
    alt = jobs_drawn.frame().alt
    [left] = re.findall(r"at most ([\d.]+) are left", alt)
    assert cluster.network_of_the_box().split(" and ")[1].removesuffix(" Mbit/s") in alt
    [deck] = [deck.read_text(encoding="utf-8") for deck in decks() if "cluster" in deck.stem]
    assert f"at most: {left}" in " ".join(deck.split())


def test_the_living_keep_their_order():
    assert jobs_drawn.shrunk().alt.endswith("0 becomes 0, 1 becomes 1, 3 becomes 2, 4 becomes 3")


def test_a_softmax_in_two_parts_is_that_of_all():
    scores = today_drawn.SCORES
    alt = today_drawn.softmax().alt
    assert alt.endswith(f"{scores.max():g}, {np.exp(scores - scores.max()).sum():.3f}")


def test_a_block_has_been_at_each_rank_once():
    rows = [
        words.split(", ") for words in re.findall(r"those of ([\d, ]+)", today_drawn.blocks().alt)
    ]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert all(sorted(step) == ["0", "1", "2", "3"] for step in zip(*rows, strict=True))


def test_rows_and_columns_take_the_steps_of_their_rings():
    ring, ranks, side = formula("ring"), today_drawn.SIDE**2, today_drawn.SIDE
    latency = Link(1.0, 0.0)
    words = f"one ring takes {ring(ranks, 1, latency):g} steps, rows and columns "
    assert f"{words}{2 * ring(side, 1, latency):g};" in today_drawn.torus().alt


def test_a_bias_makes_loads_even():
    before, after = today_drawn.loads()
    assert before.sum() == after.sum() == today_drawn.TOKENS
    assert after.max() < before.max() / 5


def test_partners_of_a_halving_come_nearer_and_swap_less():
    alt = communication_drawn.halving().alt
    assert alt.endswith("2 parts with rank 4, 4 parts with rank 2, 8 parts with rank 1")


def test_a_second_run_begins_at_the_newest_checkpoint():
    newest = failures_drawn.CRASH // failures_drawn.EVERY * failures_drawn.EVERY
    again = failures_drawn.CRASH - newest
    alt = failures_drawn.saved().alt
    assert alt.endswith(f"begins at step {newest} and does {again} steps again")


def test_the_first_error_of_a_dead_rank_is_shown():
    assert failures_drawn.death().alt.startswith("rank 2 raised MemoryError: no room for 4 GiB")


def test_the_doctor_names_each_planted_trouble():
    alt = failures_drawn.doctor().alt
    assert re.findall(r"(\w+, \w+): ", alt) == ["fail, names", "fail, network", "warn, clocks"]


def test_every_second_hop_of_a_ring_in_order_needs_a_cable():
    assert cluster_drawn.one_cable().alt.startswith("4 of 8 hops of a ring need a cable")


def test_labs_are_listed_by_number():
    numbers = [int(number) for number in re.findall(r"Lab (\d+):", cluster_drawn.labs().alt)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_only_a_search_by_rungs_waits():
    shares = [
        int(re.search(r"(\d+)% of the time is waiting", training_drawn.jobs(waits).alt)[1])
        for waits in (True, False)
    ]
    assert shares[0] > 10
    assert shares[1] == 0


def test_a_curtain_covers_what_was_drawn_before_it_alone():
    sketch = Sketch("a line")
    sketch.box(0, 0, 10, 10)
    sketch.unveil(0, 0, 10, 10)
    sketch.box(0, 20, 10, 10)
    svg = sketch.drawing.svg
    boxes = re.findall(r'<rect x="0" y="(\d+)".*?(curtain)?"/>', svg)
    assert boxes == [("0", ""), ("0", "curtain"), ("20", "")]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A browser at a deck whose second slide has a picture over time."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium or Chrome was found: slides are looked at with one")
    folder = tmp_path_factory.mktemp("curtain")
    deck: Path = folder / "9_two.md"
    deck.write_text(DECK)
    made = deck.with_suffix(".html")
    made.write_text(page_of(read(deck)))
    with opened(program, folder) as page:
        page.open(made.as_uri())
        page.wait("the first slide", "document.title === '1: One'")
        yield page


CURTAIN = "document.querySelector('.curtain')"


def test_a_picture_over_time_fills_while_its_slide_is_shown(shown):
    runs = f"{CURTAIN}.getAnimations().map(it => it.effect.getComputedTiming().progress)"
    assert shown.ask(runs) == []
    shown.press("ArrowRight")
    [early] = shown.wait("the curtain", f"({runs}).length && {runs}")
    assert early < 1
    shown.ask(f"{CURTAIN}.getAnimations()[0].finish()")
    assert shown.ask(f"{CURTAIN}.getBoundingClientRect().width") == 0
    shown.press("ArrowLeft")
    assert shown.ask(runs) == []


@pytest.mark.parametrize(
    "media",
    [
        {"media": "print"},
        {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]},
    ],
    ids=["on paper", "for readers who ask for less motion"],
)
def test_a_picture_over_time_is_whole(shown, media):
    shown.press("End")
    shown.call("Emulation.setEmulatedMedia", **media)
    try:
        assert shown.ask(f"getComputedStyle({CURTAIN}).display") == "none"
    finally:
        shown.call("Emulation.setEmulatedMedia", media="", features=[])
