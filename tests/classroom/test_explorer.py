"""The explorer says what theory says, wherever its sliders stand."""

import random

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from ddl_class.notebook.explorer import explore
from ddl_runtime.pictures.words import spoken
from ddl_teach.theory.collectives import ALGORITHMS
from ddl_teach.theory.machine import Link


def moved(explorer, seed):
    """Move every slider somewhere; returns where they stand."""
    dice = random.Random(seed)
    for slider in explorer.sliders.values():
        slider.index = dice.randrange(len(slider.options))
    return {name: slider.value for name, slider in explorer.sliders.items()}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sampled(3)
def test_the_alt_text_names_the_winner_of_the_theory(seed):
    explorer = explore()
    at = moved(explorer, seed)
    link = Link(at["latency"], 1 / at["bandwidth"], 1 / at["adding"])
    times = {name: time(at["ranks"], at["nbytes"], link) for name, time in ALGORITHMS.items()}
    text = explorer.picture().alt
    shortest = min(times.values())
    equals = [name for name, time in times.items() if time <= shortest * (1 + 1e-9)]
    found = " and ".join(spoken(name) for name in equals)
    assert f"{found} {'wins' if len(equals) == 1 else 'are equally fast'}" in text


def test_it_begins_exactly_where_it_is_told():
    explorer = explore(latency=3.14e-5, bandwidth=2.7e9, ranks=11, nbytes=10_000, adding=7e9)
    at = {name: slider.value for name, slider in explorer.sliders.items()}
    begun = {"latency": 3.14e-5, "bandwidth": 2.7e9, "adding": 7e9, "ranks": 11, "nbytes": 10_000}
    assert at == begun
    assert "11 ranks, 9.77 KiB" in explorer.picture().alt


def test_only_the_named_algorithms_compete():
    text = explore(["ring", "linear"]).picture().alt
    assert "ring" in text
    assert "tree" not in text
    with pytest.raises(ValueError, match="no formula for 'star'"):
        explore(["star"])


@pytest.mark.parametrize("begin", [{"ranks": 1}, {"nbytes": 0}])
def test_what_takes_no_time_is_refused(begin):
    with pytest.raises(ValueError, match="take no time"):
        explore(**begin)


def test_sliders_are_labelled_and_carry_units():
    for name, slider in explore().sliders.items():
        assert slider.description
        words = [label for label, _ in slider.options]
        assert len(set(words)) == len(words), f"two steps of {name} read the same"
    assert "1 µs" in [label for label, _ in explore().sliders["latency"].options]


@pytest.fixture
def shell():
    """What displays need, without the history file that people's own shells write."""
    yield InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    InteractiveShell.clear_instance()


@pytest.mark.usefixtures("shell")
def test_the_picture_is_an_output_of_its_own_and_stays_where_there_are_no_sliders():
    with capture_output() as captured:
        explore()._ipython_display_()
    sliders, names, picture = captured.outputs
    assert "aria-label" in names.data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in sliders.data
    assert "application/vnd.jupyter.widget-view+json" not in picture.data
    assert "<img" in picture.data["text/html"]


def test_two_explorers_do_not_know_of_each_other():
    one, other = explore(), explore()
    before = other.picture().alt
    moved(one, seed=1)
    assert other.picture().alt == before
