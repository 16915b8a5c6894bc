"""When each notebook was handed in, and the secret by which nbgrader returns feedback.

nbgrader's exchange puts `timestamp.txt` and `submission_secret.txt` beside what it collects. They
are copied to GRADES/receipts/ASSIGNMENT.json, so that feedback finds its way after submissions
have been moved. Learners can write both files, so a malformed time or secret is ignored.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nbgrader.utils import parse_utc

from ddl_class.grading.submission import Submission, Unreadable
from ddl_runtime.records.whole_file import write_whole

SECRET = re.compile(r"[\w-]{16,256}")


@dataclass(frozen=True)
class Receipt:
    """The time of the hand-in, in UTC, and its secret; empty if not known."""

    handed_in: str = ""
    secret: str = ""


def note(out: Path, assignment: str, handed_in: Sequence[Submission]) -> None:
    """Keep the receipts of these submissions; those of other students stay."""
    known = kept(out, assignment) | {work.student: _read(work) for work in handed_in}
    path = _path(out, assignment)
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {student: asdict(receipt) for student, receipt in known.items()}
    write_whole(path, json.dumps(plain, indent=1), 0o600)


def kept(out: Path, assignment: str) -> dict[str, Receipt]:
    """The receipts by student."""
    try:
        plain = json.loads(_path(out, assignment).read_text(encoding="utf-8"))
        return {student: Receipt(**receipt) for student, receipt in plain.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _path(out: Path, assignment: str) -> Path:
    return out / "receipts" / f"{assignment}.json"


def _read(work: Submission) -> Receipt:
    if work.student not in (work.path.parent.name, work.path.parent.parent.name):
        return Receipt()  # a file among others: what lies beside it is not its own
    secret = _text(work, "submission_secret.txt")
    try:
        time = parse_utc(_text(work, "timestamp.txt"))
        handed_in = f"{time:%Y-%m-%d %H:%M:%S.%f} UTC"
    except (ValueError, OverflowError, TypeError):
        handed_in = ""
    return Receipt(handed_in, secret if SECRET.fullmatch(secret) else "")


def _text(work: Submission, name: str) -> str:
    try:
        return Submission(work.student, work.path.with_name(name)).read().decode().strip()[:1000]
    except (Unreadable, UnicodeDecodeError):
        return ""
