"""What is graded stands in the instructor's source, with all that an answer may make use of."""

import json

import pytest
from handed_in import Desk

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.batch import grade
from ddl_class.grading.submission import read_answers, read_assignment
from ddl_class.release import release


def test_the_cells_around_exercises_are_handed_out_without_solutions_and_checks(tmp_path):
    assignment = read_assignment(Desk(tmp_path).source)
    assert [one.function for one in assignment.exercises] == ["ring_allreduce", "crossover"]
    [around] = assignment.handed_out
    assert "engines = Engines(4)" in around
    assert "the solution of the instructor" not in repr(assignment)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "There is no source"),
        ("# %%\nx = 1", "has no exercises"),
        ('# %% name="06.ring" tags=["check"]\ncheck("06.ring", f)', "no answer cell"),
        (
            '# %% name="06.ring" tags=["answer"]\npass\n# %% name="06.ring" tags=["check"]\npass',
            "in its check",
        ),
    ],
)
def test_a_source_that_cannot_be_graded_by(tmp_path, text, told):
    source = tmp_path / "06.py"
    if text is not None:
        source.write_text(text)
    with pytest.raises(Mistake, match=told):
        read_assignment(source)


def test_a_notebook_is_no_source_and_nothing_is_graded_by_it(tmp_path):
    desk = Desk(tmp_path)
    notebook = desk.source.with_suffix(".ipynb")
    notebook.write_text(release.text(release.instructors(desk.source)))
    with pytest.raises(Mistake, match=rf"{notebook.name} is not .*notebooks/source/06_two\.py$"):
        grade(desk.submissions, notebook, desk.out)
    assert not desk.out.exists() or not any(desk.out.iterdir())


CHECKED = (
    'check("06.ring", mine)',
    "check('06.ring',mine)",
    'check("06.ring", function=mine)',
    'check(name="06.ring", function=mine)',
    'check(\n    "06.ring",\n    mine,\n    engines=engines,\n)',
    'result = check("06.ring", mine)',
    'print(mine); check("06.ring", mine)',
    'import ddl_class\nddl_class.check("06.ring", mine)',
    '%time check("06.ring", mine)',
    'with quiet:\n    judge("06.ring", mine, ranks=(3,))',
)


def functions(tmp_path, check):
    """The functions that a notebook calls otherwise, with this check in its last cell."""
    sources = ["mine: object = lambda comm, x: None", check]
    cells = [{"cell_type": "code", "source": source} for source in sources]
    raw = json.dumps({"cells": cells}).encode()
    return read_answers(raw, read_assignment(Desk(tmp_path).source)).functions


@pytest.mark.parametrize("check", CHECKED)
def test_the_function_that_a_learner_checks_is_graded_however_the_check_is_written(
    tmp_path, check
):
    assert functions(tmp_path, check) == {"06.ring": "mine"}


@pytest.mark.parametrize(
    "check",
    [
        '# check("06.ring", mine)',
        "print('check(\"06.ring\", mine)')",
        'recheck("06.ring", mine)',
        'check("06.ring", nobody_s)',
        'check("06.swap")',
    ],
)
def test_what_is_no_check_of_a_cell_s_function_names_none(tmp_path, check):
    assert functions(tmp_path, check) == {}


DRAFTS = ["def f(comm, x):\n    pass", 'check("06.ring", f)', "def f(comm, x):\n    return x"]


@pytest.mark.parametrize(
    ("runs", "places"),
    [
        ((None, None, None), [0]),  # a draft below the check does not count
        ((1, 2, 3), [0]),
        ((1, 4, 3), [0, 2]),  # the check was run once more, after the cell below it
        ((3, 4, 1), [2, 0]),  # and after the one above it
        ((9, 4, 3), [0, 2]),  # of an earlier kernel
        ((None, 4, 3), [0, 2]),
        ((1, None, 3), [0]),
        ((1, "4", True), [0]),
    ],
)
def test_what_was_run_before_the_last_check_answers(tmp_path, runs, places):
    source = tmp_path / "06_ring.py"
    source.write_text(
        '# %% name="06.ring" tags=["answer"]\ndef f(comm, x):\n    pass\n'
        '# %% name="06.ring" tags=["check"]\ncheck("06.ring", f)\n'
    )
    cells = [
        {"cell_type": "code", "source": text, "execution_count": run}
        for text, run in zip(DRAFTS, runs, strict=True)
    ]
    answers = read_answers(json.dumps({"cells": cells}).encode(), read_assignment(source))
    assert answers["06.ring"] == "\n\n".join(DRAFTS[place] for place in places)
