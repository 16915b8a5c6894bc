"""Reports: kept as they are, and read as a careful reader reads them."""

import json
import re
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from fooling_reports import DROP, FOOLING
from further_fooling_reports import FOOLING as FURTHER_FOOLING
from further_honest_reports import HONEST as FURTHER_HONEST
from honest_reports import HONEST

from ddl_measure.reports.file import from_json, load, save, to_json
from ddl_measure.reports.findings import FAULTS
from ddl_measure.reports.made import code_version, lock_hash, made
from ddl_measure.reports.report import Trial
from ddl_measure.reports.review import review, told


def edited(report, edits):
    """The report after edits of its JSON, made in their order."""
    data = json.loads(to_json(report))
    for path, value in edits.items():
        *way, last = [int(it) if it.isdigit() else it for it in path.split("/")]
        place = data
        for step in way:
            place = place[step]
        if value is DROP:
            del place[last]
        elif isinstance(place, list) and last == len(place):
            place.append(value)
        else:
            place[last] = value
    return from_json(json.dumps(data))


@pytest.mark.parametrize("title", HONEST)
def test_nothing_is_found_in_an_honest_report(title):
    assert told(review(HONEST[title])).startswith("Nothing found")
    assert from_json(to_json(HONEST[title])) == HONEST[title]


@pytest.mark.parametrize("title", FOOLING)
def test_what_fools_is_found_and_nothing_else(title):
    honest, edits, faults = FOOLING[title]
    findings = review(edited(HONEST[honest], edits))
    assert {finding.fault for finding in findings} == faults, told(findings)
    assert all(finding.where and finding.found and finding.next for finding in findings)


@pytest.mark.parametrize("title", FURTHER_HONEST)
def test_nothing_is_found_in_an_honest_report_from_elsewhere(title):
    assert told(review(FURTHER_HONEST[title])).startswith("Nothing found")
    assert from_json(to_json(FURTHER_HONEST[title])) == FURTHER_HONEST[title]


@pytest.mark.parametrize("title", FURTHER_FOOLING)
def test_what_fools_elsewhere_is_found_and_nothing_else(title):
    fault, fooling = FURTHER_FOOLING[title]
    findings = review(from_json(to_json(fooling)))
    assert {finding.fault for finding in findings} == {fault}, told(findings)


def without_one_field(thing, path=()):
    """`(path, thing without what is there)` for every field, however deep, that says something."""
    if isinstance(thing, tuple):
        trials = thing and isinstance(thing[0], Trial)
        for place, it in enumerate(thing[:2] if trials else thing):  # two trials stand for all
            for where, less in without_one_field(it, (*path, place)):
                yield where, (*thing[:place], less, *thing[place + 1 :])
    elif is_dataclass(thing):
        for field in fields(thing):
            value = getattr(thing, field.name)
            if value == field.default:
                continue
            yield (*path, field.name), replace(thing, **{field.name: field.default})
            for where, less in without_one_field(value, (*path, field.name)):
                yield where, replace(thing, **{field.name: less})


@pytest.mark.parametrize("title", HONEST)
def test_a_field_that_is_taken_away_is_missed(title):
    fewer = without_one_field(HONEST[title])
    assert ["/".join(map(str, path)) for path, less in fewer if not review(less)] == []


def test_a_repetition_or_a_trial_that_is_taken_away_is_missed():
    tuned = HONEST["both were searched alike"]
    for place in range(len(tuned.trials)):
        less = replace(tuned, trials=tuned.trials[:place] + tuned.trials[place + 1 :])
        assert {it.fault for it in review(less)} == {"tuning hidden"}
    for report in HONEST.values():
        entry = report.entries[-1]
        first = entry.series[0]
        if len(first.values) > 1:
            less = replace(entry, series=(replace(first, values=first.values[1:]),))
            less = replace(report, entries=(*report.entries[:-1], less))
            assert "best of n" in {it.fault for it in review(less)}


def test_every_fault_has_a_report_that_has_it():
    assert {fault for *_, faults in FOOLING.values() for fault in faults} == set(FAULTS)
    assert len(FOOLING) + len(HONEST) >= 60
    assert len(HONEST) >= 20


def test_a_report_with_holes_is_read_all_the_same():
    random = np.random.default_rng(0)
    for report in list(HONEST.values())[::4]:
        for _ in range(5):
            fewer = list(without_one_field(report))
            report = fewer[random.integers(len(fewer))][1] if fewer else report
            assert review(report)
            assert from_json(to_json(report)) == report


def test_a_file_is_there_whole_or_as_it_was(tmp_path):
    path, report = tmp_path / "mine.json", HONEST["time to a target, one of seven never there"]
    save(path, report)
    before = path.read_text()
    assert load(path) == report
    assert '"never"' in before
    assert max(map(len, before.splitlines())) < 100
    broken = replace(report, machines={"laptop": {"cores": float("nan")}})
    with pytest.raises(ValueError, match=r"report\.machines\.laptop\.cores = nan"):
        save(path, broken)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


DEEP = "[" * 800 + "]" * 800


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "begins with"),
        ('{"title": "x"}', "begins with"),
        ('{"ddl-teach report": 1, "entires": []}', "did you mean 'entries'"),
        ('{"ddl-teach report": 1, "weather": 1}', "it has title, made"),
        ('{"ddl-teach report": 1, "entries": {}}', r"report\.entries must be a list"),
        ('{"ddl-teach report": 1, "machines": []}', "must be names with values"),
        ('{"ddl-teach report": 1, "made": 3}', r"report\.made must be fields"),
        ('{"ddl-teach report": 1, "title": 3}', "must be a text, not 3"),
        ('{"ddl-teach report": 1, "entries": [{"ranks": "4"}]}',
         r"report\.entries\[0\]\.ranks must be a whole number"),
        ('{"ddl-teach report": 1, "entries": [{"ranks": true}]}', "must be a whole number"),
        ('{"ddl-teach report": 1, "target": {"accuracy": NaN}}', "NaN is no number"),
        pytest.param('{"ddl-teach report": 1, "target": {"accuracy": ' + "9" * 400 + "}}",
                     "number too large", id="a number that no float can be"),
        pytest.param('{"ddl-teach report": 1, "machines": {"a": {"b": ' + DEEP + "}}}",
                     r"must be a text, not \[\[\[", id="lists in lists"),
        pytest.param("[" * 10**6, "not JSON", id="lists without end"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused_with_the_place(text, words):
    with pytest.raises(ValueError, match=words):
        from_json(text)


def test_where_a_report_comes_from_is_found_out(tmp_path):
    found = made("python -m mine", seeds=[1, 2])
    assert found.command == "python -m mine"
    assert found.seeds == (1, 2)
    assert "sha256" in found.lock
    assert (code_version(tmp_path) or "ddl-teach").startswith("ddl-teach")  # None: not installed
    (tmp_path / "requirements.lock").write_text(
        "numpy==0.1\nNo_such.package==1 ; python_version\n"
    )
    assert re.search(r"requirements\.lock, sha256 \w{16}, but numpy ", lock_hash(tmp_path))
    assert lock_hash(tmp_path / "nowhere").startswith("installed packages, sha256")
