"""The options of every lab's program, for the program itself and for `ddl-teach labs run`."""

import argparse

PATIENCE = 600  # seconds
PROGRAM_WORDS = f"""\
  --begin                only write the questions' form
  --short                little, to try whether it runs
  --out FOLDER           what is handed in (default: hand_in/LAB)
  --set NAME=VALUE ...   a setting
  --timeout SECONDS = {PATIENCE}"""


def words_of(options: argparse.Namespace) -> list[str]:
    """The options as words of a command line."""
    words = [f"--{name}" for name in ("begin", "short") if getattr(options, name)]
    words += [] if options.out is None else ["--out", str(options.out)]
    words += [word for pair in options.set for word in ("--set", pair)]
    return [*words, "--timeout", str(options.timeout)]
