"""`ddl-teach doctor`: this machine, or with --class the accounts of a whole class."""

from __future__ import annotations

import argparse
from pathlib import Path

from ddl_class.clusters.site import read_site
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor import doctor as this_machine
from ddl_class.doctor.whole_class import asking, page
from ddl_class.doctor.whole_class.account import as_json, this_account


def doctor(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    if options.those is not None:
        return _class(options)
    findings = this_machine.examine()
    print(this_machine.report(findings))
    if options.out is not None:
        _write(options.out, as_json(this_account(findings)) + "\n")
    return int(any(finding.status == "fail" for finding in findings))


def _class(options: argparse.Namespace) -> int:
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
