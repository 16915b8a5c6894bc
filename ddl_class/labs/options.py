"""The options of every lab's program, for the program itself and for `ddl-teach labs run`."""

from __future__ import annotations

import argparse
from pathlib import Path

PATIENCE = 600.0  # seconds


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """The words that a lab's program knows."""
    parser.add_argument("--begin", action="store_true", help="only write the questions' form")
    parser.add_argument("--short", action="store_true", help="little, to try whether it runs")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="what is handed in; default: hand_in/LAB"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="pairs", help="a setting"
    )
    parser.add_argument(
        "--timeout", type=float, default=PATIENCE, metavar="SECONDS", help=f"default: {PATIENCE:g}"
    )


def words_of(options: argparse.Namespace) -> list[str]:
    """The same words again, as they are typed."""
    words = [f"--{name}" for name in ("begin", "short") if getattr(options, name)]
    words += [] if options.out is None else ["--out", str(options.out)]
    for pair in options.pairs:
        words += ["--set", pair]
    return [*words, "--timeout", str(options.timeout)]
