"""The notes of a site: what an instructor fills in once, and every batch script reads.

They stand in `cluster_setup/site.sh`, lines NAME=value that a shell and this file both understand.
Only what differs from site to site stands there; everything else is the course's own business.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.machine_checks import ROOT

SETUP = ROOT / "cluster_setup"
NOTES = SETUP / "site.sh"
LINE = re.compile(r"(SITE_[A-Z]+)=(.*)")


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
    try:
        lines = notes.read_text().splitlines()
    except OSError as error:
        raise Mistake(f"{notes} cannot be read: {error.strerror}") from None
    known = {f"SITE_{field.name.upper()}": field.name for field in fields(Site)}
    values: dict[str, Any] = {}
    for number, line in enumerate(lines, start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise Mistake(f"{notes}, line {number}: {error}") from None
        if not words:
            continue
        match = LINE.fullmatch(words[0])
        if match is None or len(words) > 1:
            wrong = (
                f"'{line.strip()}' is not NAME=value; put a value with blanks into quotation marks"
            )
        elif match[1] not in known:
            wrong = f"{match[1]} is unknown; there are {', '.join(sorted(known))}"
        elif match[1] == "SITE_GPUS" and not (match[2] or "0").isdigit():
            wrong = f"{line}: how many GPUs a node has is a whole number"
        else:
            values[known[match[1]]] = match[2]
            continue
        raise Mistake(f"{notes}, line {number}: {wrong}")
    return Site(**(values | {"gpus": int(values.get("gpus") or 0)}))
