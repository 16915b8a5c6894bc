"""`ddl-teach review`: the questions in a terminal, and as slides for a class."""

import argparse
import sys
from random import Random

from ddl_class.commands.mistake import Mistake
from ddl_class.exercises.kit.texts import read
from ddl_class.retrieval.bank import LETTERS, items
from ddl_class.retrieval.review import as_text, asked, judged


def command(options: argparse.Namespace) -> int:
    """Ask three questions, or print those of a unit for a class."""
    if options.clicker:
        print(clicker(options.clicker, options.seed))
        return 0
    if not sys.stdin.isatty():
        raise Mistake(
            "a review asks in a terminal, and this is none. In a notebook: from ddl_class import "
            "review, then review() shows the questions and review(2, 1, 3) answers them."
        )
    for item, answers in asked(options.unit or ""):
        print(as_text(item.question, answers))
        number = _number(len(answers))
        if number is None:
            print("\nWhat is not answered stays open.")
            break
        print(judged(item, answers[number - 1] if number else ""), end="\n\n")
    return 0


def _number(most: int) -> int | None:
    """The number that was typed, 0 for an empty line; None at the end of the input."""
    while True:
        try:
            typed = input(f"1 to {most}, or Enter if you do not know: ").strip()
        except EOFError:
            return None
        if typed in ("", *map(str, range(most + 1))):
            return int(typed or 0)
        print(f"{typed!r} is none of the numbers.")


def clicker(unit: str, seed: int = 0) -> str:
    """The questions of a unit as slides in Markdown, easy ones first. The notes of each slide say
    what is right, and what those believe who choose something else."""
    questions = sorted(items(unit), key=lambda item: item.difficulty)
    title, generator = read(f"ddl_class.exercises.unit_{unit}")["title"], Random(seed)
    slides = [f"# Questions on unit {unit}: {title}"]
    for place, item in enumerate(questions, start=1):
        answers = dict(zip(LETTERS, item.options(generator), strict=False))
        shown = "\n".join(f"- **{letter}** {text}" for letter, text in answers.items())
        [right] = [letter for letter, text in answers.items() if text == item.answer]
        notes = [f'{right} is right (section "{item.taught}", difficulty {item.difficulty} of 3).']
        for letter, text in answers.items():
            if letter != right:
                wrong = item.distractor(text)
                notes.append(f"{letter}: believes that {wrong.mistake}. {wrong.reply}")
        comment = "\n".join(notes)
        slides.append(f"## {place}. {item.question}\n\n{shown}\n\n<!-- Notes: {comment} -->")
    return "\n\n---\n\n".join(slides)
