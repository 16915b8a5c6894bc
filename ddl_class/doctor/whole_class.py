"""The doctor of a whole class: every account's findings, on one page.

    python -m ddl_class.doctor.whole_class       in an account: its findings, as a line of JSON
    ddl-teach doctor --out FILE.json             a learner's own, to send in

Accounts are entered by sudo, by ssh or as jobs of Slurm, or learners send files in. Nobody is ever
asked for a password: a way that would ask fails, and the page says so. A teacher mends troubles,
not accounts: what thirty people share is one line. What to look at: who did not answer. A missing
answer is a finding, too, and the one that is overlooked.
"""

import getpass
import html
import json
import os
import re
import shlex
import socket
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ddl_class.clusters.grounds import SSH
from ddl_class.clusters.site import Site
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor.doctor import examine
from ddl_class.doctor.finding import CheckResult
from ddl_class.json_lines import ask

NAME = re.compile(r"[\w][\w.@-]*")  # of an account, or account@host
PATIENCE = 300  # seconds for one account: a job may have to wait
AT_ONCE = 4  # accounts: a doctor starts ranks, and thirty of them would time out
STYLE = """
body { font: 16px/1.5 sans-serif; color: #333; margin: 2em } pre { font-size: 15px }
table { border-collapse: collapse } th { text-align: left; vertical-align: bottom }
td, th { padding: .2em .6em; border: 1px solid #ccc }
.warn { background: #fdf1c9 } .fail, .silent { background: #f7cfd4; font-weight: bold }
"""


@dataclass(frozen=True)
class Account:
    """Who was examined where, and what was found."""

    name: str
    host: str
    findings: tuple[CheckResult, ...]

    def has(self, *statuses: str) -> bool:
        """Whether one of the findings has one of these."""
        return any(finding.status in statuses for finding in self.findings)


@dataclass(frozen=True)
class Class:
    """Everybody who answered, and why the others did not."""

    answered: Mapping[str, Account]
    silent: Mapping[str, str]


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


def read_accounts(file: Path) -> list[str]:
    """The accounts of a file, one a line; what follows a # is a remark."""
    try:
        lines = file.read_text().splitlines()
    except OSError as error:
        what = f"{file} cannot be read: {error.strerror}. It has a line for each account."
        raise Mistake(what) from None
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
    doctor = [site.python or sys.executable, "-m", "ddl_class.doctor.whole_class"]

    def answer(account: str) -> Account | str:
        command = [shlex.join(doctor)] if way == "ssh" else doctor  # at ssh's end is a shell
        said = ask([word.format(account=account) for word in words] + command, patience=patience)
        try:
            return said if isinstance(said, str) else from_plain(said[-1])
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(at_once) as crowd:
        answers = dict(zip(accounts, crowd.map(answer, accounts), strict=True))
    return Class(
        {name: account for name, account in answers.items() if isinstance(account, Account)},
        {name: why for name, why in answers.items() if isinstance(why, str)},
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


def fit(those: Class) -> bool:
    """Whether everybody answered and nothing failed."""
    return not those.silent and not any(it.has("fail") for it in those.answered.values())


def text(those: Class) -> str:
    """What is to be done, the worst first; and a last line that sums up."""
    # What is mended alike is one trouble, whatever was found in each account.
    shared = defaultdict(list)
    for name, account in those.answered.items():
        for finding in account.findings:
            if finding.status != "ok":
                shared[finding.status, finding.name, finding.mend].append((name, finding.found))
    lines = [f"silent  {name}: {why}" for name, why in those.silent.items()]
    for (status, check, mend), who in sorted(shared.items()):
        names = ", ".join(name for name, _ in who)
        lines.append(f"{status:<6}  {check}, {len(who)} of {len(those.answered)}: {names}")
        lines.append(f"        {who[0][0]}: {who[0][1]}")
        lines.append("        > " + mend.replace("\n", "\n          "))
    well = [name for name, account in those.answered.items() if not account.has("warn", "fail")]
    lines.append(f"ok      {len(well)}: {', '.join(well)}" if well else "ok      nobody")
    answered, silent = len(those.answered), len(those.silent)
    failed = sum(account.has("fail") for account in those.answered.values())
    lines.append(
        f"\n{answered + silent} accounts: {answered - failed} can work, {failed} to mend, "
        f"{silent} did not answer."
    )
    return "\n".join(lines)


def page(those: Class) -> str:
    """The same as HTML, and below it every account beside every check."""
    checks = list(dict.fromkeys(f.name for it in those.answered.values() for f in it.findings))
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("account", *checks))
    cells = {name: _cells(account.findings, checks) for name, account in those.answered.items()}
    for name, why in those.silent.items():
        span = f'class="silent" colspan="{max(len(checks), 1)}"'
        cells[name] = f"<td {span}>silent: {html.escape(why)}</td>"
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{row}</tr>' for name, row in cells.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>The class</title>'
        f"<style>{STYLE}</style><h1>The class</h1><pre>{html.escape(text(those))}</pre>"
        f"<table><tr>{heads}</tr>{rows}</table></html>\n"
    )


def _cells(findings: tuple[CheckResult, ...], checks: list[str]) -> str:
    by_name = {finding.name: finding for finding in findings}
    return "".join(
        f'<td class="{it.status}" title="{html.escape(it.found)}">{it.status}</td>'
        if (it := by_name.get(name))
        else "<td>not asked</td>"
        for name in checks
    )


if __name__ == "__main__":
    print(as_json(this_account(examine())))
