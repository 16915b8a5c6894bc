"""Three questions on what was learnt one, seven and thirty days ago: `review()`.

What was recalled stays longer than what was read again (Roediger and Karpicke, "Test-enhanced
learning", 2006). A wrong answer comes again after a day, a right one after 7, 30 and 90. What was
answered, and what is open, stands in the learner's record.
"""

import math
from collections.abc import Mapping
from datetime import date
from functools import partial
from random import Random
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises import record
from ddl_class.retrieval.bank import UNITS, BankItem, find_item, items
from ddl_runtime.diagnosis.page import paragraphs

AGES = (1, 7, 30)  # days since a unit was worked in, one for each question
# Days until a question comes again, after 0, 1, 2, 3 right answers in a row.
WAITS = (1, 7, 30, 90)
LONG_AGO = 30  # where a record is older than its dates
OPEN = "open"  # in the record: the questions that are shown and not yet answered

Asked = tuple[BankItem, list[str]]
"""A question, and its answers in the order in which they are shown."""


def review(*numbers: int, unit: str = "") -> None:
    """Show three questions; `review(2, 1, 3)` answers them, with 0 for "I do not know"."""
    if not numbers:
        shown = asked(unit)
        for place, (item, options) in enumerate(shown, start=1):
            print(as_text(f"{place}. {item.question}", options))
        if shown:
            print("Answer by a number for each, as in review(2, 1, 3); 0 is: I do not know.")
        return
    shown = still_open(record.read())
    if not shown:
        print("No question is open. review() shows some.")
        return
    if len(numbers) != len(shown):
        raise Mistake(f"{len(shown)} questions are open, and you give {len(numbers)} answers")
    for number, (item, options) in zip(numbers, shown, strict=True):
        if number not in range(len(options) + 1):
            raise Mistake(f"{item.name} has answers 1 to {len(options)}, not {number!r}")
    for number, (item, options) in zip(numbers, shown, strict=True):
        print(judged(item, options[number - 1] if number else ""))


def asked(unit: str = "") -> list[Asked]:
    """The questions that are open, or new ones, which are open from now on; says if none is."""
    today = record.today()
    kept = record.read()
    if shown := still_open(kept, unit):
        return shown
    worked = {unit: 0} if unit else days_since_work(kept, today)
    if not worked:
        print(paragraphs(
            "Your record knows of no unit that you have worked in. Check an exercise or make a "
            f'prediction first, or name a unit: review(unit="06"). Kept in {record.folder()}'
        ))  # fmt: skip
        return []
    generator = Random(today.toordinal())
    chosen = sorted(pick(kept, worked, today, generator), key=lambda item: item.name)
    shown = [(item, item.options(generator)) for item in chosen]
    if not shown:
        print("All questions on your units are answered for now. Come back tomorrow.")
        return []
    with record.changing() as kept:
        kept["reviews"][OPEN] = {item.name: options for item, options in shown}
    return shown


def pick(
    kept: record.Record, worked: Mapping[str, int], today: date, generator: Random
) -> list[BankItem]:
    """A question for each of AGES, of those that are due. Wrong answers come first, then units of
    about that many days ago, each once if there are enough."""
    known = kept["reviews"]
    due = [item for unit in worked for item in items(unit) if _is_due(known, item, today)]
    generator.shuffle(due)
    chosen: list[BankItem] = []
    for age in AGES[: len(due)]:
        used = {item.unit for item in chosen}
        chosen.append(min(due, key=partial(_order, known, worked, age, used)))
        due.remove(chosen[-1])
    return chosen


def _order(
    known: Mapping[str, Any], worked: Mapping[str, int], age: int, used: set[str], item: BankItem
) -> tuple[bool, bool, float, bool]:
    wrong = item.name in known and _streak(known[item.name]) == 0
    far = abs(math.log((worked[item.unit] + 1) / (age + 1)))
    return not wrong, item.unit in used, far, item.name in known


def _is_due(known: Mapping[str, Any], item: BankItem, today: date) -> bool:
    days = _days(known.get(item.name, {}), today)
    wait = WAITS[min(_streak(known.get(item.name, {})), len(WAITS) - 1)]
    return days is None or days >= wait


def days_since_work(kept: record.Record, today: date) -> dict[str, int]:
    """For each unit with a try or a prediction, how many days ago the last one was."""
    days: dict[str, int] = {}
    for name, entry in [*kept["exercises"].items(), *kept["predictions"].items()]:
        if name[:2] in UNITS:
            ago = _days(entry, today)
            ago = LONG_AGO if ago is None else ago
            days[name[:2]] = min(days.get(name[:2], ago), ago)
    return days


def _days(entry: Mapping[str, Any], today: date) -> int | None:
    try:
        return max(0, (today - date.fromisoformat(entry["last"])).days)
    except (KeyError, TypeError, ValueError):
        return None


def _streak(entry: Mapping[str, Any]) -> int:
    streak = entry.get("streak", 0)
    return streak if isinstance(streak, int) and streak > 0 else 0


def still_open(kept: record.Record, unit: str = "") -> list[Asked]:
    """The questions not yet answered, as they were shown; of one `unit` if it is named."""
    shown = [(find_item(name), options) for name, options in kept["reviews"].get(OPEN, {}).items()]
    return [
        (item, options)
        for item, options in shown
        if item is not None and unit in ("", item.unit)
        if isinstance(options, list) and sorted(map(str, options)) == sorted(item.answers)
    ]


def judged(item: BankItem, chosen: str) -> str:
    """What to say to an answer, which is recorded; an empty one is "I do not know"."""
    right = chosen == item.answer
    with record.changing() as kept:
        entry = record.of(kept, "reviews", item.name)
        entry |= {"streak": _streak(entry) + 1 if right else 0, "last": str(record.today())}
        kept["reviews"].get(OPEN, {}).pop(item.name, None)
    if right:
        return paragraphs(f"✓ {item.name}: {chosen}.")
    why = f"not {chosen}. {item.distractor(chosen).reply} R" if chosen else "r"
    return paragraphs(
        f"✗ {item.name}: {why}ight is: {item.answer}.\n"
        f'Unit {item.unit}, "{item.taught}". It comes again tomorrow.'
    )


def as_text(question: str, options: list[str]) -> str:
    """A question with its numbered answers."""
    lines = [f"   {number}  {text}" for number, text in enumerate(options, start=1)]
    return "\n".join([paragraphs(question), *lines, ""])
