"""The findings of a class on one page: each trouble once, with everybody who has it.

A teacher mends troubles, not accounts: what thirty people share is one line. As text for the
terminal, and as a page of HTML with a row for each account, where words say what colours show.
"""

from __future__ import annotations

import html
from collections import defaultdict

from ddl_class.doctor.finding import CheckResult
from ddl_class.doctor.whole_class.asking import Class

STYLE = """
body { font: 16px/1.5 sans-serif; color: #333; margin: 2em } pre { font-size: 15px }
table { border-collapse: collapse } th { text-align: left; vertical-align: bottom }
td, th { padding: .2em .6em; border: 1px solid #ccc }
.warn { background: #fdf1c9 } .fail, .silent { background: #f7cfd4; font-weight: bold }
"""


def fit(those: Class) -> bool:
    """Whether everybody answered and nothing failed."""
    return not those.silent and not any(
        finding.status == "fail" for it in those.answered.values() for finding in it.findings
    )


def text(those: Class) -> str:
    """What is to be done, the worst first; and a last line that sums up."""
    lines = [f"silent  {name}: {why}" for name, why in those.silent.items()]
    for (status, name, mend), who in sorted(_shared(those).items()):
        accounts = ", ".join(account for account, _ in who)
        lines.append(f"{status:<6}  {name}, {len(who)} of {len(those.answered)}: {accounts}")
        lines.append(f"        {who[0][0]}: {who[0][1].found}")
        lines.append("        > " + mend.replace("\n", "\n          "))
    well = [
        name
        for name, it in those.answered.items()
        if all(finding.status == "ok" for finding in it.findings)
    ]
    lines.append(f"ok      {len(well)}: {', '.join(well)}" if well else "ok      nobody")
    failed = {
        a for (status, *_), who in _shared(those).items() if status == "fail" for a, _ in who
    }
    everybody = len(those.answered) + len(those.silent)
    lines.append(
        f"\n{everybody} accounts: {len(those.answered) - len(failed)} can work, "
        f"{len(failed)} to mend, {len(those.silent)} did not answer."
    )
    return "\n".join(lines)


def page(those: Class) -> str:
    """The same as HTML, and below it every account beside every check."""
    checks = list(dict.fromkeys(f.name for it in those.answered.values() for f in it.findings))
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("account", *checks))
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{_cells(it.findings, checks)}</tr>'
        for name, it in those.answered.items()
    )
    rows += "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        f'<td class="silent" colspan="{max(len(checks), 1)}">silent: {html.escape(why)}</td></tr>'
        for name, why in those.silent.items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>The class</title>'
        f"<style>{STYLE}</style><h1>The class</h1><pre>{html.escape(text(those))}</pre>"
        f"<table><tr>{heads}</tr>{rows}</table></html>\n"
    )


def _shared(those: Class) -> dict[tuple[str, str, str], list[tuple[str, CheckResult]]]:
    """Who has which trouble: what is mended alike is one, whatever was found in each account."""
    shared = defaultdict(list)
    for account, it in those.answered.items():
        for finding in it.findings:
            if finding.status != "ok":
                shared[finding.status, finding.name, finding.mend].append((account, finding))
    return dict(shared)


def _cells(findings: tuple[CheckResult, ...], checks: list[str]) -> str:
    by_name = {finding.name: finding for finding in findings}
    return "".join(
        f'<td class="{it.status}" title="{html.escape(it.found)}">{it.status}</td>'
        if (it := by_name.get(name))
        else "<td>not asked</td>"
        for name in checks
    )
