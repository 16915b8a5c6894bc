"""From a source: what the learner gets, what the solved notebook has, what nbgrader accepts."""

import re

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.registry import find_exercise
from ddl_class.release import release

pytestmark = pytest.mark.slow

SOURCE = '''\
# %% [markdown]
# # Rings

# %%
from ddl_teach.collectives import ring
from ddl_class import check, judge


# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    """Sum over all ranks, in place."""
    ### BEGIN SOLUTION
    ring.allreduce(comm, x)
    ### END SOLUTION


# %% name="06.ring" tags=["check"]
check("06.ring", ring_allreduce)
### BEGIN HIDDEN TESTS
judge("06.ring", ring_allreduce, ranks=(6, 7), seed=7)
### END HIDDEN TESTS

# %% [markdown]
# That was it.
'''
MARKDOWN = "# %% [markdown]\n# Before all.\n\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "sources" / "06_rings.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


def code(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


def test_learners_get_a_stub_and_no_hidden_tests(source):
    notebook = release.learners(source)
    answer, check = notebook.cells[2:4]
    assert answer.source.splitlines()[-1] == "    raise NotImplementedError"
    assert "ring.allreduce" not in code(notebook)
    assert check.source == 'check("06.ring", ring_allreduce)'
    assert not re.search("SOLUTION|HIDDEN", code(notebook))


def test_learners_cannot_change_what_checks_them(source):
    answer, check = release.learners(source).cells[2:4]
    assert check.metadata.editable is check.metadata.deletable is False
    assert answer.metadata.deletable is False
    assert "editable" not in answer.metadata
    assert check.metadata.nbgrader.points == find_exercise("06.ring").points
    assert check.metadata.nbgrader.checksum


def test_the_solved_notebook_has_all_but_the_marks(source):
    text = code(release.solved(source))
    assert "    ring.allreduce(comm, x)" in text
    assert "judge(" in text
    assert "###" not in text


def test_a_notebook_without_exercises_needs_no_solved_one(tmp_path):
    path = tmp_path / "00_words.py"
    path.write_text(MARKDOWN)
    assert release.solved(path) is None
    assert release.learners(path).cells[0].source == "Before all."


@pytest.mark.parametrize("make", [release.instructors, release.learners, release.solved])
def test_both_are_valid_and_always_the_same(source, make):
    text = release.text(make(source))
    nbformat.validate(nbformat.reads(text, as_version=4))
    MetadataValidator().validate_nb(make(source))
    assert text == release.text(make(source))


def test_a_cell_keeps_its_id(source):
    before = [cell.id for cell in release.learners(source).cells]
    assert before[2:4] == ["06-ring-answer", "06-ring-check"]
    assert [cell.id for cell in release.solved(source).cells] == before
    source.write_text(MARKDOWN + SOURCE.replace("ring.allreduce(comm, x)", "..."))
    assert [cell.id for cell in release.learners(source).cells][1:] == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('tags=["check"]', 'tags=["answer"]', "has two answer cells"),
        ("06.ring", "06.rnig", "Did you mean"),
        (' name="06.ring"', "", "has no name of an exercise"),
        ('tags=["answer"]', "", "non-solution cell"),
        ('tags=["check"]', "", "non-grade cell"),
        ("### END SOLUTION", "", "no end solution statement"),
    ],
)
def test_a_wrong_source_is_refused(source, old, new, words):
    source.write_text(SOURCE.replace(old, new))
    with pytest.raises(Mistake, match=words):
        release.learners(source)


def test_nbgrader_makes_the_very_notebook_that_learners_have(source, tmp_path):
    course, text = tmp_path / "course", SOURCE.replace("06.ring", "06.pass_round")
    exercise = find_exercise("06.pass_round")  # of which learners get the lines, in no order
    source.write_text(text)
    (made,) = release.hand_out(course, source.parent)
    assert made.read_text() == release.text(release.learners(source))
    assert f"    # {exercise.order[0]}" in made.read_text()
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "ddl-teach") as gradebook:
        assert gradebook.find_assignment("06_rings").max_score == exercise.points
    # Again, over what is there.
    source.write_text(text.replace("That was it", "That was all"))
    release.hand_out(course, source.parent)
    assert "That was all" in made.read_text()


@pytest.mark.parametrize("sources", [".", "nowhere"])
def test_without_sources_it_is_said_where_they_are(tmp_path, sources):
    with pytest.raises(Mistake, match="in a clone of the course"):
        release.hand_out(tmp_path / "course", tmp_path / sources)


@pytest.mark.long
def test_an_instructor_s_own_settings_are_kept(source, tmp_path):
    course = tmp_path / "course"
    course.mkdir()
    settings = course / "nbgrader_config.py"
    settings.write_text("c = get_config()\n")  # of an earlier version
    release.hand_out(course, source.parent)
    assert (course / "nbgrader_config.py.before").read_text() == "c = get_config()\n"
    settings.write_text(settings.read_text() + "c.Exchange.root = '/srv'\n")
    release.hand_out(course, source.parent)
    assert settings.read_text().endswith("c.Exchange.root = '/srv'\n")
