"""Notebooks in another language, and what is to be translated.

    python notebooks/translate.py de                 look for new and changed texts
    python notebooks/translate.py de FOLDER          make the notebooks that are translated

Texts stand in catalogues in gettext's form (.po), which translators' programs can edit: a
notebook's prose in `notebooks/languages/de/NAME.po`, by paragraphs; what exercises and checks say
in `ddl_class/exercises/languages/de.po`. Of a text that has changed the old translation is kept,
and marked as "fuzzy": it is not used until somebody has looked at it. Code cells stay as they are.

To begin a unit, name its notebooks and its number in `notebooks/languages/units.toml`.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # also where the package is not installed

from ddl_class.exercises import translation
from ddl_class.exercises.kit.texts import read
from ddl_class.release import release

TABLE = HERE / "languages" / "units.toml"


def chosen(language: str) -> tuple[list[str], list[str]]:
    """The notebooks, and the packages whose tables of texts are translated."""
    entry = tomllib.loads(TABLE.read_text(encoding="utf-8"))[language]
    general = ["ddl_class.exercises", "ddl_class.exercises.kit"]
    return entry["notebooks"], [
        *general, *(f"ddl_class.exercises.unit_{unit}" for unit in entry["units"])
    ]  # fmt: skip


def paragraphs(text: str) -> list[str]:
    """A cell's text, cut where lines are empty; a block of code is one paragraph."""
    pieces = [""]
    for line in text.split("\n"):
        inside_code = pieces[-1].count("```") % 2
        if line or inside_code:
            pieces[-1] += f"\n{line}" if pieces[-1] else line
        else:
            pieces.append("")
    return pieces


def prose(name: str) -> Iterator[str]:
    """All paragraphs of a notebook."""
    for cell in release.learners(HERE / "source" / f"{name}.py").cells:
        if cell.cell_type == "markdown":
            own = filter(None, map(plain, paragraphs(cell.source)))
            yield from (text for text in own if not text.startswith("$$"))


def plain(paragraph: str) -> str:
    """A paragraph without its breaks of lines, where these say nothing."""
    laid_out = "```" in paragraph or any(
        line.lstrip().startswith(("-", "|", "#")) or line.startswith(" ")
        for line in paragraph.split("\n")
    )
    return paragraph if laid_out else " ".join(paragraph.split())


def said(package: str) -> Iterator[str]:
    """All that a table of texts says in English."""
    seen: list[str] = []
    file = "exercises.toml" if package[-3:].strip("_").isdigit() else "says.toml"

    def note(text: str) -> str:
        seen.append(text)
        return text

    translation.changed(read(package, file), note)
    yield from seen


def of_code() -> Iterator[str]:
    """The texts that stand in code, as `translated("...")`."""
    for path in sorted(translation.FOLDER.parent.rglob("*.py")):
        for _, text, *_ in extract_from_file("python", path, keywords={"translated": None}):
            yield text if isinstance(text, str) else text[0]


def catalogues(language: str) -> dict[Path, list[str]]:
    """Which texts stand in which catalogue."""
    notebooks, packages = chosen(language)
    folder = TABLE.parent / language
    result = {folder / f"{name}.po": [*prose(name)] for name in notebooks}
    spoken = [text for package in packages for text in said(package)] + [*of_code()]
    return result | {translation.FOLDER / f"{language}.po": spoken}


def renewed(language: str, path: Path, wanted: list[str]) -> Catalog:
    """The catalogue with all texts that are wanted, and with the translations that it has."""
    template, known = Catalog(), Catalog(locale=language)
    for text in wanted:
        template.add(text)
    if path.is_file():
        with path.open("rb") as file:
            known = read_po(file, locale=language)
    known.update(template)
    return known


def translated(name: str, language: str) -> release.NotebookNode:
    """A learner's notebook in that language."""
    words = translation.catalogue(TABLE.parent / language / f"{name}.po")
    notebook = release.learners(HERE / "source" / f"{name}.py")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            own = paragraphs(cell.source)
            cell.source = "\n\n".join(words.get(plain(part)) or part for part in own)
    return notebook


def main(language: str, folder: str = "") -> None:
    """Renew the catalogues, or make the notebooks in the folder."""
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name in chosen(language)[0]:
            text = release.text(translated(name, language))
            (Path(folder) / f"{name}.ipynb").write_text(text, encoding="utf-8")
        print(f"For exercises in that language: export {translation.VARIABLE}={language}")
        return
    for path, wanted in catalogues(language).items():
        catalog = renewed(language, path, wanted)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalog, width=99, ignore_obsolete=True, omit_header=True)
        missing = sum(not message.string or message.fuzzy for message in catalog if message.id)
        print(f"{path.relative_to(HERE.parent)}: {len(catalog)} texts, {missing} to translate")


if __name__ == "__main__":
    main(*sys.argv[1:])
