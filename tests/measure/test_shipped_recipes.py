"""The recipes that come with the course, each in short on its own number of real ranks."""

from dataclasses import replace
from pathlib import Path

import pytest

from ddl_class.cli import main
from ddl_class.commands.program_file import load_program
from ddl_measure.recipes import carry_out as carrying
from ddl_measure.recipes.beside import beside, check_same
from ddl_measure.recipes.carry_out import Searched, carry_out, has_worked, values
from ddl_measure.recipes.recipe import read_recipe
from ddl_measure.reports.file import from_json, to_json
from ddl_measure.reports.report import Provenance, Trial
from ddl_measure.reports.review import review
from ddl_measure.to_accuracy import Evaluation

SHIPPED = Path(__file__).resolve().parents[2] / "benchmarks" / "recipes"
SHORT = {
    "digits_on_two_ranks": {"epochs": 1},
    "code_on_two_ranks": {"epochs": 1, "width": 4, "packages": "json"},
    "search_on_three_ranks": {"budget": 120},
}
FREE = {"search_on_three_ranks": {"trials": 6, "rungs": 2, "least": 10}}
LOOK = Evaluation(1, 1, 1.0, 0.0, 0.9)


@pytest.fixture(autouse=True)
def committed(monkeypatch):
    """As if the code under test were committed: who has changes cannot repeat anything."""
    monkeypatch.setattr(
        carrying,
        "made",
        lambda command, seeds: Provenance("2026-03-01", command, "4be0", "12ab", seeds),
    )


def test_none_is_forgotten_here():
    assert {file.stem for file in SHIPPED.glob("*.toml")} == set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_a_recipe_is_carried_out_twice_and_learns_the_same(name, pool):
    whole = read_recipe(SHIPPED / f"{name}.toml")
    assert whole.code.startswith(whole.program)
    assert len(whole.seeds) >= 6  # fewer have no 95% interval
    recipe = replace(whole, seeds=(3, 4), fixed={**whole.fixed, **SHORT[name]}, in_a_row=1)
    if isinstance(recipe.data, str):
        recipe = replace(recipe, data=load_program(str(SHIPPED / recipe.data))(**recipe.fixed))
    program = load_program(str(SHIPPED / recipe.program))

    def run(seed, settings):
        return pool.run(program, recipe.ranks, timeout=300, seed=seed, **settings).results

    errors = []
    theirs, mine = (
        carry_out(recipe, run, FREE.get(name, {}), "it", lambda _, error: errors.append(error))
        for _ in range(2)
    )
    assert errors == [""] * 4
    assert 0 < min(values(theirs, "accuracy")) <= max(values(theirs, "accuracy")) <= 1
    text = beside(theirs, mine)
    assert "learning: the same to the last digit for 2 of 2 seeds" in text
    if recipe.about == "search":
        assert "trials: 12 of 12 are in both" in text
        assert [it.outcome for it in theirs.trials].count("chosen") == 2
        assert {it.settings["steps"] for it in theirs.trials} == {10, 40}
    # Two seeds are too few for an interval, and a year's target may not be met in an epoch.
    assert {it.fault for it in review(theirs)} <= {"no interval", "target not reached"}
    assert from_json(to_json(theirs)) == theirs
    with pytest.raises(ValueError, match="is another recipe"):
        check_same(whole, theirs)
    dear = {"search_on_three_ranks": {"trials": 27}}.get(name, {"batch": 7})
    refused = carry_out(recipe, run, dear, "it")
    assert {trial.outcome for trial in refused.trials} == {"crashed"}
    assert not has_worked(refused)


def test_data_that_cannot_be_found_out_are_a_mistake(tmp_path, capsys):
    text = (SHIPPED / "code_on_two_ranks.toml").read_text()
    for file in ("statements.py", "code_on_two_ranks.toml"):
        (tmp_path / file).write_text((SHIPPED / file).read_text())
    words = ["recipe", "run", str(tmp_path / "it.toml"), "--out", str(tmp_path / "it.json")]
    for before, after, told in (
        ("packages = ", "books = ", "must take all fixed settings: data() missing"),
        ("statements.py:data", "elsewhere.py:data", "There is no file"),
        ("statements.py:data", "statements.py:dates", "has no function dates"),
        ('"asyncio email multiprocessing unittest xml"', '"nowhere"', "no source files"),
    ):
        (tmp_path / "it.toml").write_text(text.replace(before, after))
        assert main(words) == 2
        assert told in capsys.readouterr().err
    assert main([*words[:2], str(tmp_path / "none.toml")]) == 2
    assert "There are: code_on_two_ranks.toml, it.toml" in capsys.readouterr().err
    (tmp_path / "it.toml").write_text(text)
    assert main([*words, "--beside", str(tmp_path / "it.json")]) == 2
    assert "is the file of --beside: give --out another one" in capsys.readouterr().err
    assert not (tmp_path / "it.json").exists()


def test_of_a_search_one_rank_tells_all_trials():
    search = read_recipe(SHIPPED / "search_on_three_ranks.toml")
    trials = tuple(Trial(settings={"rate": rate}, outcome="stopped", loss=1.0) for rate in (1, 2))
    best = Trial(settings={"rate": 3}, outcome="chosen", loss=0.5)

    def run(seed, _):
        return [Searched((replace(LOOK, seconds=1 + seed),), (*trials, best)), None, None]

    report = carry_out(replace(search, target=0.9), run, {}, "it")
    assert review(report) == ()
    assert has_worked(report)
    assert len(report.trials) == 18
    assert {(it.entry, it.seed) for it in report.trials} == {
        (search.title, seed) for seed in search.seeds
    }
    hidden = replace(report, trials=report.trials[1:])
    assert {it.fault for it in review(hidden)} == {"tuning hidden"}
    errors = []
    found = Searched((LOOK,), trials)
    for wrong in ([[LOOK]] * 3, [found, found, None], [Searched((LOOK,), ()), None, None]):
        carry_out(search, lambda *_, it=wrong: it, {}, "it", lambda _, error: errors.append(error))
    assert len(errors) == 18
    assert all("In a search one rank returns it, with all trials" in error for error in errors)


def test_a_run_that_was_interrupted_stands_beside_a_whole_one():
    search = read_recipe(SHIPPED / "search_on_three_ranks.toml")
    found = Searched((LOOK,), (Trial(settings={"rate": 3}, outcome="chosen", loss=0.5),))
    kept = []
    carry_out(search, lambda *_: [found], {}, "it", lambda report, _: kept.append(report))
    assert [has_worked(report) for report in kept] == [False] * 6  # 90% is below the target
    text = beside(kept[2], kept[-1])
    assert "theirs: 0 of 6 reached the target, the recipe has NOT worked" in text
    assert "learning: the same to the last digit for 3 of 3 seeds" in text
