"""`ddl-teach survey analyse`: what a class knew before and after, and how sure that is.

The normalised gain is what was won of what could be won, (after - before) / (1 - before) with the
class's shares of right answers (Hake, "Interactive-engagement versus traditional methods", 1998).
Its interval comes from classes drawn anew from the learners, with replacement. An item's
discrimination is the correlation of its answers with the rest of the test. What to look at: the
wrong answer that most have chosen, for it names what they believe.
"""

import argparse
import csv
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ddl_class.commands.mistake import Mistake
from ddl_class.retrieval.bank import BankItem, find_item
from ddl_class.retrieval.survey import ANSWERS, KEY, SHEETS

FEW, ENOUGH = 10, 30  # learners: for an interval of the class, for a single question
DRAWS = 2000


@dataclass(frozen=True)
class PairedAnswers:
    """The answers of those who filled in both sheets; a row for each of them."""

    items: list[BankItem]
    chosen: dict[str, list[list[str]]]  # by sheet; an empty text where none was marked
    alone: int  # sheets whose other half is missing

    def right(self, sheet: str) -> np.ndarray:
        """1 where an answer is right."""
        answers = [item.answer for item in self.items]
        rows = [[text == answer for text, answer in zip(row, answers, strict=True)]
                for row in self.chosen[sheet]]  # fmt: skip
        return np.array(rows, float).reshape(-1, len(self.items))


def analyse(options: argparse.Namespace) -> int:
    """Print gains, items and mistakes as tables in Markdown."""
    print(report(paired(options.folder)))
    return 0


def paired(folder: Path) -> PairedAnswers:
    """The answers in this folder, or an error that says what in them cannot be."""
    texts: dict[tuple[str, str, str], str] = {}
    names: dict[tuple[str, str], str] = {}
    for row in _rows(folder / KEY, "sheet", "place", "question", "letter", "answer"):
        texts[row["sheet"], row["place"], row["letter"]] = row["answer"]
        names[row["sheet"], row["place"]] = row["question"]
    order = [name for (sheet, _), name in names.items() if sheet == SHEETS[0]]
    items = [item for name in order if (item := find_item(name))]
    if len(items) < len(order):
        raise Mistake(f"{folder / KEY} names questions that this release does not have")
    sheets: dict[str, dict[str, list[str]]] = {sheet: {} for sheet in SHEETS}
    for number, row in enumerate(_rows(folder / ANSWERS, "word", "sheet"), start=2):
        where, word, sheet = f"{folder / ANSWERS}, line {number}", row["word"], row["sheet"]
        word, sheet = word.strip().casefold(), sheet.strip().lower()
        if sheet not in SHEETS:
            raise Mistake(f"{where}: sheet must be {' or '.join(SHEETS)}, not {row['sheet']!r}")
        if word in sheets[sheet]:
            raise Mistake(f"{where}: {row['word']!r} has handed in this sheet already")
        own = {}
        for (kind, place), name in names.items():
            letter = (row.get(place) or "").strip().upper()
            if kind == sheet and letter and (sheet, place, letter) not in texts:
                raise Mistake(f"{where}: question {place} has no answer {letter!r}")
            if kind == sheet:
                own[name] = texts[sheet, place, letter] if letter else ""
        sheets[sheet][word] = [own[name] for name in order]
    both = [word for word in sheets[SHEETS[0]] if word in sheets[SHEETS[1]]]
    chosen = {sheet: [sheets[sheet][word] for word in both] for sheet in SHEETS}
    return PairedAnswers(items, chosen, sum(map(len, sheets.values())) - 2 * len(both))


def _rows(path: Path, *needed: str) -> list[dict[str, str]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        advice = "'ddl-teach survey make FOLDER' makes one"
        raise Mistake(f"{path} cannot be read: {error}. {advice}") from None
    if missing := [name for name in needed if name not in (reader.fieldnames or ())]:
        raise Mistake(f"{path} has no column {missing[0]!r}")
    return rows


def gain(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(after - before) / (1 - before), of shares; nan where all was known before."""
    before, after = np.asarray(before, float), np.asarray(after, float)
    room = np.where(before < 1, 1 - before, np.nan)
    return np.asarray((after - before) / room)


def interval(before: np.ndarray, after: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The 95% interval of the gain, from learners drawn with replacement."""
    shares = before.mean(axis=1), after.mean(axis=1)
    drawn = np.random.default_rng(seed).integers(len(before), size=(DRAWS, len(before)))
    gains = gain(*(share[drawn].mean(axis=1) for share in shares))
    if not np.isfinite(gains).any():
        return math.nan, math.nan
    low, high = np.nanquantile(gains, [0.025, 0.975])
    return float(low), float(high)


def discrimination(right: np.ndarray, item: int) -> float:
    """The correlation of an item with the rest of the test; nan where all answered alike."""
    own, rest = right[:, item], np.delete(right, item, axis=1).sum(axis=1)
    if len(right) < 2 or not own.std() or not rest.std():
        return math.nan
    return float(np.corrcoef(own, rest)[0, 1])


def report(answers: PairedAnswers) -> str:
    """All tables, and what the answers are too few for."""
    learners = len(answers.chosen[SHEETS[0]])
    lines = [f"Both sheets of {learners} learners; {answers.alone} sheets have no other half.", ""]
    if not learners:
        return "\n".join([*lines, "Without pairs nothing can be said. Are the words the same?"])
    before, after = (answers.right(sheet) for sheet in SHEETS)
    units = np.array([item.unit for item in answers.items])
    lines += ["| unit | questions | before | after | gain | 95% interval |", "|---|" + "---|" * 5]
    for unit in ("all", *sorted(set(units))):
        own = (units == unit) | (unit == "all")
        first, last = before[:, own], after[:, own]
        low, high = interval(first, last)
        ends = "too few" if learners < FEW else f"{_number(low)} to {_number(high)}"
        ends += ": may be none" if learners >= FEW and low <= 0 <= high else ""
        won = _number(float(gain(first.mean(), last.mean())))
        shares = f"{first.mean():.0%} | {last.mean():.0%}"
        lines.append(f"| {unit} | {first.shape[1]} | {shares} | {won} | {ends} |")
    lines += ["", "| question | before | after | discrimination | most chosen mistake after |"]
    lines.append("|---|" + "---|" * 4)
    for place in np.argsort(after.mean(axis=0), kind="stable"):
        item, few = answers.items[place], learners < ENOUGH
        cells = [f"{share[:, place].mean():.0%}" for share in (before, after)]
        cells.append("too few" if few else _number(discrimination(after, place)))
        wrong = [row[place] for row in answers.chosen[SHEETS[1]]]
        lines.append(f"| {item.name} | {' | '.join(cells)} | {_mistake(item, wrong)} |")
    return "\n".join([*lines, "", *_limits(learners)])


def _mistake(item: BankItem, chosen: list[str]) -> str:
    counted = Counter(text for text in chosen if text not in ("", item.answer))
    if not counted:
        return "none"
    [(text, often)] = counted.most_common(1)
    return f"{often} of {len(chosen)}: {text} (that {item.distractor(text).mistake})"


def _number(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def _limits(learners: int) -> list[str]:
    limits = []
    if learners < FEW:
        limits.append(
            f"{learners} pairs are too few for intervals: of a class below {FEW} a drawn class "
            "tells little more than itself. Read the mistakes; do not compare units."
        )
    if learners < ENOUGH:
        limits.append(f"Below {ENOUGH} pairs the discrimination of a question is mostly chance.")
    limits.append(
        "Nobody filled in both sheets without the course between them. So a gain may also come "
        "from other sources, or from having seen the questions before."
    )
    return limits
