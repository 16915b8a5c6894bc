"""Unit 06 as a learner meets it: JupyterLab in a browser, from the first look to solved."""

import contextlib

import pytest
from classroom import EDITOR, Notebook, lab, open_file

from slides.chromium import ALT, CONTROL, SHIFT, find_chromium, opened

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        find_chromium() is None,
        reason="no Chromium or Chrome here: install one (Debian: chromium) and this test runs too",
    ),
]

STUB = "raise NotImplementedError"
WRONG = """for step in range(1, size):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, chunks[incoming], left)"""
RIGHT = """for step in range(1, size):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, arriving[incoming], left)
        chunks[incoming] += arriving[incoming]"""
DEADLOCK = """%%px
x = np.zeros(3)
comm.recv(x, (comm.rank + 1) % comm.size)
comm.send(x, (comm.rank - 1) % comm.size)"""

IN_ORDER = (
    "    if comm.rank > 0:", "        comm.recv(ball, source=comm.rank - 1)", "    ball += 1",
    "    if comm.rank < comm.size - 1:", "        comm.send(ball, to=comm.rank + 1)",
)  # fmt: skip


@contextlib.contextmanager
def course_opened(folder, pictures):
    """The page on which JupyterLab shows the tour, and what keeps its pictures."""
    with (
        lab(folder) as address,
        opened(find_chromium(), folder) as page,
        pictures(page) as see,
    ):
        page.open(address)
        Notebook(page, "notebooks/00_tour.ipynb")
        yield page, see


def test_lines_are_put_in_order_by_the_keys_that_unit_00_names(tmp_path, pictures):
    with course_opened(tmp_path, pictures) as (page, see):
        open_file(page, "00_machine.ipynb")
        notebook = Notebook(page, "notebooks/00_machine.ipynb")
        notebook.run("Engines(4)")
        answer, check = "00-line-answer", "00-line-check"

        def go_to(line):
            page.press("Home", CONTROL)
            for _ in range(line):
                page.press("ArrowDown")

        notebook.click(answer, EDITOR)
        see("lines_in_alphabetical_order")
        first, last = 2, len(notebook.text(answer).splitlines()) - 2
        go_to(first)
        for _ in range(first, last):
            page.press("ArrowDown", SHIFT)
        page.press("End", SHIFT)
        page.press("/", CONTROL)
        assert "#" not in notebook.text(answer)
        for place, line in enumerate(IN_ORDER, start=first):
            there = notebook.text(answer).splitlines().index(f"    {line.strip()}")
            go_to(there)
            for _ in range(there - place):
                page.press("ArrowUp", ALT)
            if line.startswith("        "):
                page.press("End")
                page.press("Home", SHIFT)
                page.press("Tab")
        go_to(first + len(IN_ORDER))
        page.press("End", CONTROL | SHIFT)
        page.press("Backspace")
        assert notebook.text(answer).rstrip().splitlines()[first:] == [*IN_ORDER]
        notebook.run(answer)
        assert notebook.run(check).startswith("✓ 00.line: right")
        see("lines_in_order")


def test_a_learner_walks_through_unit_06(tmp_path, pictures):
    with course_opened(tmp_path, pictures) as (page, see):
        page.wait("the list of files", "document.querySelectorAll('.jp-DirListing-item').length")
        assert page.ask("document.querySelectorAll('.Toastify__toast').length") == 0
        see("lab_opened")
        open_file(page, "06_allreduce.ipynb")
        notebook = Notebook(page, "notebooks/06_allreduce.ipynb")
        page.click("document.querySelector('[data-id=filebrowser]')")  # more room without the list

        assert "4 engines are ready" in notebook.run("Engines(4)")
        answer, check = "06-reduce_scatter-answer", "06-reduce_scatter-check"
        stub = notebook.text(answer)
        notebook.run(answer)
        assert "not written yet" in notebook.run(check)

        notebook.write(answer, stub.replace(STUB, WRONG))
        notebook.run(answer)
        said = notebook.run(check)
        assert said.startswith("✗ 06.reduce_scatter: What arrives replaces what was there")
        assert "Traceback" not in said
        notebook.show(answer)
        see("failed_check")

        notebook.write(answer, stub.replace(STUB, RIGHT))
        notebook.run(answer)
        animation = "animate(ring_reduce_scatter"
        notebook.run(animation)
        unpacked = "cell.outputArea.node.innerText.includes('step 0 of 3')"
        notebook.wait("the player", animation, unpacked)
        notebook.click(animation, "[data-part=forward]")
        assert "step 1 of 3" in notebook.output(animation)
        said = notebook.run(check)
        assert said.startswith("✓ 06.reduce_scatter: right")
        assert "on your 4 engines" in " ".join(said.split())
        notebook.show(check, "end")
        see("passed_check")

        notebook.run("explore(latency")
        at_first = notebook.alt("explore(latency")
        notebook.move_slider("explore(latency", "ranks")
        assert "5 ranks" in notebook.alt("explore(latency", other_than=at_first)
        notebook.show("explore(latency")
        see("explorer")

        notebook.add(check, DEADLOCK)
        said = notebook.run(DEADLOCK)
        assert said.startswith("Deadlock: 4 ranks wait for each other in a ring")
        assert "line 3 of cell" in said
        notebook.show(DEADLOCK)
        see("deadlock")

        notebook.restart()
        assert "4 engines are ready" in notebook.run("Engines(4)")
        notebook.add(check, "from ddl_class import progress\nprogress()")
        notebook.run("import progress")
        assert "reduce scatter solved" in notebook.alt("import progress")
        notebook.show("import progress")
        see("progress")
