"""Nobody is left out: every picture has words, every control a name, every key its use."""

import ast
import re
from pathlib import Path

import pytest

from ddl_class.notebook.animation import animate
from ddl_teach.collectives import ring
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


@pytest.mark.browser
def test_the_player_of_steps_works_by_keys_alone(tmp_path):
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium or Chrome was found: keys are pressed in one")
    player = animate(ring.allreduce, ranks=3)
    made = tmp_path / "player.html"
    made.write_text(f'<!doctype html><html lang="en"><body>{player.page()}</body></html>')
    with opened(program, tmp_path) as page:
        page.open(made.as_uri())
        page.wait("the player", f"({STEP}) === 'step 0 of 4'")
        met = []
        for _ in range(5):
            page.press("Tab")
            met.append(page.ask(FOCUS))
        assert [part for part, _ in met] == ["back", "play", "forward", "slider", "all"]
        assert all(name for _, name in met)
        page.press(" ")
        page.wait("all steps at once", "!document.querySelector('[data-part=strip]').hidden")
        page.press("Tab", SHIFT)
        for key, step in (("End", 4), ("ArrowLeft", 3), ("Home", 0), ("ArrowRight", 1)):
            page.press(key)
            page.wait(f"step {step} after {key}", f"({STEP}) === 'step {step} of 4'")
        page.press("Tab", SHIFT)
        for step in (2, 3, 4, 4):  # at the last one too, the button keeps the focus
            page.press(" ")
            page.wait(f"step {step}", f"({STEP}) === 'step {step} of 4'")
        assert page.ask(FOCUS)[0] == "forward"
        told = "document.querySelector('[data-part=stage] svg').getAttribute('aria-label')"
        assert len(page.ask(told).split()) > 3
