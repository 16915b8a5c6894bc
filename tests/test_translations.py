"""One unit in a second language: every text has a translation, and code stays as it is."""

import re
import runpy
import string
import subprocess
import sys
from pathlib import Path

import pytest

from ddl_class.exercises import translation
from ddl_class.release import release

ROOT = Path(__file__).resolve().parents[1]
TOOL = runpy.run_path(str(ROOT / "notebooks" / "translate.py"))
GERMAN = {
    path.stem: (wanted, translation.catalogue(path))
    for path, wanted in TOOL["catalogues"]("de").items()
}
PAIRS = [
    (text, words[text]) for wanted, words in GERMAN.values() for text in wanted if text in words
]
WRONG = """
from ddl_class import check, hint
def swapped(comm): return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
try:
    check("00.neighbours", swapped)
except Exception as error:
    print(error)
def right(comm): return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
check("00.neighbours", right)
hint("00.neighbours")
"""


def in_german(code, folder, language="de"):
    environment = {"DDL_TEACH_LANGUAGE": language, "DDL_TEACH_DATA": str(folder), "PATH": ""}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment
    )


@pytest.mark.parametrize("name", GERMAN)
def test_every_text_is_translated_and_no_other(name):
    wanted, words = GERMAN[name]
    assert [text for text in wanted if not words.get(text)] == []
    assert set(words) - {*wanted, ""} == set()


def fields(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


@pytest.mark.parametrize(("text", "german"), PAIRS)
def test_a_translation_has_the_same_values_formulas_and_code(text, german):
    if "$" not in text:  # where braces are values
        assert set(fields(german)) == set(fields(text))
    assert sorted(re.findall(r"\$[^$]+\$", german)) == sorted(re.findall(r"\$[^$]+\$", text))
    drawn = r"```text.*?```"  # a picture made of letters, which may have words
    german, text = re.sub(drawn, "", german, flags=re.S), re.sub(drawn, "", text, flags=re.S)
    own, other = (re.findall(r"`[^`]+`", " ".join(words.split())) for words in (german, text))
    assert sorted(own) == sorted(other)
    assert german[:2].strip("#- ") != "" or german[:2] == text[:2]


def test_all_notebooks_of_a_unit_are_translated():
    names, packages = TOOL["chosen"]("de")
    every = [path.stem for path in (ROOT / "notebooks" / "source").glob("*.py")]
    there = [name for name in every if f"ddl_class.exercises.unit_{name[:2]}" in packages]
    assert sorted(names) == sorted(there)


@pytest.mark.parametrize("name", TOOL["chosen"]("de")[0])
def test_only_prose_of_a_notebook_changes(name):
    english = release.learners(ROOT / "notebooks" / "source" / f"{name}.py")
    german = TOOL["translated"](name, "de")
    assert [cell.id for cell in german.cells] == [cell.id for cell in english.cells]
    for own, other in zip(english.cells, german.cells, strict=True):
        if own.cell_type == "code":
            assert other == own
        else:
            formulas = [line for line in own.source.split("\n\n") if line.startswith("$$")]
            assert other.source != own.source
            assert [
                line for line in other.source.split("\n\n") if line.startswith("$$")
            ] == formulas


def test_checks_and_hints_speak_german_where_they_are_asked_to(tmp_path):
    done = in_german(WRONG, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Sie sind vertauscht: Gib den linken zuerst zurück." in done.stdout
    assert "✓ 00.neighbours: richtig auf 1, 2, 3, 4, 5, 8 und" in done.stdout
    assert "Hinweis 1 von 3: Deine eigene Nummer ist comm.rank." in done.stdout
    assert "right" not in done.stdout.replace("richtig", "")


def test_a_language_that_is_not_there_is_named(tmp_path):
    done = in_german('from ddl_class import hint\nhint("00.line")', tmp_path, "xx")
    assert "DDL_TEACH_LANGUAGE=xx: this language is not here. Take one of en, de." in done.stderr


def test_a_text_that_changes_is_to_be_looked_at_again(tmp_path):
    path = tmp_path / "de.po"
    path.write_text('msgid "Return two ranks, please."\nmsgstr "Gib zwei Ränge zurück, bitte."\n')
    catalog = TOOL["renewed"]("de", path, ["Return two ranks now, please."])
    [message] = [message for message in catalog if message.id]
    assert message.fuzzy
    with path.open("wb") as file:
        TOOL["write_po"](file, catalog)
    assert translation.catalogue.__wrapped__(path) == {}


def test_the_notebooks_are_written(tmp_path):
    tool = ROOT / "notebooks" / "translate.py"
    subprocess.run([sys.executable, tool, "de", tmp_path / "out"], check=True, cwd=ROOT)
    made = {path.stem: path.read_text() for path in (tmp_path / "out").glob("*.ipynb")}
    assert set(made) == set(TOOL["chosen"]("de")[0])
    assert "Ein Rundgang durch das Gelände" in made["00_tour"]
