"""The bank of short questions: plain data, a file a unit, `bank/unit_06.toml` for instance.

Each wrong answer is a named mistake: what its chooser believes, and a sentence that answers it.
`computed` is an expression of `ddl_teach.theory` which the tests compare with the answer.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.kit.texts import read

UNITS = sorted(path.stem[-2:] for path in (Path(__file__).parent / "bank").glob("unit_*.toml"))
LETTERS = "ABCD"


@dataclass(frozen=True)
class Distractor:
    """A wrong answer, what its chooser believes, and what to say to that."""

    text: str
    mistake: str
    reply: str


@dataclass(frozen=True)
class BankItem:
    """A question with one right answer."""

    name: str  # unit and question, as in "06.ring_bytes"
    question: str
    answer: str
    taught: str  # the heading of the section, without its number
    difficulty: int  # 1 to 3
    wrong: tuple[Distractor, ...]
    computed: str = ""

    @property
    def unit(self) -> str:
        return self.name[:2]

    @property
    def answers(self) -> list[str]:
        """The right one, and all others."""
        return [self.answer, *(distractor.text for distractor in self.wrong)]

    def options(self, generator: Random) -> list[str]:
        """All answers, in an order that is drawn."""
        return generator.sample(self.answers, len(self.answers))

    def distractor(self, text: str) -> Distractor:
        """The wrong answer that reads like this."""
        return next(each for each in self.wrong if each.text == text)


@cache
def items(unit: str) -> tuple[BankItem, ...]:
    """The questions of a unit, as "06"."""
    if unit not in UNITS:
        raise Mistake(f"no unit {unit!r} has questions. There are {', '.join(UNITS)}.")
    return tuple(
        BankItem(**entry | {"wrong": tuple(Distractor(*parts) for parts in entry["wrong"])})
        for entry in read(__package__, f"bank/unit_{unit}.toml")["items"]
    )


def find_item(name: str) -> BankItem | None:
    """The question of that name; None where a later release has dropped it."""
    known = items(name[:2]) if name[:2] in UNITS else ()
    return next((item for item in known if item.name == name), None)
