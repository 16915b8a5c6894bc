"""The course for learners has no solutions, and a later release leaves their cells alone."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from ddl_class.cli import main
from ddl_class.commands.mistake import Mistake
from ddl_class.release import release, students, update

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''\
# %% [markdown]
# # Rings

# %%
from ddl_class import check

ranks = 4

# %% name="06.ring" tags=["answer"]
def ring_allreduce(comm, x):
    """Sum over all ranks."""
    ### BEGIN SOLUTION
    secret_of_teachers(comm, x)
    ### END SOLUTION

# %% name="06.ring" tags=["check"]
check("06.ring", ring_allreduce)

# %% [markdown]
# A sentence with a mitsake.

# %% name="06.swap" tags=["answer"]
def swap_allreduce(comm, x):
    """Sum over all ranks."""
    ### BEGIN SOLUTION
    secret_of_teachers(comm, x)
    ### END SOLUTION

# %% name="06.swap" tags=["check"]
check("06.swap", swap_allreduce)
'''
FILES = {
    "LICENSE": "free",
    "start.py": "print('start')",
    "ddl_class/fine.py": "good = False\n",
    "ddl_class/__pycache__/fine.pyc": "x",
    "labs/1_x/worksheet.md": "[Mark it](instructor.md), [run](program.py).",
    "labs/1_x/instructor.md": "secret_of_teachers",
    "labs/1_x/checker.py": "secret_of_teachers",
    "labs/1_x/program.py": "print(1)",
    "docs/learner_guide.md": "[answers](answers.md) and [labs](../labs/1_x/worksheet.md)",
    "docs/answers.md": "secret_of_teachers",
    "notebooks/solved/06_rings.ipynb": "secret_of_teachers",
    "notebooks/06_rings.ipynb": "the instructor has tried secret_of_teachers",
    "tests/test_x.py": "secret_of_teachers",
}
STUB = '''\
def swap_allreduce(comm, x):
    """Sum over all ranks."""
    raise NotImplementedError'''
ANSWER = "def ring_allreduce(comm, x):\n    comm.mine(x)"


@pytest.fixture
def clone(tmp_path):
    """A small clone of the course."""
    clone = tmp_path / "clone"
    for name, text in FILES.items() | {"notebooks/source/06_rings.py": SOURCE}.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    return clone


@pytest.fixture
def given(clone, tmp_path):
    """What was handed out first."""
    students.hand_out_course(tmp_path / "given", root=clone)
    return tmp_path / "given"


@pytest.fixture
def mine(given, tmp_path):
    """A learner's copy, with an answer, a cell that was added, and one that was written anew."""
    mine = tmp_path / "mine"
    shutil.copytree(given, mine)
    notebook = read(mine)
    notebook.cells[1].source = notebook.cells[1].source.replace("4", "8")
    notebook.cells[2].source = ANSWER
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="mine")]
    notebook.cells.insert(4, nbformat.v4.new_code_cell("print('added')"))
    notebook.cells.append(nbformat.v4.new_markdown_cell("My notes."))
    write(mine, notebook)
    return mine


def read(folder):
    return nbformat.read(folder / "notebooks" / "06_rings.ipynb", 4)


def write(folder, notebook):
    nbformat.write(notebook, folder / "notebooks" / "06_rings.ipynb")


def sources(folder):
    return [cell.source for cell in read(folder).cells]


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def corrected(clone):
    """A clone in which something was mended."""
    source = clone / "notebooks" / "source" / "06_rings.py"
    source.write_text(SOURCE.replace("mitsake", "mistake").replace("all ranks.", "the ranks."))
    (clone / "ddl_class" / "fine.py").write_text("good = True\n")
    (clone / "labs" / "1_x" / "program.py").write_text("print(2)")


def test_learners_get_what_runs_and_no_solution(given):
    assert sorted(tree(given)) == [
        "LICENSE",
        "README.md",
        "course.json",
        "ddl_class/fine.py",
        "docs/learner_guide.md",
        "labs/1_x/program.py",
        "labs/1_x/worksheet.md",
        "notebooks/06_rings.ipynb",
        "start.py",
    ]
    assert not any(b"secret_of_teachers" in content for content in tree(given).values())
    assert (given / "labs/1_x/worksheet.md").read_text() == "Mark it, [run](program.py)."
    assert (given / "docs/learner_guide.md").read_text() == (
        "answers and [labs](../labs/1_x/worksheet.md)"
    )


def test_a_release_is_signed_by_its_version(clone, given):
    first = students.read_course(given)
    assert students.hand_out_course(given, root=clone) == first
    corrected(clone)
    second = students.hand_out_course(given, root=clone)
    assert (first.number, second.number) == (1, 2)
    assert first.signature != second.signature
    assert second == students.read_course(given)
    (clone / "labs/1_x/program.py").unlink()
    students.hand_out_course(given, root=clone)
    assert not (given / "labs/1_x/program.py").exists()


def test_a_fix_leaves_learners_cells_alone(clone, given, mine, capsys):
    corrected(clone)
    students.hand_out_course(given, root=clone)
    (mine / "labs/1_x/program.py").write_text("print('mine')")
    (mine / "labs/1_x/notes.txt").write_text("mine")
    before = tree(mine)
    assert main(["update", str(given), "--into", str(mine)]) == 0
    told = capsys.readouterr().out
    assert "labs/1_x/program.py was changed: yours is in before_update" in told
    assert "release 2, signature " in told
    code = "from ddl_class import check\n\nranks = 8"
    assert sources(mine) == [
        "# Rings",
        code,
        ANSWER,
        'check("06.ring", ring_allreduce)',
        "print('added')",
        "A sentence with a mistake.",
        STUB.replace("all ranks", "the ranks"),
        'check("06.swap", swap_allreduce)',
        "My notes.",
    ]
    assert read(mine).cells[2].outputs[0].text == "mine"
    assert (mine / "ddl_class/fine.py").read_text() == "good = True\n"
    assert (mine / "labs/1_x/program.py").read_text() == "print(2)"
    assert (mine / "labs/1_x/notes.txt").read_text() == "mine"
    changed = {"labs/1_x/program.py", "notebooks/06_rings.ipynb"}
    assert tree(mine / "before_update" / "2") == {name: before[name] for name in changed}
    # Typed again it changes nothing.
    after = tree(mine)
    assert main(["update", str(given), "--into", str(mine)]) == 0
    assert tree(mine) == after


def test_an_update_that_broke_off_goes_on(clone, given, mine, monkeypatch):
    corrected(clone)
    course = students.hand_out_course(given, root=clone)
    whole = shutil.copytree(mine, mine.with_name("whole"))
    list(update.bring(course, given, whole))
    written = []

    def write_some(path, *others):
        written.append(path)
        if len(written) > 4:
            raise KeyboardInterrupt
        students.write_whole(path, *others)

    monkeypatch.setattr(update, "write_whole", write_some)
    with pytest.raises(KeyboardInterrupt):
        list(update.bring(course, given, mine))
    monkeypatch.undo()
    assert students.read_course(mine).number == 1
    list(update.bring(course, given, mine))
    assert tree(mine) == tree(whole)


def test_a_copy_of_the_notebooks_alone_is_brought_up_to_date(clone, given, mine, tmp_path):
    corrected(clone)
    course = students.hand_out_course(given, root=clone)
    shutil.copytree(mine / "notebooks", tmp_path / "copy" / "notebooks")
    list(update.bring(course, given, tmp_path / "copy"))
    assert "A sentence with a mistake." in sources(tmp_path / "copy")
    assert ANSWER in sources(tmp_path / "copy")
    assert not (tmp_path / "copy" / "ddl_class").exists()


def test_a_notebook_that_is_none_is_put_aside(clone, given, mine):
    corrected(clone)
    course = students.hand_out_course(given, root=clone)
    (mine / "notebooks/06_rings.ipynb").write_text("{half")
    (line,) = update.bring(course, given, mine)
    assert "06_rings.ipynb is no notebook" in line
    assert (mine / "before_update/2/notebooks/06_rings.ipynb").read_text() == "{half"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda given, mine: (given / "start.py").write_text("evil"), "start.py is not as it was"),
        (lambda given, mine: (given / "start.py").unlink(), "start.py is not as it was"),
        (lambda given, mine: (given / "course.json").unlink(), "has no course.json"),
        (lambda given, mine: (given / "course.json").write_text("{"), "cannot be read"),
        (lambda given, mine: shutil.rmtree(mine), "holds nothing of the course"),
    ],
)
def test_what_cannot_be_brought_in_changes_nothing(given, mine, capsys, spoil, told):
    spoil(given, mine)
    before = tree(mine)
    assert main(["update", str(given), "--into", str(mine)]) == 2
    assert told in capsys.readouterr().err
    assert tree(mine) == before


def test_a_course_that_names_files_outside_is_refused(given, mine):
    plain = json.loads((given / "course.json").read_text())
    plain["files"]["../evil.py"] = "0"
    (given / "course.json").write_text(json.dumps(plain))
    with pytest.raises(Mistake, match="outside of the course"):
        students.read_course(given)


def test_an_older_release_does_not_take_the_place_of_a_later_one(clone, given, mine, tmp_path):
    old = shutil.copytree(given, tmp_path / "old")
    corrected(clone)
    course = students.hand_out_course(given, root=clone)
    list(update.bring(course, given, mine))
    with pytest.raises(Mistake, match="release 2 already"):
        list(update.bring(students.read_course(old), old, mine))


def test_another_folder_is_not_written_over(clone, mine, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(Mistake, match="holds other files"):
        students.hand_out_course(tmp_path / "full", root=clone)


def test_the_whole_course_has_its_notebooks_and_no_page_of_teachers():
    paths = set(students.handed_out(ROOT))
    assert {"start.py", "ddl_teach/__init__.py", "labs/2_collectives/program.py"} <= paths
    for path in paths:
        assert not path.startswith(("notebooks/", "tests/", "slides/", "book/"))
        assert not path.endswith(("checker.py", "instructor.md", "answers.md"))


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.stem
)
def test_a_notebook_as_it_was_handed_out_has_no_cell_of_its_own(path):
    notebook = nbformat.read(path, 4)
    assert not any(map(update.is_own, notebook.cells))
    text = release.text(notebook)
    assert update.merged(text, text) == text
