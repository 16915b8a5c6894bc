"""The doctor: is this machine, or are the accounts of a class, fit for the course?

    ddl-teach doctor --out FILE.json             a learner's own findings, to send in
    python -m ddl_class.doctor.whole_class       in an account: its findings, as a line of JSON

A warning leaves the course usable; a failure does not. Accounts of a class are entered by sudo,
ssh or Slurm, never with a password. A finding that many accounts share is one line of the report.
What to look at: the check of two ranks. With the wrong mpiexec each process is rank 0 of 1, and
every result is wrong without an error.
"""

import argparse
import getpass
import json
import os
import re
import shlex
import socket
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ddl_class.clusters.grounds import SSH, Site, read_site
from ddl_class.commands.mistake import Mistake, noted_lines
from ddl_class.doctor import gpu_checks, machine_checks, mpi_checks, node_picture
from ddl_class.doctor.finding import CheckResult, ask, report

NAME = re.compile(r"[\w][\w.@-]*")  # of an account, or account@host
PATIENCE = 300  # seconds for one account: a job may have to wait
AT_ONCE = 4  # accounts: a doctor starts ranks, and thirty of them would time out
PAGE = Path(__file__).with_suffix(".html.j2")


CHECKS: tuple[Callable[[], CheckResult], ...] = (
    machine_checks.python, machine_checks.packages, machine_checks.torch_build,
    mpi_checks.library, mpi_checks.starter, mpi_checks.settings,
    mpi_checks.two_ranks, mpi_checks.slots, mpi_checks.threads, machine_checks.cores,
    node_picture.node,
    gpu_checks.gpu, gpu_checks.torch_and_gpu, gpu_checks.mpi_and_gpu, gpu_checks.ucx,
    gpu_checks.sharing, gpu_checks.paths, machine_checks.shared_memory, machine_checks.leftovers,
)  # fmt: skip


def examine(checks: Sequence[Callable[[], CheckResult]] = CHECKS) -> list[CheckResult]:
    """Run every check, also after one that failed or raised."""
    findings = []
    for check in checks:
        try:
            findings.append(check())
        except Exception as error:  # a broken check must not hide the others' findings
            name = check.__name__.replace("_", " ")
            what = f"could not be checked: {type(error).__name__}: {error}"
            findings.append(CheckResult(name, "warn", what))
    return findings


@dataclass(frozen=True)
class Account:
    """The findings of one account on one host."""

    name: str
    host: str
    findings: tuple[CheckResult, ...]

    def has(self, *statuses: str) -> bool:
        return any(finding.status in statuses for finding in self.findings)


Class = Mapping[str, Account | str]  # by name: what was found, or why nothing came back


def this_account(findings: Sequence[CheckResult]) -> Account:
    """These findings with this account's and this machine's name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        name = str(os.getuid())
    return Account(name, socket.gethostname(), tuple(findings))


def from_plain(plain: Any) -> Account:
    """An account from what JSON gave; ValueError if it is none."""
    try:
        findings = tuple(CheckResult(**finding) for finding in plain["findings"])
        if not findings or any(each.status not in ("ok", "warn", "fail") for each in findings):
            raise ValueError("findings without a status")
        return Account(str(plain["name"]), str(plain["host"]), findings)
    except (KeyError, TypeError, ValueError):
        raise ValueError("this is no doctor's report: 'ddl-teach doctor --out FILE'") from None


def read_accounts(file: Path, logins: bool = True) -> list[str]:
    """The accounts of a file, one a line, `#` begins a remark. `logins` says whether they are
    entered, and so must be names of accounts."""
    names = noted_lines(file, "account").values()
    for name in names:
        if logins and not NAME.fullmatch(name):
            raise Mistake(f"{file}: '{name}' is no account: write 'name', or 'name@host' for ssh")
    if not names:
        raise Mistake(f"{file} names no account. Write one a line.")
    return list(dict.fromkeys(names))


def ways(site: Site) -> dict[str, list[str]]:
    """The command prefixes that run a command in the account {account}, by name."""
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
        findings = ask(
            [word.format(account=account) for word in words] + command, patience=patience
        )
        try:
            return findings if isinstance(findings, str) else from_plain(findings[-1])
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(at_once) as crowd:
        return dict(zip(accounts, crowd.map(answer, accounts), strict=True))


def read_class(folder: Path, accounts: Sequence[str] = ()) -> Class:
    """The reports in a folder; accounts that have sent none are listed too. A report belongs to
    the account that its file is named after."""
    those: dict[str, Account | str] = {}
    names = {_alike(name): name for name in accounts}
    for file in sorted(folder.glob("*.json")):
        name = names.get(_alike(file.stem), file.stem)
        name = file.name if name in those else name
        try:
            those[name] = replace(from_plain(json.loads(file.read_text())), name=name)
        except (OSError, ValueError) as error:
            those[name] = f"{file.name} cannot be read: {error}"
    those |= {name: "has sent nothing" for name in accounts if name not in those}
    if not those:
        raise Mistake(f"no *.json in {folder}: learners make one by 'ddl-teach doctor --out FILE'")
    return those


def _alike(name: str) -> str:
    """A name as names are compared: case, spaces and accents may change on the way."""
    return re.sub(r"[\s_]+", " ", unicodedata.normalize("NFC", name)).strip().casefold()


def who_answered(those: Class) -> dict[str, Account]:
    """The accounts that sent a report."""
    return {name: answer for name, answer in those.items() if isinstance(answer, Account)}


def text(those: Class) -> str:
    """The findings of a class, the worst first, and a last line that sums up."""
    # What is mended alike is one trouble, whatever was found in each account.
    shared, answered = defaultdict(list), who_answered(those)
    for name, account in answered.items():
        for finding in account.findings:
            if finding.status != "ok":
                shared[finding.status, finding.name, finding.mend].append((name, finding.found))
    lines = [f"silent  {name}: {why}" for name, why in those.items() if isinstance(why, str)]
    for (status, check, mend), named in sorted(shared.items()):
        names = ", ".join(name for name, _ in named)
        lines.append(f"{status:<6}  {check}, {len(named)} of {len(answered)}: {names}")
        lines.append(f"        {named[0][0]}: {named[0][1]}")
        lines.append("        > " + mend.replace("\n", "\n          "))
    well = [name for name, account in answered.items() if not account.has("warn", "fail")]
    lines.append(f"ok      {len(well)}: {', '.join(well)}" if well else "ok      0")
    failed = sum(account.has("fail") for account in answered.values())
    can, silent = len(answered) - failed, len(those) - len(answered)
    whole = f"{len(those)} accounts: {can} can work, {failed} to mend, {silent} did not answer."
    return "\n".join([*lines, "", whole])


def page(those: Class) -> str:
    """The text of the class as HTML, and a table of accounts and checks."""
    from jinja2 import Template  # a doctor is asked where packages are missing, too

    answered = who_answered(those).values()
    checks = dict.fromkeys(finding.name for account in answered for finding in account.findings)
    template = Template(PAGE.read_text("utf-8"), autoescape=True)
    filled: str = template.render(those=those, checks=[*checks], text=text(those))
    return f"{filled}\n"


def doctor(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    if options.those is None:
        findings = examine()
        print(report(findings))
        if options.out is not None:
            _write(options.out, json.dumps(asdict(this_account(findings))) + "\n")
        return int(any(finding.status == "fail" for finding in findings))
    if options.those.is_dir():
        expected = read_accounts(options.accounts, logins=False) if options.accounts else ()
        those = read_class(options.those, expected)
    elif options.by is None:
        raise Mistake("say how to enter these accounts: --by sudo, --by ssh or --by slurm")
    else:
        names = read_accounts(options.those)
        those = ask_class(names, options.by, read_site(), at_once=max(1, options.at_once))
    print(text(those))
    if options.page is not None:
        _write(options.page, page(those))
    return int(any(isinstance(answer, str) or answer.has("fail") for answer in those.values()))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise Mistake(f"{file} cannot be written: {error.strerror}") from None


if __name__ == "__main__":
    print(json.dumps(asdict(this_account(examine()))))
