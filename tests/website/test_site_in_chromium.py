"""The browser edition in a browser that reaches no other site: from the first page to a check.

NumPy and matplotlib for Pyodide are in no registry: stand-ins take their places, see
`distribution.py`. So nothing is drawn here, and arrays are small.
"""

import json
from collections.abc import Callable
from functools import partial

import live_in_chromium
import pytest
import tools
from distribution import distribution
from live_in_chromium import BELOW, CELL

from slides import chromium
from website import in_chromium, lab, landing, serve
from website.in_chromium import NOTEBOOK

pytestmark = [pytest.mark.long, pytest.mark.browser, pytest.mark.timeout(900)]
FIRST = f"({NOTEBOOK}).content.widgets.findIndex(({{model}}) => model.type === 'code')"
SHOWN = f"({NOTEBOOK}).content.widgets[{FIRST}].outputArea.node.innerText"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A site that has a first page and the browser edition."""
    if chromium.find_chromium() is None:
        pytest.skip("no Chromium or Chrome was found")
    try:
        made = distribution()
    except tools.NoTools as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("site")
    lab.build(made, folder / lab.FOLDER)
    landing.write(folder)
    live_in_chromium.write(folder)
    return folder


@pytest.fixture(scope="module")
def site(folder):
    """Its address."""
    with serve.served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def page(site, tmp_path_factory):
    """A browser that reaches nothing but this machine."""
    program, folder = chromium.find_chromium(), tmp_path_factory.mktemp("chromium")
    with in_chromium.alone(program, folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def run(site, page) -> Callable[[str], str]:
    """Runs code as a cell of the machine's notebook, and gives what it shows."""
    page.open(f"{site}/index.html")
    page.wait("the first page", "document.querySelector('.ways a') !== null")
    assert page.ask("document.getElementById('old').hidden")
    page.click("document.querySelector('.ways a')")
    page.wait("JupyterLite", "location.pathname.endsWith('/lab/index.html')")
    in_chromium.open_notebook(page, site, "00_machine")
    return partial(in_chromium.run, page)


RING = """
from ddl_teach import Phantom, simulate
from ddl_teach.collectives import ring
run = simulate(lambda comm: ring.allreduce(comm, Phantom(6400)), 64)
print(run.time > 0, {ledger.bytes_sent for ledger in run.ledger})
"""
MINE = """
import numpy as np
def mine(comm, x):
    passing = x.copy()
    for _ in range(comm.size - 1):
        arriving = np.empty_like(x)
        comm.sendrecv(passing, (comm.rank + 1) % comm.size, arriving, (comm.rank - 1) % comm.size)
        x += arriving
        passing = arriving
"""

PUZZLE = """
import numpy as np
def sign_list(comm, x):
    distance, arriving = 1, np.empty_like(x)
    while distance < comm.size:
        right, left = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        comm.sendrecv(x, right, arriving, left)
        np.maximum(x, arriving, out=x)
        distance *= 2
"""


def test_a_notebooks_first_cell_says_that_ranks_are_simulated(run, page):
    page.ask(f"({NOTEBOOK}).content.activeCellIndex = {FIRST}")
    page.ask("jupyterapp.commands.execute('notebook:run-cell').then(() => true)")
    text = page.wait("its output", f"({SHOWN}).includes('simulated') && ({SHOWN})", 120)
    assert "There is no MPI here, so these 4 ranks are simulated." in text


def test_64_ranks_go_round_a_ring(run):
    assert run(RING) == "True {12600}\n"


def test_cells_of_ranks_keep_their_variables(run):
    run("from ddl_class import Engines\nengines = Engines(3)")
    assert run("%%px\nx = 10 * comm.rank\nx") == "[0] 0\n[1] 10\n[2] 20\n"
    assert run("%%px --ranks 1,2\nprint(x + comm.size)") == "[1] 13\n[2] 23\n"


def test_a_deadlock_is_told_with_the_lines_of_the_cell(run):
    shown = run("simulate(lambda comm: comm.recv(np.zeros(1), 1 - comm.rank), 2)")
    assert "rank 0 waits" in shown.lower() or "waits for rank 1" in shown, shown


def test_check_judges_the_learners_own_function(run):
    run(MINE)
    right = run("from ddl_class import check, hint, predict\ncheck('06.pass_round', mine)")
    assert "✓ 06.pass_round: right on 1, 2, 3, 4, 5, 8" in right
    wrong = run("check('06.ring', mine)")
    assert "✗ 06.ring" in wrong
    assert "Traceback" not in wrong
    assert "Hint 1 of" in run("hint('06.ring')")
    assert "You say 5 times" in run("predict('06.many', 5)")


def test_a_puzzle_is_judged_by_its_time(run):
    run(PUZZLE)
    shown = run("from ddl_class import check\ncheck('00.list', sign_list)")
    assert "✓ 00.list: right" in shown
    assert "the best known 26.3 µs" in shown


def test_what_a_browser_lacks_is_named_in_one_line(run):
    shown = run("import torch")
    assert shown.strip() == 'torch is not here. On a computer: pip install "ddl-teach[torch]"'


def test_progress_stays_when_the_page_is_opened_again(run, page, site):
    assert json.loads(run("print(open('/drive/your_progress/progress.json').read())"))
    page.ask("jupyterapp.commands.execute('docmanager:save').then(() => true)")
    page.open(f"{site}/index.html?left")
    page.wait("the first page", "location.search === '?left'")
    in_chromium.open_notebook(page, site, "00_machine")
    shown = run("from ddl_class.exercises.progress import progress_text\nprint(progress_text())")
    assert [line for line in shown.splitlines() if "pass round" in line and "solved" in line]


def test_a_browser_without_jspi_is_told_on_the_first_page(page, site):
    script = "delete WebAssembly.Suspending"
    page.call("Page.enable")
    added = page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
    try:
        page.open(f"{site}/index.html?again")
        page.wait(
            "the first page",
            "location.search === '?again' && document.querySelector('.ways a') !== null",
        )
        assert not page.ask("document.getElementById('old').hidden")
        assert "Chrome and Edge can" in page.ask("document.getElementById('old').innerText")
    finally:
        page.call("Page.removeScriptToEvaluateOnNewDocument", **added)


IPYTHON = "from IPython.display import HTML\\n"


@pytest.fixture
def live(page, site):
    """A page of the book, before any of its cells ran."""
    page.open(f"{site}/book/notebooks/00_tour.html?new")
    page.wait("the page", "document.querySelectorAll('.live').length === 3")
    return page


def press(page, number):
    page.ask(f"{CELL.format(number)}.querySelector('button').click()")


def shown(page, number, words):
    text = BELOW.format(number)
    return page.wait(words, f"({text}).includes({words!r}) && ({text})", 180)


def test_a_press_runs_a_cell_of_the_book_and_those_above_it(live):
    press(live, 1)
    assert shown(live, 1, "[0, 1, 4, 9]").split("\n")[0] == "4"
    assert live.ask("document.getElementById('recorded').hidden")


def test_a_cell_runs_as_its_reader_has_changed_it(live):
    wrong = "from ddl_class import simulate\\ndef square(comm): return comm.rank + 1"
    live.ask(f"document.querySelectorAll('pre')[1].innerText = '{wrong}'")
    press(live, 1)
    assert "[1, 2, 3, 4]" in shown(live, 1, "[1, 2, 3, 4]")
    live.ask("document.querySelectorAll('pre')[3].innerText = 'print(1 / 0)'")
    press(live, 1)
    assert "ZeroDivisionError" in shown(live, 1, "ZeroDivisionError")


def test_what_a_cell_shows_can_move(live):
    """A moving picture has a script, which runs when it is put into the page."""
    script = "document.querySelector(`#moved`).textContent = `moved`"
    shows = f'HTML("<b id=moved></b><script>{script}</script>")'
    live.ask(f"document.querySelectorAll('pre')[3].innerText = '{IPYTHON}{shows}'")
    press(live, 1)
    shown(live, 1, "moved")


def test_a_cell_without_end_is_stopped(live):
    press(live, 2)
    shown(live, 1, "[0, 1, 4, 9]")
    press(live, 2)
    live.wait("that it stops", f"{CELL.format(2)}.innerText.includes('Stopped')")
    press(live, 1)
    live.wait("a new Python", f"{CELL.format(1)}.innerText === 'Run'", 180)
    assert "[0, 1, 4, 9]" in shown(live, 1, "[0, 1, 4, 9]")


def test_a_python_that_did_not_start_is_tried_again(live, folder):
    """The first worker asks for a package that nobody has; the second is the site's own."""
    own = folder / "live" / "worker.mjs"
    lame = own.read_text().replace('"ddl-teach"', '"nobody-has-it"')
    own.with_name("lame.mjs").write_text(lame)
    live.ask("""(() => {
        const Whole = Worker;
        window.Worker = function (url, kind) {
            window.Worker = Whole;
            return new Whole(new URL("lame.mjs", url), kind);
        };
    })()""")
    press(live, 1)
    button = f"{CELL.format(1)}.querySelector('button').innerText"
    live.wait("that it fails", f"{button} === 'Try again'", 180)
    assert "Python did not start" in live.ask(f"{CELL.format(1)}.innerText")
    press(live, 1)
    assert "[0, 1, 4, 9]" in shown(live, 1, "[0, 1, 4, 9]")
    live.wait("its end", f"{button} === 'Run'")
