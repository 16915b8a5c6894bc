"""The page of feedback: exercises by name, formulas without a network, and code left alone."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from traitlets.config import Config

from ddl_class.grading.feedback_page import FeedbackPage, as_mathml, look_of_pages

LONG = "Deadlock: " + "each rank waits for its right neighbour, " * 20
TEXT = r"""# Rings

A rank sends $2 \frac{P-1}{P} n_x$ bytes:

$$T = 2 (P-1) L$$

It is `$x$` in a shell. <b>Bold</b>
"""


@pytest.fixture
def page(tmp_path):
    """The page of a notebook with one exercise that went wrong."""
    about = {"grade": True, "solution": False, "grade_id": "c", "score": 1.0, "points": 2.0}
    check = new_code_cell("check(...)", metadata={"name": "06.ring", "nbgrader": about})
    check.outputs = [new_output("error", ename="X", evalue="", traceback=[LONG, "<script>"])]
    about = {"grade": False, "solution": True, "grade_id": "a", "comment": "<i>good</i>"}
    answer = new_code_cell("f = '$a$ $b$'", metadata={"name": "06.ring", "nbgrader": about})
    notebook = new_notebook(cells=[new_markdown_cell(TEXT), answer, check])
    nbformat.validate(notebook)
    settings = Config()
    look_of_pages(settings)
    resources = {"nbgrader": {"notebook": "06_x", "score": 1.0, "max_score": 2.0}}
    html, _ = FeedbackPage(config=settings).from_notebook_node(notebook, resources=resources)
    return html


def test_it_names_the_exercise(page):
    assert page.count("06.ring: A ring all-reduce") == 3
    assert "Test cell" not in page
    assert "(Score: 1.0 / 2.0)" in page


def test_formulas_are_drawn_by_the_browser_itself(page):
    assert page.count("<math ") == 2
    assert 'display="block"' in page
    assert "mathjax" not in page.lower()
    assert "<code>$x$</code> in a shell" in page
    assert "$a$ $b$" in page.replace("&#39;", "'")


def test_it_loads_nothing(page):
    assert "<script" not in page
    assert "<link" not in page
    assert "src=" not in page


def test_long_lines_are_wrapped(page):
    assert LONG in page
    assert "white-space: pre-wrap" in page


def test_what_strangers_write_is_text(page):
    assert "&lt;script&gt;" in page
    assert "&lt;i&gt;good&lt;/i&gt;" in page


def test_a_formula_that_nobody_can_read_is_shown_as_it_stands():
    assert as_mathml(r"\left(<") == r"<code>\left(&lt;</code>"
