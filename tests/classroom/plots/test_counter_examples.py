"""Each picture that computes its title is drawn from data of which another title is true."""

import importlib
import inspect
import pkgutil

from benchmarks import pictures as benchmarks
from ddl_class import plots
from ddl_runtime import pictures
from tests.classroom.plots.test_picture_titles import TITLES

ELSEWHERE = {  # whose titles have counter-examples in a file of their own
    "plot_copies": "test_copies", "plot_memory": "test_memory",
    "plot_prediction": "test_prediction", "plot_predictions": "test_predictions",
    "plot_roofline": "test_roofline_picture", "plot_run": "test_activity",
    "plot_search": "test_search_picture", "plot_steps": "test_steps",
    "plot_timeline": "test_activity", "plot_waits": "test_waits", "plot_winners": "test_winners",
}  # fmt: skip
OWN = inspect.Parameter("title", inspect.Parameter.KEYWORD_ONLY, default=None)
GIVEN = {"plot_fooling", "plot_panel", "plot_trick"}  # a way to fool brings its titles along


def test_every_title_has_a_counter_example():
    titles = {}
    for draw, *_, title in TITLES:
        titles.setdefault(draw, set()).add(title)
    modules = [
        importlib.import_module(f"{package.__name__}.{name}")
        for package in (plots, pictures)
        for _, name, _ in pkgutil.iter_modules(package.__path__)
    ]
    computed = [
        draw
        for module in (*modules, benchmarks)
        for name, draw in vars(module).items()
        if name.startswith("plot_") and draw.__module__ == module.__name__
        and inspect.signature(draw).parameters.get("title", OWN).default is not OWN.empty
        and name not in GIVEN | ELSEWHERE.keys()
    ]  # fmt: skip
    assert len(computed) > 50
    assert [draw.__name__ for draw in computed if len(titles.get(draw, ())) < 2] == []
