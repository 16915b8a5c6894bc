"""Pictures of cells, fronts and agreement say what they show, in their titles and alt texts."""

from ddl_class.plots.searching import plot_agreement, plot_architectures, plot_cell
from ddl_runtime.pictures.style import INK
from tests.classroom.plots.figures import title

EDGES = {"0-1": "conv3", "0-2": "same", "1-2": "none", "0-3": "mean3", "2-3": "conv1"}


def test_a_cell_shows_which_of_its_operations_count():
    figure = plot_cell(EDGES, {"0-2", "0-3", "2-3"})
    assert title(figure) == "Edges that count: 3 of 5; with an operation in vain: 1"
    assert "0-1 conv3 (leads nowhere), 0-2 same, 0-3 mean3, 2-3 conv1." in figure.alt
    colours = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert colours["conv1"] == colours["mean3"] == INK
    assert colours["conv3"] != INK
    assert "none" not in colours


def test_a_front_is_a_staircase_through_what_was_trained():
    clouds = {"chance": ([1e5, 2e6], [0.5, 0.1]), "evolution": ([4e5, 1e6], [0.2, 0.05])}
    figure = plot_architectures(clouds, ([1e6, 1e5, 4e5], [0.05, 0.5, 0.2]), "work (operations)")
    assert title(figure) == (
        "3 of 4 networks are on the front: 50.0% to 5.0% of errors for 10 times the price"
    )
    assert "chance, evolution" in figure.alt
    *_, steps, marks = figure.axes[0].get_lines()
    assert steps.get_drawstyle() == "steps-post"
    assert list(marks.get_xdata()) == [1e5, 4e5, 1e6]


def test_agreement_stands_beside_its_ceiling():
    scores = {"shared weights": ([0.1, 0.2], [0.3, 0.4]), "another seed": ([0.3, 0.4], [0.3, 0.4])}
    taus = {"shared weights": (0.5, 0.1, 0.8), "another seed": (0.8, 0.6, 0.9)}
    figure = plot_agreement(scores, taus)
    assert (
        "Pairs in the same order: 75% (shared weights), 90% (another seed)"
        in figure.get_suptitle()
    )
    assert "another seed: tau 0.80, 0.60 to 0.90" in figure.alt
    assert [ax.get_xlabel() for ax in figure.axes] == [f"errors by {name}" for name in scores]
