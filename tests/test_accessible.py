"""Nobody is left out: every picture has words, every control a name, every key its use."""

import ast
import re
from pathlib import Path

import pytest

from ddl_class.notebook.animation import animate
from ddl_class.ranks import simulate
from ddl_teach.collectives import ring
from ddl_teach.comm import Phantom, Uniform
from slides.chromium import SHIFT, find_chromium, opened
from tests.house import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {".venv", ".git", "built", "node_modules", "hand_in"}
PICTURES = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?!\w+:)[^)]*\)|<img\b(?P<tag>[^>]*)>", re.DOTALL)


def pages():
    """Whatever people read: Markdown, and the prose of notebooks."""
    for pattern in ("*.md", "notebooks/source/*.py"):
        for path in sorted(ROOT.rglob(pattern) if pattern == "*.md" else ROOT.glob(pattern)):
            if not SKIPPED & set(path.relative_to(ROOT).parts):
                yield path


def without_words(text):
    """The pictures of a page that have no text of at least two words."""
    found = []
    for picture in PICTURES.finditer(text):
        tag = re.search(r'\balt="([^"]*)"', picture["tag"] or "")
        words = picture["alt"] if picture["tag"] is None else tag[1] if tag else ""
        if len(words.split()) < 2:
            found.append(picture[0])
    return found


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_picture_of_a_page_has_words(path):
    text = path.read_text()
    prose = text if path.suffix == ".md" else re.sub(r"^# ?", "", text, flags=re.MULTILINE)
    assert without_words(prose) == []


def test_pictures_without_words_are_found():
    right = (
        "![Two lines that cross at 4 KiB.](a.png) <img src='b.png' alt=\"Three bars of a kind\">"
    )
    assert without_words(right) == []
    wrong = "![](a.png) text ![plot](docs/b.png) <img src='c.png'> <img alt=\"\" src='d.png'>"
    assert len(without_words(wrong)) == 4


def plots():
    """Each function that draws for people: where it is, its name, what it calls."""
    folders = ("ddl_class/plots/*.py", "ddl_runtime/pictures/*.py", "benchmarks/pictures.py")
    for path in sorted(path for folder in folders for path in ROOT.glob(folder)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                calls = {
                    getattr(call.func, "id", getattr(call.func, "attr", ""))
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call)
                }
                yield path.stem, node.name, calls


def test_every_plot_tells_in_words_what_it_shows():
    calls = {(module, name): called for module, name, called in plots()}

    def told(module, name, before=frozenset()):
        called = calls[module, name]
        if called & {"describe", "Drawing"}:  # a Drawing cannot be made without its words
            return True
        return any(
            told(where, other, before | {name})
            for where, other in calls
            if other in called - before
            and (where in {module, "frame"} or other.startswith("plot_"))
        )

    public = [(module, name) for module, name in calls if name.startswith("plot_")]
    assert len(public) > 80
    assert [f"{module}.{name}" for module, name in public if not told(module, name)] == []


@pytest.mark.parametrize("folder", ["notebooks/source", "labs", "slides", *PACKAGES])
def test_notebooks_and_labs_draw_by_the_course_s_plots_alone(folder):
    """A picture of pyplot's would have no words."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        assert not re.search(r"(import|from) .*\bpyplot", path.read_text()), path


FOCUS = """(() => { const it = document.activeElement;
  return [it.dataset.part || "", it.getAttribute("aria-label") || it.textContent.trim()]; })()"""
STEP = "document.querySelector('[data-part=counter]').textContent"


def one_message(comm):
    if comm.rank == 0:
        comm.send(Phantom(6000), to=1)
    else:
        comm.recv(Phantom(6000), source=0)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program, folder = find_chromium(), tmp_path_factory.mktemp("browser")
    if program is None:
        pytest.skip("no Chromium or Chrome was found: keys are pressed in one")
    with opened(program, folder) as page:
        yield page


def play(browser, folder, picture, **media):
    """The page of a moving picture, in a browser whose reader wants it so."""
    made = picture.save(folder / "player.html")
    features = [{"name": f"prefers-{name}", "value": value} for name, value in media.items()]
    browser.call("Emulation.setEmulatedMedia", features=features)
    browser.open(made.as_uri())
    browser.wait("the player", f"({STEP}).startsWith('step 0')")


@pytest.mark.browser
def test_the_player_of_steps_works_by_keys_alone(browser, tmp_path):
    page = browser
    play(page, tmp_path, animate(ring.allreduce, ranks=3))
    met = []
    for _ in range(6):
        page.press("Tab")
        met.append(page.ask(FOCUS))
    assert [part for part, _ in met] == ["back", "play", "forward", "slow", "slider", "all"]
    assert all(name for _, name in met)
    page.press(" ")
    page.wait("all steps at once", "!document.querySelector('[data-part=strip]').hidden")
    page.press("Tab", SHIFT)
    for key, step in (("End", 4), ("ArrowLeft", 3), ("Home", 0), ("ArrowRight", 1)):
        page.press(key)
        page.wait(f"step {step} after {key}", f"({STEP}) === 'step {step} of 4'")
    page.press("Tab", SHIFT)
    page.press(" ")
    pressed = "document.querySelector('[data-part=slow]').getAttribute('aria-pressed')"
    assert page.ask(pressed) == "true"
    page.press(" ")
    assert page.ask(pressed) == "false"
    page.press("Tab", SHIFT)
    for step in (2, 3, 4, 4):  # at the last one too, the button keeps the focus
        page.press(" ")
        page.wait(f"step {step}", f"({STEP}) === 'step {step} of 4'")
    assert page.ask(FOCUS)[0] == "forward"
    words = "document.querySelector('[data-part=stage] svg').getAttribute('aria-label')"
    assert len(page.ask(words).split()) > 3
    page.press("Tab", SHIFT)
    page.press(" ")
    page.wait("that it plays from the beginning", f"({STEP}) === 'step 1 of 4'")


SECONDS = "Number(document.querySelector('[data-part=slider]').max)"
LOAD = """(() => { const stage = document.querySelector('[data-part=stage] svg');
  stage.setCurrentTime(time);
  const load = stage.querySelector('.mv-load'), at = load.getBoundingClientRect();
  const seen = getComputedStyle(load).visibility === 'visible';
  const way = stage.querySelector('path[id$="w0-1"]'), scale = stage.getScreenCTM();
  const wanted = way.getPointAtLength(share * way.getTotalLength()).matrixTransform(scale);
  return [seen, Math.abs(at.x + at.width / 2 - wanted.x)]; })()"""


@pytest.mark.browser
def test_a_message_is_where_the_network_has_it(browser, tmp_path):
    """6,000 bytes at 1 GB a second over 2 microseconds: the middle byte leaves at 3 and comes at
    5, and nothing is there before or after."""
    run = simulate(one_message, 2, network=Uniform(2e-6, 1e9))
    picture = animate(run)
    play(browser, tmp_path, picture)
    second = browser.ask(SECONDS) / run.time
    # The load rides in the middle of what is on its way: half of it while bytes still leave.
    shares = {0.5e-6: 0.125, 2e-6: 0.5, 4e-6: 0.5, 7e-6: 0.75}
    for moment, share in shares.items():
        seen, off = browser.ask(LOAD, time=moment * second, share=share)
        assert seen
        assert off < 2
    assert not browser.ask(LOAD, time=8.01e-6 * second, share=1)[0]


SEEN = """new Promise(done => { const seen = new Set();
  const slider = document.querySelector('[data-part=slider]');
  document.querySelector('[data-part=play]').click();
  const look = setInterval(() => { seen.add(slider.value);
    if (seen.size > 2) { clearInterval(look); done([...seen]); } }, 9); })"""


@pytest.mark.browser
def test_who_asks_for_less_motion_gets_none(browser, tmp_path):
    play(browser, tmp_path, animate(ring.allreduce, ranks=3), **{"reduced-motion": "reduce"})
    times = browser.ask(SEEN)
    ends = [time / browser.ask(SECONDS) for time in map(float, times)]
    assert [round(4 * end, 2) for end in ends] == [0, 1, 2]


PAPER = "getComputedStyle(document.querySelector('.moving')).getPropertyValue('--paper').trim()"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_player_follows_light_and_dark(browser, tmp_path, scheme):
    play(browser, tmp_path, animate(ring.allreduce, ranks=2), **{"color-scheme": scheme})
    assert (browser.ask(PAPER) == "#161616") == (scheme == "dark")
