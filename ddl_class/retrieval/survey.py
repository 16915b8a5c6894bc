"""`ddl-teach survey make`: one test for before and after, from the bank of questions.

Both sheets have the same questions, in opposite order and with their answers in other places. No
names: a word that only the learner knows pairs the two.
"""

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from ddl_class.commands.mistake import Mistake
from ddl_class.release.curriculum import LESSONS
from ddl_class.retrieval.bank import LETTERS, BankItem, items

SHEETS = ("before", "after")
KEY, ANSWERS = "key.csv", "answers.csv"
HEAD = """# What do you know? {sheet} the course

No names, please. A word that only you know, the same on both sheets: ______________________

Mark one answer for each question, or none if you do not know.
"""


def make(options: argparse.Namespace) -> int:
    """Write both sheets, their key, and an empty table for the answers."""
    folder: Path = options.folder
    if (folder / ANSWERS).exists():
        raise Mistake(f"{folder / ANSWERS} exists already: name another folder")
    starred = [number for number, lesson in LESSONS.items() if lesson.starred]
    named = [unit.strip() for unit in options.units.split(",")] if options.units else starred
    units = dict.fromkeys(named)  # each once
    generator = Random(options.seed)
    chosen = [item for unit in units for item in drawn(unit, options.each, generator)]
    folder.mkdir(parents=True, exist_ok=True)
    key: list[Sequence[object]] = []
    for sheet, order in zip(SHEETS, (chosen, chosen[::-1]), strict=True):
        lines = [HEAD.format(sheet=sheet.capitalize())]
        for place, item in enumerate(order, start=1):
            lines.append(f"**{place}.** {item.question}\n")
            for letter, text in zip(LETTERS, item.options(generator), strict=False):
                lines.append(f"- ☐ **{letter}** {text}")
                key.append((sheet, place, item.name, letter, text))
            lines.append("")
        (folder / f"{sheet}.md").write_text("\n".join(lines), encoding="utf-8")
    _write(folder / KEY, [("sheet", "place", "question", "letter", "answer"), *key])
    _write(folder / ANSWERS, [("word", "sheet", *range(1, len(chosen) + 1))])
    print(f"{folder}: before.md and after.md to hand out, {len(chosen)} questions. Type a line of")
    print(f"{ANSWERS} for each sheet: the word, before or after, and the letters; nothing where")
    print(f"none is marked. Then: ddl-teach survey analyse {folder}")
    return 0


def drawn(unit: str, each: int, generator: Random) -> list[BankItem]:
    """So many questions of a unit."""
    known = items(unit)
    if each > len(known):
        raise Mistake(f"unit {unit} has {len(known)} questions, not {each}")
    return generator.sample(known, each)


def _write(path: Path, rows: Iterable[Sequence[object]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
