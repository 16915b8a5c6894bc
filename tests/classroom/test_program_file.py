"""Files that are imported by their paths: each under a name of its own, and no folder stays."""

import sys

import pytest

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import import_file, load_program
from ddl_teach import simulate

PROGRAM = """
from beside import NUMBER

def number(comm):
    return NUMBER
"""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders with files of the same names."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        (folder / "beside.py").write_text(f"NUMBER = {number}")
    yield [tmp_path / "1", tmp_path / "2"]
    sys.modules.pop("beside", None)


def test_two_files_of_one_name_do_not_meet(folders):
    first, second = (import_file(folder / "program.py") for folder in folders)
    assert [module.NUMBER for module in (first, second)] == [1, 2]
    assert first.__name__ != second.__name__
    for module in (first, second):
        assert sys.modules[module.__name__] is module
    assert "beside" not in sys.modules
    assert not {str(folder) for folder in folders} & set(sys.path)


def test_the_functions_of_both_run_on_ranks(folders):
    runs = [simulate(import_file(folder / "program.py").number, 2) for folder in folders]
    assert [run.results for run in runs] == [[1, 1], [2, 2]]


def test_what_was_known_by_that_name_before_is_not_taken_and_stays(folders):
    known = sys.modules["beside"] = type(sys)("beside")
    assert import_file(folders[0] / "program.py").NUMBER == 1
    assert sys.modules["beside"] is known


def test_a_file_that_fails_leaves_no_folder(folders):
    (folders[0] / "program.py").write_text("import beside; beside.absent")
    with pytest.raises(Exception, match="absent"):
        import_file(folders[0] / "program.py")
    assert str(folders[0]) not in sys.path
    assert "beside" not in sys.modules


def test_a_program_of_ranks_keeps_its_folder(folders):
    assert load_program(f"{folders[1]}/program.py:number")(None) == 2
    assert sys.path[0] == str(folders[1])


def test_a_file_that_is_not_there_names_those_that_are(folders):
    with pytest.raises(Mistake, match=r"beside\.py, program\.py"):
        import_file(folders[0] / "absent.py")
