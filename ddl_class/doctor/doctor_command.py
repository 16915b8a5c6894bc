"""`ddl-teach doctor`: this machine, or with --class the accounts of a whole class."""

import argparse
from pathlib import Path

from ddl_class.clusters.site import read_site
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor import doctor as this_machine
from ddl_class.doctor import whole_class


def doctor(options: argparse.Namespace) -> int:
    """Do what the command line says; return the status."""
    if options.those is not None:
        return _class(options)
    findings = this_machine.examine()
    print(this_machine.report(findings))
    if options.out is not None:
        _write(options.out, whole_class.as_json(whole_class.this_account(findings)) + "\n")
    return int(any(finding.status == "fail" for finding in findings))


def _class(options: argparse.Namespace) -> int:
    if options.those.is_dir():
        expected = whole_class.read_accounts(options.accounts) if options.accounts else ()
        those = whole_class.read_class(options.those, expected)
    elif options.by is None:
        raise Mistake("how are these accounts entered? --by sudo, --by ssh or --by slurm")
    else:
        names = whole_class.read_accounts(options.those)
        those = whole_class.ask_class(
            names, options.by, read_site(), at_once=max(1, options.at_once)
        )
    print(whole_class.text(those))
    if options.page is not None:
        _write(options.page, whole_class.page(those))
    return int(not whole_class.fit(those))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise Mistake(f"{file} cannot be written: {error.strerror}") from None
