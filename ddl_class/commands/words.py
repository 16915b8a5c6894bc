"""A command line from its help: a page of text for each command says all that it understands.

    = box up: clusters.box.command:up     what carries it out, imported only then
    make the box                          a line about it
      --nodes N = 4       of the box      an option, what it takes, what that is otherwise; help
      --out FOLDER = ?                    must be given
      --share FOLDER ...  more folders    may be repeated; of an argument: at least one
      --box [NAME = box]  in a box        what it takes may be left out
      --short             not all         a flag; --no-feedback is one for `feedback`

    A paragraph about it; below it examples, where there are any.

What is taken follows from its name: N is a whole number above 0, FILE.json a path, a|b one of the
two, COMMAND the rest of the line. `> name` says by which name it is kept. The words of a command
that does nothing by itself are those of all commands in it.
"""

import argparse
import re
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

WORD = re.compile(
    r"(?P<name>[\w-]+)( \[(?P<maybe>\w+)( = (?P<given>\w+))?\]| (?P<value>[^ =>\[]\S*))?"
    r"(?P<many> \.\.\.)?( = (?P<default>\S+))?( > (?P<dest>\w+))?( {2,}(?P<help>.*))?",
    re.DOTALL,
)


def command_line(prog: str, about: str, pages: str) -> argparse.ArgumentParser:
    """The parser of all commands that `pages` describe. The page of a command stands before those
    of its subcommands."""
    whole = argparse.ArgumentParser(
        prog=prog, description=about, epilog=f"{prog} COMMAND --help says more about each."
    )
    parsers = {"": whole}
    common: dict[str, list[str]] = {"": []}
    verbs = {"": whole.add_subparsers(metavar="COMMAND", required=True)}
    for page in f"\n{pages}".split("\n= ")[1:]:
        first, *paragraphs = page.rstrip().split("\n\n")
        head, about, *words = re.split("\n(?=  [^ ]|[^ ])", first)
        name, _, act = head.removesuffix(":").partition(": ")
        outer, _, own = name.rpartition(" ")
        if outer not in verbs:
            wanted = outer in common
            verbs[outer] = parsers[outer].add_subparsers(metavar="VERB", required=wanted)
        parser = parsers[name] = verbs[outer].add_parser(
            own,
            help=about,
            description=" ".join(paragraphs[0].split()) if paragraphs else about,
            epilog="\n\n".join(paragraphs[1:]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if act:
            parser.set_defaults(act=partial(_call, act))
            add_words(parser, [*common.get(outer, ()), *words])
        else:
            common[name] = words
    return whole


def add_words(parser: argparse.ArgumentParser, words: Iterable[str]) -> None:
    """Add these options and arguments to the parser."""
    for line in words:
        word = WORD.fullmatch(line.strip())
        if word is None:
            raise ValueError(f"{line!r} is no option or argument")
        name, value = word["name"], word["value"] or word["maybe"]
        is_option, default = name.startswith("--"), word["default"]
        about = " ".join((word["help"] or "").split())
        how: dict[str, Any] = {"dest": word["dest"]} if word["dest"] else {}
        if value is None:
            how["action"] = "store_true"
            if name.startswith("--no-"):
                how = {"action": "store_false", "dest": name.removeprefix("--no-")}
        elif "|" in value:
            how["choices"] = value.split("|")
        else:
            is_path = re.fullmatch(r"FILE|FOLDER|\w+\.\w+", value)
            how |= {"metavar": value, "type": Path if is_path else KINDS.get(value, str)}
        if default == "?":
            how["required"] = True
        elif default:
            how["default"], about = default, f"{about} (default: {default})".strip()
        if value == "COMMAND":
            how["nargs"] = argparse.REMAINDER
        elif word["many"] and is_option:
            how |= {"action": "append", "default": []}
        elif word["many"]:
            how["nargs"] = "*" if word["maybe"] else "+"
        elif word["maybe"]:
            how |= {"nargs": "?"} | (
                {"const": word["given"]} if name.startswith("--") else {"default": ""}
            )
        parser.add_argument(name, help=about, **how)


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


KINDS: dict[str, Callable[[str], Any]] = {
    "N": _above_zero(int, "a whole number, at least 1"),
    "SECONDS": _above_zero(float, "a positive number of seconds"),
    "NUMBER": _above_zero(float, "a positive number"),
    "COUNT": int,
}


def _call(act: str, options: argparse.Namespace) -> int:
    module, _, function = act.partition(":")
    status: int = getattr(import_module(f"ddl_class.{module}"), function)(options)
    return status
