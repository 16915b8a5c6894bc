"""`ddl-teach doctor`: this machine, or with --class the accounts of a whole class."""

from __future__ import annotations

import argparse
from pathlib import Path

from ddl_class.commands.mistake import Mistake

EXAMPLES = """for a class, from the instructor's account; accounts.txt has a name a line:
  ddl-teach doctor --class accounts.txt --by sudo      accounts of this machine
  ddl-teach doctor --class accounts.txt --by ssh       account@host a line, with your key
  ddl-teach doctor --class accounts.txt --by slurm     a job of one task for each account
  ddl-teach doctor --class FOLDER --accounts accounts.txt     learners' own machines: the files
                       that they have made by 'ddl-teach doctor --out NAME.json' and sent in
"""


def add_doctor(commands: argparse._SubParsersAction) -> None:
    """The command and its options."""
    doctor = commands.add_parser(
        "doctor",
        help="check this machine, or a class's accounts, and say how to mend what is wrong",
        description="Check Python, MPI, cores, GPU and left-over processes; 1 means a failure.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    doctor.add_argument("--out", type=Path, metavar="FILE.json", help="keep the findings, too")
    doctor.add_argument(
        "--class",
        dest="those",
        type=Path,
        metavar="ACCOUNTS",
        help="the accounts of this file, or the findings in this folder, on one page",
    )
    doctor.add_argument("--by", choices=("sudo", "ssh", "slurm"), help="how to enter an account")
    doctor.add_argument("--accounts", type=Path, metavar="FILE", help="who should have sent in")
    doctor.add_argument("--page", type=Path, metavar="FILE.html", help="the class as a page, too")
    doctor.add_argument(
        "--at-once", type=int, default=4, metavar="N", help="accounts at a time (default: 4)"
    )
    doctor.set_defaults(act=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    if options.those is not None:
        return _class(options)
    from ddl_class.doctor.doctor import examine, report
    from ddl_class.doctor.whole_class.account import as_json, this_account

    findings = examine()
    print(report(findings))
    if options.out is not None:
        _write(options.out, as_json(this_account(findings)) + "\n")
    return int(any(finding.status == "fail" for finding in findings))


def _class(options: argparse.Namespace) -> int:
    from ddl_class.clusters.site import read_site
    from ddl_class.doctor.whole_class import asking, page

    if options.those.is_dir():
        expected = asking.read_accounts(options.accounts) if options.accounts else ()
        those = asking.read_class(options.those, expected)
    elif options.by is None:
        raise Mistake("how are these accounts entered? --by sudo, --by ssh or --by slurm")
    else:
        names = asking.read_accounts(options.those)
        those = asking.ask_class(names, options.by, read_site(), at_once=max(1, options.at_once))
    print(page.text(those))
    if options.page is not None:
        _write(options.page, page.page(those))
    return int(not page.fit(those))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise Mistake(f"{file} cannot be written: {error.strerror}") from None
