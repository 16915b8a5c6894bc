"""Every deck, drawn by a browser: nothing cut off, too small, pale or missing, and no drift."""

import re

import pytest

from ddl_class.exercises.registry import units
from ddl_class.release.curriculum import PARTS
from ddl_runtime.topologies.point_to_point import Uniform
from ddl_teach import simulate
from slides import live
from slides.__main__ import paper
from slides.chromium import find_chromium, opened
from slides.deck import decks, read
from slides.faults import SMALLEST, SMALLEST_DRAWN, faults, minutes_of_arc, shares
from slides.figures import communication, networks
from slides.includes import IncludeError, code, exercise, figure, value
from slides.page import page_of

FEWEST, MOST = 15, 32  # slides of a deck
MOST_SPOKEN = 120  # words of notes
PLANTED = """\
# A title

<!-- Notes: none. -->

---

# Too full

{lines}

<!-- Notes: none. -->

---

# Small, pale, missing

<p style="font-size: 10px">small</p>

<p style="color: #bbb">pale</p>

[nowhere](#nowhere) ![a picture](missing.png)

<pre>{wide}</pre>

<!-- Notes: none. -->
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium or Chrome was found: slides are looked at with one")
    with opened(program, tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """`made(path)` is the page of a deck, and how many slides it has."""
    folder = tmp_path_factory.mktemp("slides")

    def make(path):
        deck = read(path)
        page = folder / f"{deck.name}.html"
        page.write_text(page_of(deck))
        return page, len(deck.slides)

    return make


@pytest.mark.parametrize("path", decks(), ids=lambda path: path.stem)
@pytest.mark.sampled(4)
def test_a_deck_can_be_read_from_the_last_row(path, made, browser):
    page, slides = made(path)
    assert FEWEST <= slides <= MOST
    assert faults(browser, page) == []
    for share, beside_code in shares(browser, page):
        assert share >= (0.25 if beside_code else 0.5)  # of the slide


def test_the_last_row_sees_letters_larger_than_eyes_just_read():
    just = 5  # minutes of arc: the row of an eye test that counts as sight without loss
    assert minutes_of_arc(SMALLEST) > 2 * just
    assert minutes_of_arc(SMALLEST_DRAWN) > 1.4 * just


def test_faults_are_found(tmp_path, made, browser):
    path = tmp_path / "9_planted.md"
    lines = "\n\n".join(f"line {number}" for number in range(20))
    path.write_text(PLANTED.format(lines=lines, wide="x" * 200))
    page, _ = made(path)
    found = "\n".join(faults(browser, page))
    for words in (
        "slide 2: it is too full", "slide 3: “small” is 10.0 px", "“pale” has a contrast of",
        "#nowhere leads nowhere", "missing.png is missing", "“xxxx",
    ):  # fmt: skip
        assert words in found


@pytest.fixture
def two_slides(tmp_path, made):
    """The page of a deck of two slides."""
    path = tmp_path / "9_two.md"
    path.write_text("# One\n\n<!-- Notes: first -->\n\n---\n\n# Two\n\n<!-- Notes: second -->\n")
    return made(path)[0]


def first_slide(browser, page):
    browser.open(page.as_uri())
    browser.wait("the first slide", "document.title === '1: One'")


def test_keys_lead_through_a_deck_and_show_its_notes(two_slides, browser):
    first_slide(browser, two_slides)
    for key in ("ArrowRight", "ArrowDown", "PageDown", " "):
        browser.press(key)
        browser.wait(f"the second slide after {key!r}", "document.title === '2: Two'")
        browser.press(
            {"ArrowDown": "ArrowUp", "PageDown": "PageUp", " ": "Home"}.get(key, "ArrowLeft")
        )
        browser.wait(f"the way back from {key!r}", "document.title === '1: One'")
    browser.press("End")
    browser.wait("the last slide", "document.title === '2: Two'")
    browser.press("a")
    browser.wait("all slides", "!document.body.classList.contains('one-by-one')")
    browser.press("a")
    shown = "document.querySelector('section.shown .notes').getBoundingClientRect().height > 0"
    assert not browser.ask(shown)
    browser.press("n")
    browser.wait("the notes", shown)


def test_paper_has_a_page_for_each_slide_and_for_its_notes(two_slides, browser):
    for behind, pages in (("", 2), ("?notes", 4)):
        printed = paper(browser, two_slides, behind)
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == pages


@pytest.mark.parametrize(
    ("include", "words"),
    [
        (lambda: code("ddl_teach.collectives.ring.no_such"), "no_such"),
        (lambda: code("ddl_runtime.simulator.engine.Simulation"), "a slide holds 24"),
        (lambda: figure("communication.no_such"), "no_such"),
        (lambda: figure("communication.crossover"), "no picture"),
        (lambda: value("nowhere.at_all"), "nowhere"),
    ],
    ids=["no function", "too long", "no figure", "a number as a figure", "no module"],
)
def test_what_is_not_there_is_not_included(include, words):
    with pytest.raises(IncludeError, match=words):
        include()


def test_a_slide_that_asks_for_what_is_not_there_is_named(tmp_path):
    path = tmp_path / "9_wrong.md"
    path.write_text("# One\n\n<!-- Notes: a -->\n\n---\n\n# Two\n\n{{ code('a.b') }}\n")
    with pytest.raises(IncludeError, match=r"9_wrong.md, slide 2: there is no \"a.b\""):
        read(path)
    path.write_text("# One\n\nno notes\n")
    with pytest.raises(IncludeError, match="slide 1: a slide needs a heading, and"):
        read(path)


def test_code_is_the_librarys_own():
    shown = code("ddl_teach.collectives.ring.pass_round")
    assert "comm.sendrecv(chunks[outgoing], right, chunks[incoming], left)" in shown
    assert '"""' not in shown
    assert '"""' in code("ddl_teach.collectives.ring.pass_round", docstring=True)


def test_exercises_of_one_unit_share_a_pointer():
    pointer = exercise("10.idle", "10.gpipe")
    assert "unit 10" in pointer
    assert "5 + 5 minutes" in pointer
    with pytest.raises(ValueError, match="too many values"):
        exercise("10.idle", "11.states")


def test_what_is_run_live_does_what_the_guide_says():
    box = Uniform(latency=30e-6, bandwidth=94e6 / 8)
    run = simulate(live.two_mebibytes, 4, network=box)
    assert run.results[2] == "node 2: 268 ms"
    assert all(book.bytes_sent >= 1.5 * 2**21 for book in run.ledger)
    assert set(simulate(live.again_and_again, 3, network=box, seconds=1.0).results) == {6}


def test_every_unit_with_exercises_has_one_on_the_slides_of_its_part():
    pointed = {
        part: re.findall(r'exercise\("(\d\d)\.', path.read_text())
        for part, path in zip(PARTS, decks(), strict=True)
    }
    for unit in units():
        part = next(part for part, numbers in PARTS.items() if unit.number in numbers)
        assert unit.number in pointed[part], f"unit {unit.number} is on no slide of {part}"
    assert "minutes" in exercise("06.ring")


def test_a_timeline_on_a_slide_is_titled_by_what_was_found_in_it():
    [title] = [ax.get_title("left") for ax in communication.ring_timeline().axes]
    assert re.fullmatch(r"8 ranks take [\d.]+ µs, (\d+%|all) of it in messages", title)


def test_the_order_of_grids_is_shown_with_what_the_model_assumes():
    [title] = [ax.get_title("left") for ax in networks.some_grids().axes]
    assert title == "By a model of nodes whose eight ranks share one card"
    [deck] = [deck.read_text() for deck in decks() if deck.stem == "4_networks"]
    [slide] = [slide for slide in deck.split("\n---\n") if "networks.some_grids" in slide]
    assert "times the best" not in slide
    assert "no advice which grid to take" in " ".join(slide.split())


def test_paper_is_not_scaled_as_the_screen_is(two_slides, browser):
    first_slide(browser, two_slides)
    shown = "getComputedStyle(document.querySelector('section.shown')).transform"
    assert browser.ask(shown) != "none"
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.ask(shown) == "none"
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_a_handout_has_two_slides_with_their_notes_on_a_page(tmp_path, made, browser):
    path = tmp_path / "9_handout.md"
    long_notes = " ".join(["word"] * MOST_SPOKEN)
    path.write_text(
        "\n---\n".join(f"# {n}\n\n<!-- Notes: {long_notes} -->\n" for n in ("A", "B", "C"))
    )
    page, _ = made(path)
    printed = paper(browser, page, "?handout")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == 2
    below = (
        "[...document.querySelectorAll('section')].map(it => it.scrollHeight - it.clientHeight)"
    )
    assert browser.ask(below) == [0, 0, 0]


def test_fonts_are_in_the_paper_and_formulas_have_their_own(tmp_path, made, browser):
    path = tmp_path / "9_fonts.md"
    path.write_text("# One\n\n$\\frac{P-1}{P}$ and `code`\n\n<!-- Notes: first -->\n")
    page, _ = made(path)
    printed = paper(browser, page)
    names = set(re.findall(rb"/FontName\s*/[A-Z]{6}\+([\w-]+)", printed))
    assert names == {
        b"DejaVuSans-Bold",
        b"DejaVuSans",
        b"DejaVuSansMono",
        b"DejaVuMathTeXGyre-Regular",
    }
    assert printed.count(b"/FontFile") >= len(names)


def test_the_speaker_sees_the_next_slide_the_notes_and_the_minutes(tmp_path, made, browser):
    path = tmp_path / "9_speaker.md"
    path.write_text(
        "# One\n\n<!-- Notes, 2 minutes: first -->\n\n---\n\n# Two\n\n<!-- Notes: second -->\n"
    )
    page, _ = made(path)
    browser.open(page.as_uri())
    browser.wait("the first slide", "document.title === '1: One'")
    browser.press("p")
    inside = "speaker && speaker.document.getElementById({}).textContent.trim()"
    browser.wait("the notes", inside.format("'spoken'") + " === 'first'")
    assert browser.ask(inside.format("'next'")).startswith("Two")
    assert browser.ask(inside.format("'plan'")).endswith("until its end: 2 of 3 min")
    browser.press("ArrowRight")
    browser.wait("the next notes", inside.format("'spoken'") + " === 'second'")
    browser.ask("speaker.close()")
