"""The notes of a site: what an instructor fills in once, and every batch script reads.

They stand in `cluster_setup/site.sh`, lines NAME=value that a shell and this file both understand.
Only what differs from site to site stands there; everything else is the course's own business.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields
from pathlib import Path

from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.machine_checks import ROOT

SETUP = ROOT / "cluster_setup"
NOTES = SETUP / "site.sh"
LINE = re.compile(r"SITE_([A-Z]+)=(.*)")


@dataclass(frozen=True)
class Site:
    """One site; what is empty is left to the scheduler's or the system's own default."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    time: str = "00:30:00"
    modules: str = ""
    python: str = ""  # the Python of the course, on every node
    mpi: str = "mpiexec"  # starts ranks on all nodes of a job
    interface: str = ""  # the network between nodes, as `ip address` calls it
    gpus: int = 0  # a node


def read_site(notes: Path = NOTES) -> Site:
    """The site that these notes describe; an error names the line that cannot be understood."""
    names = {field.name for field in fields(Site)}
    values: dict[str, str | int] = {}
    for number, line in enumerate(_lines(notes), start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise Mistake(f"{notes}, line {number}: {error}") from None
        if not words:
            continue
        match = LINE.fullmatch(words[0])
        if match is None or len(words) > 1:
            raise Mistake(
                f"{notes}, line {number}: '{line.strip()}' is not NAME=value; put a value with "
                "blanks into quotation marks"
            )
        name = match[1].lower()
        if name not in names:
            known = ", ".join(f"SITE_{each.upper()}" for each in sorted(names))
            raise Mistake(f"{notes}, line {number}: SITE_{match[1]} is unknown; there are {known}")
        values[name] = match[2]
    gpus = str(values.get("gpus") or 0)
    if not gpus.isdigit():
        raise Mistake(f"{notes}: SITE_GPUS={gpus}: how many GPUs a node has is a whole number")
    return Site(**(values | {"gpus": int(gpus)}))


def _lines(notes: Path) -> list[str]:
    try:
        return notes.read_text().splitlines()
    except OSError as error:
        raise Mistake(f"{notes} cannot be read: {error.strerror}") from None
