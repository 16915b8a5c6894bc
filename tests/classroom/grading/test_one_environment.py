"""What `check` says in a notebook and what grading gives for it is the same."""

import json

import pytest
from cases import chosen
from drawn import ANSWERS, NAMES, SOURCE, draw, notebook
from run_notebooks import run_all

from ddl_class.grading.sandbox import Limits
from ddl_class.grading.scoring import score_answers
from ddl_class.grading.submission import read_answers, read_assignment
from ddl_class.release import release

pytestmark = pytest.mark.slow

DRAWN = range(len(ANSWERS))


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    source = tmp_path_factory.mktemp("source") / "06_drawn.py"
    source.write_text(SOURCE)
    return source, read_assignment(source)


@pytest.fixture(scope="module")
def notebooks(assignment, request):
    released = json.loads(release.text(release.learners(assignment[0])))
    return {number: notebook(released, *draw(number)[:3]) for number in chosen(request, "number")}


@pytest.fixture(scope="module")
def checked(notebooks, tmp_path_factory):
    """What the last check of each notebook said, in a kernel."""
    cells = {
        number: ["".join(cell["source"]) for cell in whole["cells"] if cell["cell_type"] == "code"]
        for number, whole in notebooks.items()
    }
    return run_all(cells, tmp_path_factory.mktemp("learner"))


@pytest.mark.parametrize("number", DRAWN)
@pytest.mark.sampled(18)
def test_check_and_grading_agree(assignment, notebooks, checked, nursery, number):
    raw = json.dumps(notebooks[number]).encode()
    answers, limits = read_answers(raw, assignment[1]), Limits(seconds=500)  # on a busy machine
    [score] = score_answers(nursery, assignment[1], answers, number, limits)
    right = draw(number)[-1]
    assert (checked[str(number)] == "") == right, checked[str(number)]
    assert (score.points == score.of) == right, score.message


def test_every_kind_of_notebook_is_drawn():
    assert {draw(number)[0] for number in DRAWN} == {*NAMES}
    assert {draw(number)[-1] for number in DRAWN} == {True, False}
