"""Numbers in the prose are what the code computes, what was recorded, or what others have said."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from ddl_teach.operators.recurrence import scan
from ddl_teach.theory.failures import young
from ddl_teach.theory.gossip import contraction

ROOT = Path(__file__).resolve().parents[1]


def prose(pattern):
    """The words of the files, on one line, without marks of comments."""
    [path] = ROOT.glob(pattern)
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(" ".join(line.removeprefix("#").split()) for line in lines)


def said(pattern, sentence):
    """The numbers in the one sentence that reads like this, with `#` for each number."""
    form = re.escape(sentence).replace(r"\#", r"(\d[\d,]*(?:\.\d+)?)")
    [found] = re.findall(form, prose(pattern))
    return [float(n.replace(",", "")) for n in ([found] if isinstance(found, str) else found)]


def recorded(zeros, form, size):
    """How many times as long as the dense product the sparse one took: the median."""
    text = (ROOT / "benchmarks/results/pruned_products.txt").read_text()
    block = text.partition(f"{size} x {size} times a batch")[2].partition("\n\n")[0]
    [ratio] = re.findall(rf"{zeros}% zeros  {form} .*sparse / dense +([\d.]+)", block)
    return float(ratio)


PLACES_OF_UNIT_03 = (
    "notebooks/source/03_*.py", "ddl_class/exercises/unit_03/*.*",
    "ddl_class/retrieval/bank/unit_03.toml", "ddl_teach/operators/divided_batches/*.py",
    "ddl_measure/experiments/divided_batches.py",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PLACES_OF_UNIT_03)
def test_a_micro_batch_is_a_pipelines_and_unit_03_has_pieces(pattern):
    paths = list(ROOT.glob(pattern))
    assert paths
    for path in paths:
        words = prose(str(path.relative_to(ROOT))).replace("plain.micro_batches", "")
        assert re.findall(r"micro.?batch", words.replace('with micro-batches"', ""), re.I) == []


UNIT_12 = "notebooks/source/12_pruning.py"


def broken_lists(text: str) -> list[str]:
    """Lines of a list's item that a number and a full stop begin: Jupyter ends the list there."""
    return re.findall(r"^ *[-*] .*(?:\n  +.*)*?\n  +(\d{1,9}[.)](?: .*)?)$", text, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/source/*.py")), ids=lambda p: p.stem)
def test_no_item_of_a_list_is_broken_by_a_number(path):
    prose = "\n".join(line.removeprefix("# ") for line in path.read_text().splitlines())
    assert not broken_lists(prose)


def test_a_broken_list_is_seen():
    assert broken_lists("- A. Author, *SC*,\n  2019.") == ["2019."]
    assert not broken_lists("- A. Author,\n  *SC*, 2019.")


def test_a_pruned_layer_took_what_was_recorded():
    times = said(UNIT_12, "took **# to # times as long** as the dense one")
    assert times == [round(recorded(90, "layer", size)) for size in (512, 1024)]


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("notebooks/source/15_*.py", "reach the last rank, and # to be forgotten"),
        ("slides/decks/5_*.md", "On a ring of 64, # steps until one percent"),
    ],
)
def test_a_ring_of_64_forgets_in_as_many_steps_as_is_said(pattern, sentence):
    second = contraction.ring(64)
    [steps] = said(pattern, sentence)
    assert second**steps <= 0.01 < second ** (steps - 1)
    assert steps == math.ceil(contraction.steps_until(0.01, second))


def test_the_notebook_compares_the_prediction_with_the_same_number():
    [compared] = re.findall(
        r'reveal\("15\.steps", (.*?)\) plot', prose("notebooks/source/15_*.py")
    )
    found = eval(compared, {"np": np, "contraction": contraction})
    assert [found] == said(
        "notebooks/source/15_*.py", "reach the last rank, and # to be forgotten"
    )


def guesses(weights, terms):
    """How often unit 04's cell scans; its states are compared with those step by step."""
    [path] = ROOT.glob("notebooks/source/04_*.py")
    cells = path.read_text(encoding="utf-8").split("\n# %%\n")
    [before] = [cell for cell in cells if cell.startswith("states, guess, rounds")]
    [newton] = [cell for cell in cells if cell.startswith("while np.abs(guess")]
    names = {"a": weights, "b": terms, "np": np, "scan": scan}
    exec(before, names)
    exec(newton.partition("print(")[0], names)
    return names["rounds"] if np.isfinite(names["guess"]).all() else math.inf


def test_larger_weights_need_as_many_more_scans_as_is_said():
    weights, terms = np.random.default_rng(2).uniform(-1, 1, (2, 4096, 8))
    few = guesses(weights, terms)
    assert few < 10
    assert round(guesses(3 * weights, terms) / few) == 4
    with np.errstate(all="ignore"):
        assert guesses(5 * weights, terms) == math.inf


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("notebooks/source/02_which*.py", "tries up to # of them once for each new shape"),
        ("notebooks/source/03_*.py", "times up to # of them once for each shape"),
        ("notebooks/source/17_learning*.py", "by trying up to #, once for each new shape"),
    ],
)
def test_torch_tries_as_many_algorithms_as_is_said(pattern, sentence):
    header = Path(torch.__file__).parent / "include/ATen/Context.h"
    [limit] = re.findall(r"benchmark_limit_cudnn = (\d+);", header.read_text())
    assert said(pattern, sentence) == [float(limit)]


def test_failures_of_a_large_training_and_what_follows():
    unit = "notebooks/source/20_many*.py"
    cards, in_a_node, nodes = said(unit, "trained on # GPUs, # in a node: # nodes")
    assert cards == in_a_node * nodes
    days, failures = said(unit, "In # days # interruptions")
    save, hours = said(unit, "for $C = #$ minute and $M = #$ hours")
    assert round(days * 24 / failures) == hours
    every = young(save, 60 * hours)
    assert said(unit, "that is every # minutes, and a tenth") == [round(every)]
    assert save / every + every / (120 * hours) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks/source").glob("*.py")), ids=lambda it: it.stem
)
def test_notebooks_name_units_and_no_part_of_the_course(path):
    # Readers would count the parts from the first folder, the decks do from the second.
    words = prose(f"notebooks/source/{path.name}")
    assert re.findall(r"[Pp]art \d+ of the course", words) == []
