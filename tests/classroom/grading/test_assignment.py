"""What is graded stands in the instructor's source, with all that an answer may make use of."""

import pytest
from handed_in import Desk

from ddl_class.commands.mistake import Mistake
from ddl_class.grading.batch import grade
from ddl_class.grading.submission import read_assignment
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
