"""What is graded stands in the instructor's source, with all that an answer may make use of."""

import numpy as np
import pytest
from handed_in import Desk

from ddl_teach.course import release
from ddl_teach.course.grading.assignment import read_assignment
from ddl_teach.course.grading.batch import grade
from ddl_teach.course.grading.untrusted_stage import UntrustedStage
from ddl_teach.course.mistake import Mistake


def test_what_a_source_defines_runs_before_the_answers_that_use_it(tmp_path):
    source = tmp_path / "06_more.py"
    source.write_text(
        """\
# %%
import math
import numpy as np
from ddl_teach.collectives import ring
from ddl_teach.course import check
from ddl_teach.operators import graphs
from ddl_teach.theory import inputs

SIZE = 4
engines = start()

# %%
def helper(x):
    return np.sum(x) + SIZE

# %%
# %%px
print(comm.rank)

# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    pass

# %% name="06.ring" tags=["check"]
check("06.ring", ring_allreduce)

# %% name="06.swap" tags=["answer"]
def swap_allreduce(comm, x):
    pass

# %% name="06.swap" tags=["check"]
check("06.swap", swap_allreduce)
"""
    )
    assignment = read_assignment(source)
    ring, swap = assignment.exercises
    # Rooms that a sandbox does not show are not imported there, whatever the answer speaks of.
    asked = "helper(1)  # check, graphs, inputs"
    answers = {"06.ring": asked, "06.swap": "ring_allreduce()  # math"}
    first, second = assignment.cells(ring, answers)
    assert first[1].splitlines() == [
        "import numpy as np",
        "from ddl_teach.theory import inputs",
        "SIZE = 4",
        "def helper(x):",
        "    return np.sum(x) + SIZE",
    ]
    assert second == ("the answer to 06.ring", asked)
    names = [name for name, _ in assignment.cells(swap, answers)]
    assert names == ["the instructor's cells", "the answer to 06.ring", "the answer to 06.swap"]


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


def test_an_answer_may_let_the_library_stand_in_for_another_exercise(tmp_path, nursery):
    desk = Desk(tmp_path)
    text = desk.source.read_text()
    first = """\
# %% name="06.reduce_scatter" tags=["answer"]
def ring_reduce_scatter(comm, x):
    ### BEGIN SOLUTION
    x += SIZE
    ### END SOLUTION

# %% name="06.reduce_scatter" tags=["check"]
check("06.reduce_scatter", ring_reduce_scatter)

# %%
SIZE = 4

"""
    desk.source.write_text(text.replace("# %% name", first + "# %% name", 1))
    assignment = read_assignment(desk.source)
    scatter, ring, _ = assignment.exercises
    answer = "def ring_allreduce(comm, x):\n    ring.reduce_scatter(comm, x)\n"
    cells = assignment.cells(ring, {"06.ring": answer, "06.reduce_scatter": "1 / 0"})
    with UntrustedStage(nursery, cells, "ring_allreduce") as stage:
        assert stage.run(1, [(np.zeros(1),)]).arguments[0][0] == 4
    own = assignment.cells(scatter, {"06.reduce_scatter": "ring.reduce_scatter()"})
    assert "x += SIZE" not in own[0][1]
