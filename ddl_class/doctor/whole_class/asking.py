"""Thirty accounts, one answer each: by sudo, by ssh, as jobs of Slurm, or from files sent in.

Nobody is ever asked for a password: a way that would ask fails, and the page says so. What to look
at: who did not answer. A missing answer is a finding, too, and the one that is overlooked.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ddl_class.clusters.grounds import SSH
from ddl_class.clusters.site import Site
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.whole_class.account import Account, from_plain
from ddl_class.json_lines import ask

NAME = re.compile(r"[\w][\w.@-]*")  # of an account, or account@host
PATIENCE = 300  # seconds for one account: a job may have to wait
AT_ONCE = 4  # accounts: a doctor starts ranks, and thirty of them would time out


@dataclass(frozen=True)
class Class:
    """Everybody who answered, and why the others did not."""

    answered: Mapping[str, Account]
    silent: Mapping[str, str]


def read_accounts(file: Path) -> list[str]:
    """The accounts of a file, one a line; what follows a # is a remark."""
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        raise Mistake(
            f"{file} cannot be read: {error.strerror}. It has a line for each account."
        ) from None
    names = [name for line in lines if (name := line.partition("#")[0].strip())]
    for name in names:
        if not NAME.fullmatch(name):
            raise Mistake(f"{file}: '{name}' is no account: write 'name', or 'name@host' for ssh")
    if not names:
        raise Mistake(f"{file} names no account. Write one a line.")
    return list(dict.fromkeys(names))


def ways(site: Site) -> dict[str, list[str]]:
    """By name: the words before a command that run it in the account {account}."""
    become = ["sudo", "-n", "-H", "-u", "{account}"]
    asked = {"partition": site.partition, "account": site.account, "qos": site.qos}
    job = [f"--{name}={value}" for name, value in asked.items() if value]
    return {
        "sudo": become,
        "ssh": [*SSH, "{account}"],
        "slurm": [*become, "srun", "--ntasks=1", f"--time={site.time}", "--mpi=none", *job],
    }


def ask_class(
    accounts: Sequence[str],
    way: str,
    site: Site,
    *,
    at_once: int = AT_ONCE,
    patience: float = PATIENCE,
) -> Class:
    """Run the doctor in every account, a few at the same time."""
    words = ways(site)[way]
    doctor = [site.python or sys.executable, "-m", "ddl_class.doctor.whole_class.account"]

    def one(account: str) -> Account | str:
        command = [shlex.join(doctor)] if way == "ssh" else doctor  # at ssh's end is a shell
        said = ask([word.format(account=account) for word in words] + command, patience=patience)
        if isinstance(said, str):
            return said
        try:
            return from_plain(said[-1])
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(at_once) as crowd:
        answers = dict(zip(accounts, crowd.map(one, accounts), strict=True))
    return Class(
        {name: it for name, it in answers.items() if isinstance(it, Account)},
        {name: it for name, it in answers.items() if isinstance(it, str)},
    )


def read_class(folder: Path, accounts: Sequence[str] = ()) -> Class:
    """The reports in a folder, and who of these accounts has sent none."""
    answered: dict[str, Account] = {}
    silent: dict[str, str] = {}
    for file in sorted(folder.glob("*.json")):
        try:
            account = from_plain(json.loads(file.read_text()))
        except (OSError, ValueError) as error:
            silent[file.name] = f"cannot be read: {error}"
            continue
        name = account.name if account.name not in answered else f"{account.name}@{account.host}"
        answered[name] = account
    silent |= {name: "has sent nothing" for name in accounts if name not in answered}
    if not answered and not silent:
        raise Mistake(f"no *.json in {folder}: learners make one by 'ddl-teach doctor --out FILE'")
    return Class(answered, silent)
