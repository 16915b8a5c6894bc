"""`ddl-teach plan`: what it prints, and what it says of a mistake."""

import pytest

from ddl_class.cli import main

SMALL = ["llama3-8b", "--gpus", "16", "--batch", "64"]


def test_a_plan_is_explained_and_others_stand_below_it(capsys):
    assert main(["plan", *SMALL, "--words", "1e11", "--show", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("16 H100: data ")
    wanted = ("memory of a rank", "a step takes", "trust: of 336", "days if nothing fails")
    assert [words for words in wanted if words not in shown] == []
    table = shown.partition("the first one's step it takes\n")[2].splitlines()
    assert table[0].split()[0] == "1.00"
    assert "plans on" in table[2]


def test_sizes_may_be_typed_and_fields_held(capsys):
    line = ["12,768,12,3072,50257", "--gpus", "8", "--batch", "64", "--sequence", "1024"]
    assert main(["plan", *line, "--hold", "tensor=2", "--hold", "schedule=1F1B"]) == 0
    assert "tensor 2" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["llama3-9b", "--gpus", "8"], "llama3-9b' is no model: take gpt-100k"),
        (["12,768,13,3072,50257", "--gpus", "8"], "heads divide hidden"),
        ([*SMALL, "--hold", "tensor"], "give a field and its value"),
        ([*SMALL, "--hold", "tensr=2"], "a plan has no tensr"),
        ([*SMALL, "--hold", "tensor=3"], "no plan has tensor=3: take one of [1, 2, 4, 8]"),
        ([*SMALL, "--hold", "schedule=1f1b"], "take one of ['1F1B'"),
        ([*SMALL, "--device", "A100", "--precision", "fp8"], "cannot multiply in 8 bits"),
        (["llama3-405b", "--gpus", "8"], "no plan can train this"),
        ([*SMALL, "--words", "1e9", "--pue", "0.5"], "pue at least 1"),
    ],
)
def test_what_cannot_be_is_said_without_a_traceback(line, words, capsys):
    assert main(["plan", *line]) == 2
    assert words in capsys.readouterr().err
