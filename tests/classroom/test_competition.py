"""Entries of a competition: honest ones are shown in order, others refused and told why."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ddl_class import cli
from ddl_class.commands.mistake import Mistake
from ddl_class.commands.program_file import load_program
from ddl_class.competition import race
from ddl_class.competition.board import board, faults, page_of
from ddl_class.competition.entry import SEEDS, EntryForm, compete, read_form
from ddl_class.competition.race import DISCIPLINES
from ddl_measure.interval import interval
from ddl_measure.reports.file import load, save
from ddl_measure.reports.in_words import in_words
from ddl_measure.reports.report import Trial
from ddl_teach import simulate
from ddl_teach.comm import TwoLevel, Uniform
from ddl_teach.training.tasks.statements.corpus import read

LAB = Path(__file__).resolve().parents[2] / "labs" / "9_competition"
DIGITS = DISCIPLINES["digits"]
LAB_CODE = read_form(load_program(f"{LAB / 'house_code.py'}:train").__globals__["FORM"])
FORM = EntryForm("the house", {"rate": 0.3}, 16, [({"rate": 0.1}, 3, "not chosen")])


def train(comm, make_task, look):
    """Alone on every rank, and as fast as can be: nothing is sent, weights agree by themselves."""
    task = make_task(32)
    weights = task.initial()
    for step in range(1000):
        weights -= 0.3 * task.gradient(weights, 0, 1, step)[1]
        if step % 40 == 39 and look(weights, 32 * (step + 1)):
            return


@pytest.fixture(scope="module")
def measured(pool):
    """A report as the command line makes it, on two real ranks."""
    return compete(pool.run, FORM, train, DIGITS, 2, "ddl-teach competition run house.py")


@pytest.fixture(scope="module")
def house(measured):
    """The same, as if nobody were changing the code at this moment; and with plain times."""
    clean = replace(measured, made=replace(measured.made, code="4be0f1a2c3d4"))
    return timed(clean, "the house", 2.0)


def timed(report, team, middle, **more):
    """An honest report of another team whose trainings take about so long."""
    [entry] = report.entries
    times = tuple(middle * (1 + 0.01 * place) for place in (0, 3, -2, 1, -3, 2, -1, 0))
    series = (replace(entry.series[0], values=times), *entry.series[1:])
    trials = tuple(replace(it, entry=team) for it in report.trials)
    claim = replace(report.claims[0], number=interval(times)[0], entries=(team,), says=team)
    own = replace(entry, name=team, series=series, **more)
    return replace(report, entries=(own,), trials=trials, claims=(claim,))


def test_what_is_measured_is_an_honest_entry(measured, house):
    assert faults(house, house) == []
    assert measured.made.seeds == SEEDS
    assert [it.outcome for it in measured.trials] == ["not chosen"] + ["kept"] * 8
    seconds, epochs, accuracy = (series.values for series in measured.entries[0].series)
    assert len(seconds) == len(epochs) == len(accuracy) == len(SEEDS)
    assert min(accuracy) >= DIGITS.accuracy
    assert 0 < min(seconds) < DIGITS.limit
    assert measured.claims[0].number == interval(seconds)[0]
    assert faults(measured, measured) == faults(replace(house, made=measured.made), measured)


def test_unit_20_prints_each_review_on_lines_of_its_own(measured, capsys):
    source = (LAB.parents[1] / "notebooks" / "source" / "20_many_nodes.py").read_text()
    [form] = re.findall(r'Form\("(.*?)"', source)
    [cell] = [cell for cell in source.split("\n# %%") if "told(review(report))" in cell]
    said = f"{form} trains the handwritten digits to 95%."
    clean = replace(measured.made, code="4be0f1a2c3d4")
    report = replace(measured, made=clean, claims=(replace(measured.claims[0], says=said),))
    exec(cell, {"report": report, "np": np})
    review, *_ = capsys.readouterr().out.splitlines()
    assert review == "Nothing found: what is claimed follows from what is shown."
    assert form not in ("I", "you", "we", "they")  # nobody says: you trains


def test_a_training_ends_when_the_target_was_met_twice_or_time_is_up(real, monkeypatch):
    run = real(race.lap, 2, train=train, discipline="digits", seed=5)
    looks, others = run.results
    assert others == ()
    good = [look.accuracy >= DIGITS.accuracy for look in looks]
    assert good[-2:] == [True, True]
    assert not any(one and other for one, other in pairwise(good[:-1]))
    assert [look.epochs for look in looks] == [1280 * look.step / 1437 for look in looks]
    assert all(one.seconds < other.seconds for one, other in pairwise(looks))

    def never(comm, make_task, look):
        while not look(make_task(1).initial(), 0):
            comm.work(seconds=1e9)

    monkeypatch.setattr(race, "DISCIPLINES", {"digits": replace(DIGITS, limit=1e8)})
    [looks] = alone(never)
    assert [look.seconds > 1e8 for look in looks] == [False, True]
    with pytest.raises(Exception, match="without a look"):
        alone(lambda comm, make_task, look: None)


def alone(function, discipline="digits"):
    return simulate(race.lap, 1, train=function, discipline=discipline, seed=1).results


def test_the_houses_program_learns_the_code(monkeypatch):
    few = read(("unittest", "xml"), fold=race.HELD_OUT_FILES)
    monkeypatch.setattr(race, "_corpus", lambda: few)
    short = replace(DISCIPLINES["code"], limit=-1.0)  # one look, and time is up
    monkeypatch.setattr(race, "DISCIPLINES", {"code": short})
    [[look]] = alone(load_program(f"{LAB / 'house_code.py'}:train"), "code")
    assert look.epochs == pytest.approx(100 * 64 / short.data().training)
    assert 0.2 < look.accuracy <= 1


def cheats(house):
    """Each with words of the reason why it is refused."""
    [entry] = house.entries
    seconds, *others = entry.series
    machine = house.machines[entry.machine]

    def with_entry(**changes):
        return replace(house, entries=(replace(entry, **changes),))

    def with_series(**changes):
        return with_entry(series=(replace(seconds, **changes), *others))

    best = sorted(seconds.values)[:6]
    trainings = [Trial("the house", 900 + k, {"rate": 0.3}, "not chosen") for k in range(20)]
    return {
        "its machine's processor": replace(
            house, machines={entry.machine: {**machine, "processor": "eight faster cores"}}
        ),
        "8 ranks on 8 cores: 2 cores are given": with_entry(ranks=8, cores=8),
        "made.seeds": replace(house, made=replace(house.made, seeds=tuple(range(8)))),
        "made.code": replace(house, made=replace(house.made, code="00000000beef")),
        "nobody else has these changes": replace(
            house, made=replace(house.made, code="4be0f1a2c3d4+changes")
        ),
        "trainings: at least 6": with_series(values=seconds.values[:4], repeated=4),
        "best of n": with_series(values=tuple(best)),
        "its times are simulated": with_series(ground="simulated"),
        "target: ": replace(house, target=replace(house.target, accuracy=0.8)),
        "stopped at the right time": replace(house, target=replace(house.target, fixed="after")),
        "no test accuracy": with_entry(
            series=(seconds, others[0], replace(others[1], split="training"))
        ),
        "chosen on the test data": with_entry(chosen_on="held out"),
        "tuning hidden": replace(house, trials=house.trials[1:]),
        "other trials are listed, tuning hidden": with_entry(searched=0),
        "trainings with its settings are shown": replace(
            house, trials=(*house.trials, *trainings)
        ),
        "target not reached": with_series(values=(float("inf"),) * 8),
        "'values' is not said": with_series(values=None),
        "more than measured": replace(house, claims=(replace(house.claims[0], number=0.1),)),
        "and nothing else": replace(
            house, claims=(replace(house.claims[0], quantity="accuracy", number=0.96),)
        ),
        "a report of one team": replace(house, entries=(entry, replace(entry, name="again"))),
        "data: ": replace(house, data=replace(house.data, training=1797)),
        "no input time": with_series(includes=("forward", "backward", "update", "communication")),
    }


def test_cheats_are_refused_with_the_reason(house):
    missed = {}
    for words, report in cheats(house).items():
        found = faults(report, house)
        if not any(words.split(", ")[-1] in reason for reason in found):
            missed[words] = found
    assert missed == {}


@pytest.fixture
def entries(house, tmp_path):
    save(tmp_path / "house.json", house)
    save(tmp_path / "a.json", timed(house, "<b>fast & fair</b>", 0.5))
    save(tmp_path / "b.json", timed(house, "as fast", 0.51))
    save(tmp_path / "c.json", timed(house, "twice", 0.1))
    save(tmp_path / "d.json", timed(house, "twice", 1.0))
    save(tmp_path / "e.json", timed(house, "more cores", 0.01, ranks=8, cores=8))
    (tmp_path / "f.json").write_text("{")
    return tmp_path


def test_who_is_certainly_faster_stands_before_and_the_refused_stand_below(entries):
    found = board(entries)
    assert [(line.place, line.team) for line in found.lines] == [
        (1, "<b>fast & fair</b>"), (1, "as fast"), (3, "the house")
    ]  # fmt: skip
    assert [one.file for one in found.refused] == ["e.json", "f.json", "c.json", "d.json"]
    text = page_of(found)
    assert "&lt;b&gt;fast &amp; fair&lt;/b&gt;" in text
    assert "<b>fast" not in text
    assert "twice has 2 entries" in text
    assert "8 ranks on 8 cores: 2 cores are given" in text
    assert "not JSON" in text


def test_the_commands(entries, capsys):
    words = ["competition", "check", str(entries / "b.json")]
    assert cli.main(words) == 0
    assert "nothing found" in capsys.readouterr().out
    assert cli.main([*words[:2], str(entries / "e.json")]) == 1
    assert "2 cores are given" in capsys.readouterr().out
    out = entries / "board.html"
    assert cli.main(["competition", "page", str(entries), "--out", str(out)]) == 0
    assert "3 entries, 4 refused" in capsys.readouterr().out
    assert out.read_text().startswith("<!doctype html>")
    (entries / "house.json").unlink()
    assert cli.main(words) == 2
    assert "the lab's own entry says" in capsys.readouterr().err


@pytest.mark.slow
def test_the_houses_program_becomes_an_entry_by_one_command(tmp_path, capsys):
    out = tmp_path / "house.json"
    words = ["competition", "run", str(LAB / "house_digits.py"), "--ranks", "1", "--out", str(out)]
    assert cli.main(words) == 0
    report = load(out)
    assert report.entries[0].name == "the house"
    assert report.made.command == (
        "ddl-teach competition run house_digits.py --ranks 1 --out house.json"
    )
    said = capsys.readouterr().out
    assert in_words(report) in said
    assert [line.split(":")[0] for line in said.splitlines()[:8]] == [
        f"seed {seed}" for seed in SEEDS
    ]
    assert cli.main([*words, "--discipline", "code"]) == 2
    assert "which one is it?" in capsys.readouterr().err

    words[2] = str(tmp_path / "us.py")
    (tmp_path / "us.py").write_text("def train(comm, make_task, look): ...")
    assert cli.main(words) == 2
    assert "FORM" in capsys.readouterr().err
    assert cli.main([*words[:-1], str(tmp_path / "nowhere" / "us.json")]) == 2
    assert "no folder" in capsys.readouterr().err
    with pytest.raises(Mistake, match="trials"):
        read_form({"team": "us"})
    with pytest.raises(Mistake, match="each is"):
        read_form({"team": "us", "settings": {}, "samples": 1, "trials": [({}, 1, "lost")]})
    ours = {"team": "us", "settings": {}, "samples": 1, "trials": []}
    assert (read_form(ours).discipline, LAB_CODE.discipline) == ("digits", "code")
    for wrong in ("many", 0, True, 1.5):
        with pytest.raises(Mistake, match="a whole number, of a step on each rank"):
            read_form({**ours, "samples": wrong})
    with pytest.raises(Mistake, match="there are digits, code"):
        read_form({**ours, "discipline": "weather"})


def test_the_network_of_a_race_is_the_one_between_nodes():
    """Two ranks of a node have no cable between them: it must not hide the slow one."""
    network = TwoLevel(2, inside=Uniform(1e-6, 10e9), between=Uniform(2e-3, 12.5e6))
    place = simulate(race.ground, 8, network=network).results[0]
    assert place["nodes"] == "4, ranks on each: 2, 2, 2, 2"
    assert place["network"].startswith("100 Mbit/s at the slowest, latency 2,00")
