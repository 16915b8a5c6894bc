"""What nbgrader's exchange leaves beside a submission is kept, and what is none does no harm."""

import os

import pytest

from ddl_class.grading import receipts
from ddl_class.grading.collected import find_submissions
from ddl_class.grading.receipts import Receipt

SECRET = "0123456789abcdef" * 8
TIME = "2026-11-28 01:02:03.000004 Europe/Zurich"
UTC = "2026-11-28 00:02:03.000004 UTC"


def collected(folder, student, time=TIME, secret=SECRET):
    place = folder / student / "06_two"
    place.mkdir(parents=True)
    (place / "06_two.ipynb").write_text("{}")
    (place / "timestamp.txt").write_bytes(time if isinstance(time, bytes) else time.encode())
    (place / "submission_secret.txt").write_text(secret)
    return place


def noted(folder, out):
    receipts.note(out, "06_two", find_submissions(folder, "06_two"))
    return receipts.kept(out, "06_two")


def test_time_and_secret_are_kept_also_of_those_who_are_not_there_any_more(tmp_path):
    collected(tmp_path / "first", "ann")
    assert noted(tmp_path / "first", tmp_path / "out") == {"ann": Receipt(UTC, SECRET)}
    collected(tmp_path / "second", "bob")
    assert set(noted(tmp_path / "second", tmp_path / "out")) == {"ann", "bob"}


@pytest.mark.parametrize(
    ("time", "secret"),
    [("yesterday, or so", SECRET), (b"\xff\xfe", "../../etc/passwd"), ("9" * 5000, ""), ("", "x")],
)
def test_what_is_no_time_and_no_secret_counts_as_missing(tmp_path, time, secret):
    collected(tmp_path / "in", "eve", time, secret)
    assert noted(tmp_path / "in", tmp_path / "out")["eve"] in (Receipt(), Receipt("", SECRET))


def test_a_link_is_not_followed(tmp_path):
    mine = collected(tmp_path / "elsewhere", "ann")
    place = collected(tmp_path / "in", "eve")
    (place / "submission_secret.txt").unlink()
    os.symlink(mine / "submission_secret.txt", place / "submission_secret.txt")
    assert noted(tmp_path / "in", tmp_path / "out")["eve"].secret == ""


def test_what_lies_beside_many_files_is_of_none(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ann.ipynb").write_text("{}")
    (tmp_path / "in" / "timestamp.txt").write_text(TIME)
    (tmp_path / "in" / "submission_secret.txt").write_text(SECRET)
    assert noted(tmp_path / "in", tmp_path / "out") == {"ann": Receipt()}


def test_nobody_else_reads_the_secrets(tmp_path):
    collected(tmp_path / "in", "ann")
    noted(tmp_path / "in", tmp_path / "out")
    (path,) = (tmp_path / "out" / "receipts").iterdir()
    assert path.stat().st_mode & 0o077 == 0
