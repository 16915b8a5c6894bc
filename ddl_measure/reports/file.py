"""A report as a file: JSON that a person can read, there whole or not at all.

Lists of numbers and words stand on few lines; a number is written with all its digits, so
that what is read is what was measured. What never came is written "never" and read as infinite.
A word that the format does not know is refused with the nearest one that it does: a fact under a
misspelt name would be a fact that no rule finds. What is not said may be missing: that is for
`review` to find.
"""

import difflib
import json
import math
import re
import reprlib
import textwrap
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from ddl_measure.reports.report import Report
from ddl_runtime.records.whole_file import write_whole

FORMAT = 1
MARK = "ddl-teach report"
NEVER = "never"
SHORT = re.compile(r'\[\n(?:[-+.\deE,\s]|"[^"\s\\]*")+\]')  # and words
SCALARS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def save(path: Path | str, report: Report) -> None:
    """Keep a report: after this the file is there whole, or as it was before."""
    write_whole(Path(path), to_json(report))


def load(path: Path | str) -> Report:
    """Read what `save` wrote, or what a person wrote in its format."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        return from_json(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def to_json(report: Report) -> str:
    """A report as JSON with one line for each part; lists of numbers and words are folded."""
    plain = {MARK: FORMAT, **_plain(report, "report")}
    text = json.dumps(plain, indent=2, ensure_ascii=False)
    fold = partial(textwrap.fill, width=64, subsequent_indent=" " * 10, break_on_hyphens=False)
    return SHORT.sub(lambda match: f"[{fold(' '.join(match[0][1:-1].split()))}]", text) + "\n"


def from_json(text: str) -> Report:
    """The report that a text holds."""
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"this is not JSON: {error}") from None
    if not isinstance(data, dict) or data.pop(MARK, None) != FORMAT:
        raise ValueError(f'a report begins with {{"{MARK}": {FORMAT}; save() writes one')
    try:
        report: Report = _read(data, Report, "report")
    except (OverflowError, RecursionError) as error:  # a reader of many goes on with the next
        raise ValueError(f"a number too large, or lists too deep in each other: {error}") from None
    return report


def _plain(value: Any, where: str) -> Any:
    """Data that JSON has; fields that say nothing are left out."""
    if is_dataclass(value):
        values = [
            (field.name, getattr(value, field.name), field.default) for field in fields(value)
        ]
        return {
            name: _plain(part, f"{where}.{name}") for name, part, usual in values if part != usual
        }
    if isinstance(value, Mapping):
        return {str(name): _plain(part, f"{where}.{name}") for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part, f"{where}[{place}]") for place, part in enumerate(value)]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value == math.inf:
        return NEVER
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise ValueError(
        f"{where} = {value!r} ({type(value).__name__}) cannot be kept: give a text, a finite "
        "number, `inf` for what never came, or a tuple of these"
    )


def _read(value: Any, kind: Any, where: str) -> Any:
    """`value` from JSON as `kind`, or an error that says where it is not that."""
    choices = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if value is None and type(None) in choices:
        return None
    kind = choices[0]
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise ValueError(f"{where} must be fields with values, not {reprlib.repr(value)}")
        known = get_type_hints(kind)
        for name in value:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known)}"
                raise ValueError(f"{where} has no field '{name}': {hint}")
        parts = {name: _read(part, known[name], f"{where}.{name}") for name, part in value.items()}
        return kind(**parts)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{where} must be a list, not {reprlib.repr(value)}")
        inner = get_args(kind)[0]
        return tuple(_read(part, inner, f"{where}[{place}]") for place, part in enumerate(value))
    if get_origin(kind) is not None:  # a mapping
        if not isinstance(value, dict):
            raise ValueError(f"{where} must be names with values, not {reprlib.repr(value)}")
        inner = get_args(kind)[1]
        return {name: _read(part, inner, f"{where}.{name}") for name, part in value.items()}
    if kind is object:
        return (
            tuple(_read(part, object, where) for part in value) if type(value) is list else value
        )
    if kind is float and value == NEVER:
        return math.inf
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"{where} must be {SCALARS[kind]}, not {reprlib.repr(value)}")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f'{name} is no number that was measured; write "{NEVER}" for what never came')
