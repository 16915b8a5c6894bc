"""What the command line understands, one line for a word: its type follows from what it takes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any


def command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    act: str = "",
) -> argparse.ArgumentParser:
    """A command that calls `act`, "module:function", which is imported only then. Its text says
    what it does in a line, then in a paragraph, then what is to be seen below its options."""
    about, paragraph, below = [*text.split("\n\n", 2), "", ""][:3]
    raw = argparse.RawDescriptionHelpFormatter if "\n" in below else argparse.HelpFormatter
    paragraph = " ".join(paragraph.split())
    parser = commands.add_parser(
        name, help=about, description=paragraph, epilog=below, formatter_class=raw
    )
    if act:
        parser.set_defaults(act=partial(_call, act))
    return parser


def takes(
    parser: argparse._ActionsContainer, word: str, about: str | None = None, **more: Any
) -> None:
    """The command takes a flag `--short`, an option `--ranks N` or an argument `folder FOLDER`."""
    name, _, value = word.partition(" ")
    usual = {"metavar": value, "type": _kind(value)} if value else {"action": "store_true"}
    parser.add_argument(name, help=about, **usual | more)


def _above_zero(kind: Callable[[str], float], what: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            raise argparse.ArgumentTypeError(f"{what}, not '{text}'")
        return number

    return read


KINDS = {
    "N": _above_zero(int, "a whole number, at least 1"),
    "SECONDS": _above_zero(float, "a positive number of seconds"),
}


def _kind(value: str) -> Callable[[str], Any]:
    is_path = re.fullmatch(r"FILE|FOLDER|\w+\.\w+", value)
    return KINDS.get(value, Path if is_path else str)


def _call(act: str, options: argparse.Namespace) -> int:
    module, _, function = act.partition(":")
    status: int = getattr(import_module(module), function)(options)
    return status
