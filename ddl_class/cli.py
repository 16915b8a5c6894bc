"""The command-line tool: what people do outside a notebook.

It ends with 0 if all went well, and with 2 if what was typed cannot be done. It ends with 1 if the
program failed, the doctor found a failure or a recipe missed its target.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import listing
from ddl_class.commands.words import command_line
from ddl_class.labs.options import PROGRAM_WORDS
from ddl_teach.fault_tolerance.again import CRASHES

MISTAKEN, INTERRUPTED = 2, 130

ABOUT = "Run rank programs, check this machine, open the course."
PAGES = Path(__file__).with_name("commands") / "pages.txt"


def progress(_: argparse.Namespace) -> int:
    """Show which exercises are solved."""
    from ddl_class.exercises.progress import progress_text

    print(progress_text())
    return 0


def parser() -> argparse.ArgumentParser:
    """The whole command line, with its commands and their options."""
    facts = {"networks": listing(), "cores": os.cpu_count() or 1}
    facts |= {"crashes": CRASHES, "program": PROGRAM_WORDS}
    return command_line("ddl-teach", ABOUT, PAGES.read_text("utf-8").format(**facts))


def main(words: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    options = parser().parse_args(words)
    try:
        status: int = options.act(options)
        sys.stdout.flush()
        return status
    except Mistake as mistake:
        print(f"ddl-teach: {mistake}", file=sys.stderr)
        return MISTAKEN
    except BrokenPipeError:  # the reader of the output has ended, as in `| head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "Interrupted.", file=sys.stderr)
        return INTERRUPTED
