"""Recipes: what is fixed stays, every seed is told, and two reports stand side by side."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from ddl_class.cli import main
from ddl_class.commands import recipe_command
from ddl_measure.recipes import carry_out as carrying
from ddl_measure.recipes.beside import beside, check_same, settings_of
from ddl_measure.recipes.carry_out import carry_out, has_worked, slowest, values
from ddl_measure.recipes.recipe import read_recipe
from ddl_measure.reports.file import load
from ddl_measure.reports.report import Provenance
from ddl_measure.reports.review import review
from ddl_measure.to_accuracy import Evaluation

TEXT = """
title = "toy"
program = "toy.py:train"
ranks = 2
seeds = [5, 6, 7, 8, 9, 10]
[fixed]
epochs = 4
[free]
batch = 32
rate = 0.5
[target]
accuracy = 0.9
in_a_row = 2
[data]
name = "toys"
training = 100
held_out = 200
shape = [3]
"""
PROGRAM = """
from ddl_measure.to_accuracy import Evaluation


def train(comm, seed, epochs, batch, rate):
    if seed == 9 and rate > 0.8:
        raise FloatingPointError("it diverged")
    return [Evaluation(step, step, 0.1 * seed * step + comm.rank, 0.0,
                       min(1, 0.6 + rate * step / 4))
            for step in range(1, epochs + 1)]
"""


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "toy.toml").write_text(TEXT)
    (tmp_path / "toy.py").write_text(PROGRAM)
    return read_recipe(tmp_path / "toy.toml")


@pytest.fixture(autouse=True)
def committed(monkeypatch):
    """As if the code under test were committed: who has changes cannot repeat anything."""
    monkeypatch.setattr(
        carrying,
        "made",
        lambda command, seeds: Provenance("2026-03-01", command, "4be0", "12ab", seeds),
    )


def looks(seed, settings, rank=0):
    """At 0.6 and more, and slower the greater the seed: at the third look the target is there."""
    if seed == 9 and settings["rate"] > 0.8:
        raise FloatingPointError("it diverged")
    return [
        Evaluation(
            step, step, 0.1 * seed * step + rank, 0.0, min(1, 0.6 + settings["rate"] * step / 4)
        )
        for step in range(1, settings["epochs"] + 1)
    ]


def train(seed, settings):
    return [looks(seed, settings, rank) for rank in range(2)]


def test_every_seed_is_in_a_report_in_which_nothing_is_found(recipe):
    kept = []
    report = carry_out(recipe, train, {}, "the command", lambda *told: kept.append(told))
    assert review(report) == ()
    assert has_worked(report)
    assert values(report, "epochs to target") == (3,) * 6
    assert values(report, "seconds to target") == pytest.approx([2.5, 2.8, 3.1, 3.4, 3.7, 4])
    assert values(report, "accuracy") == pytest.approx((1.0,) * 6)
    assert [trial.seed for trial in report.trials] == list(recipe.seeds)
    assert settings_of(report)["program"].startswith("toy.py:train, sha256 ")
    # What is on the disk after each training tells of all until then, and is not called finished.
    assert [len(told.trials) for told, _ in kept] == [1, 2, 3, 4, 5, 6]
    assert [has_worked(told) for told, _ in kept] == [False] * 5 + [True]


def test_a_crashed_training_is_told_and_counts_as_never(recipe):
    errors = []
    report = carry_out(recipe, train, {"rate": 0.9}, "it", lambda _, error: errors.append(error))
    assert errors == ["", "", "", "", "FloatingPointError: it diverged", ""]
    assert [trial.outcome for trial in report.trials].count("crashed") == 1
    assert values(report, "seconds to target")[4] == float("inf")
    assert values(report, "accuracy")[4] == 0
    assert not has_worked(report)
    assert review(report) == ()
    lost = carry_out(recipe, train, {"rate": 0.01}, "it")
    assert values(lost, "epochs to target") == (float("inf"),) * 6
    assert not has_worked(lost)
    assert lost.claims == ()


def test_side_by_side_learning_is_told_apart_from_speed(recipe):
    theirs = carry_out(recipe, train, {}, "it")
    mine = carry_out(
        recipe, lambda seed, it: [[replace(look, seconds=2 * look.seconds) for look in each]
                                  for each in train(seed, it)], {}, "it",
    )  # fmt: skip
    text = beside(theirs, mine)
    assert "learning: the same to the last digit for 6 of 6 seeds" in text
    assert "speed: yours takes 2 times theirs (" in text
    assert "theirs: 6 of 6 reached the target, the recipe has worked" in text
    assert "* seconds to target" in text
    assert "  rate " in text
    other = beside(theirs, carry_out(recipe, train, {"rate": 0.9}, "it"))
    assert "* rate                       0.5                           0.9" in other
    assert "yours: 5 of 6 reached the target, the recipe has NOT worked" in other
    assert "need not be the same" in other
    assert "there is no ratio" in other


def test_another_recipes_report_is_not_repeated(recipe):
    theirs = carry_out(recipe, train, {}, "it")
    check_same(recipe, theirs)
    for changes in ({"title": "x"}, {"target": 0.8}, {"fixed": {"epochs": 5}}):
        with pytest.raises(ValueError, match="is another recipe, so nothing is repeated"):
            check_same(replace(recipe, **changes), theirs)
    with pytest.raises(ValueError, match="no report of a recipe"):
        values(replace(theirs, entries=()), "accuracy")
    with pytest.raises(ValueError, match="no report of a recipe"):
        settings_of(replace(theirs, entries=()))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epochs": 9}, "epochs=4 is fixed: with another one it would be another recipe"),
        ({"speed": 9}, "no setting is called speed. Free are batch, rate"),
        ({"batch": 0.5}, "batch=0.5 must be of type int, such as 32"),
    ],
)
def test_what_is_fixed_stays(recipe, changed, words):
    with pytest.raises(ValueError, match=words):
        recipe.settings(changed)
    assert recipe.settings({"rate": 1}) == {"epochs": 4, "batch": 32, "rate": 1}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("ranks = 2", "", "missing ranks; unknown nothing"),
        ("ranks = 2", "ranks = 2\nranges = 3", "missing nothing; unknown ranges"),
        ("ranks = 2", "ranks = ", "is not TOML"),
        ("ranks = 2", "ranks = 0", "ranks=0 must be at least 1"),
        ("accuracy = 0.9", "accuracy = 90", "target.accuracy=90 must be a share"),
        ("accuracy = 0.9", "", "missing target.accuracy; unknown nothing"),
        ("in_a_row = 2", "in_row = 2", "unknown target.in_row; did you mean target.in_a_row?"),
        ("accuracy = 0.9", "accuracy = '0.9'", "target.accuracy = '0.9' has the wrong type"),
        ("ranks = 2", "ranks = '2'", "ranks = '2' has the wrong type: it must be int"),
        ("[5, 6, 7, 8, 9, 10]", "[5, 'six']", "it must be list, of whole numbers"),
        ("ranks = 2", "ranks = 2\nabout = 'luck'", "about='luck' is not one of training, search"),
        ("[5, 6, 7, 8, 9, 10]", "[5, 5]", "all different"),
        ("epochs = 4", "batch = 4", "batch cannot be fixed and free at once"),
        ("batch = 32", "", "add the setting `batch`"),
    ],
)
def test_a_recipe_that_cannot_be_carried_out_is_refused(recipe, before, after, words):
    recipe.file.write_text(TEXT.replace(before, after))
    with pytest.raises(ValueError, match=words):
        read_recipe(recipe.file)


def test_ranks_must_look_alike():
    one = looks(1, {"rate": 1.0, "epochs": 2})
    assert slowest([one, one]) == tuple(one)
    for ranks in ([one, one[:1]], [[], []]):
        with pytest.raises(ValueError, match="must return a Checkpoint for every look"):
            slowest(ranks)


def test_the_exit_status_says_whether_the_target_was_reached(
    recipe, tmp_path, capsys, pool, monkeypatch
):
    # The session's own ranks: to start new ones takes longer than all of this.
    monkeypatch.setattr(recipe_command, "Ranks", lambda _: nullcontext(pool))
    theirs, mine = tmp_path / "theirs.json", tmp_path / "mine.json"
    words = ["recipe", "run", str(recipe.file)]
    assert main([*words, "--out", str(theirs)]) == 0
    assert "toy: 90% was reached by every seed" in capsys.readouterr().out
    assert load(theirs).made.command.endswith("toy.toml")
    repeated = [*words, "--beside", str(theirs), "--set", "rate=0.9", "--out", str(mine)]
    assert main(repeated) == 1
    told = capsys.readouterr()
    assert "seed 9: crashed, ends at 0.0%" in told.out
    assert "it diverged" in told.err
    assert "* rate                       0.5                           0.9" in told.out
    assert "NOT reached by every seed" in told.out
    assert load(mine).entries[0].settings["rate"] == 0.9
    for wrong in (["--set", "epochs=1"], ["--beside", str(tmp_path / "none.json")],
                  ["--out", str(tmp_path / "none" / "x.json")], ["--set", "rate"]):  # fmt: skip
        assert main([*words, "--out", str(mine), *wrong]) == 2
    assert main(["recipe", "run", str(tmp_path / "none.toml"), "--out", str(mine)]) == 2
