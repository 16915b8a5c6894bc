"""The options of every lab's program, for the program itself and for `ddl-teach labs run`."""

import argparse

from ddl_class.commands.words import takes

PATIENCE = 600.0  # seconds


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """The words that a lab's program knows."""
    takes(parser, "--begin", "only write the questions' form")
    takes(parser, "--short", "little, to try whether it runs")
    takes(parser, "--out FOLDER", "what is handed in; default: hand_in/LAB")
    takes(parser, "--set NAME=VALUE", "a setting", dest="pairs", action="append", default=[])
    takes(parser, "--timeout SECONDS", f"default: {PATIENCE:g}", type=float, default=PATIENCE)


def words_of(options: argparse.Namespace) -> list[str]:
    """The same words again, as they are typed."""
    words = [f"--{name}" for name in ("begin", "short") if getattr(options, name)]
    words += [] if options.out is None else ["--out", str(options.out)]
    words += [word for pair in options.pairs for word in ("--set", pair)]
    return [*words, "--timeout", str(options.timeout)]
