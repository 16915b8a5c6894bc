"""What the doctor says of one account, as a line of JSON.

python -m ddl_class.doctor.whole_class.account          in the account, for the one who asks
ddl-teach doctor --out FILE.json                         a learner's own, to send in
"""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ddl_class.doctor.doctor import examine
from ddl_class.doctor.finding import CheckResult


@dataclass(frozen=True)
class Account:
    """Who was examined where, and what was found."""

    name: str
    host: str
    findings: tuple[CheckResult, ...]


def this_account(findings: Sequence[CheckResult]) -> Account:
    """These findings, with the names of this account and this machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        name = str(os.getuid())
    return Account(name, socket.gethostname(), tuple(findings))


def as_json(account: Account) -> str:
    """One line."""
    return json.dumps(asdict(account))


def from_plain(plain: Any) -> Account:
    """An account from what JSON gave; ValueError if it is none."""
    try:
        findings = tuple(CheckResult(**finding) for finding in plain["findings"])
        if not findings or any(it.status not in ("ok", "warn", "fail") for it in findings):
            raise ValueError("findings without a status")
        return Account(str(plain["name"]), str(plain["host"]), findings)
    except (KeyError, TypeError, ValueError):
        raise ValueError("this is no doctor's report: 'ddl-teach doctor --out FILE'") from None


if __name__ == "__main__":
    print(as_json(this_account(examine())))
