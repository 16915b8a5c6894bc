"""What notebooks show is compared with what they showed; a planted difference fails."""

import nbformat
import pytest
from nbval.plugin import IPyNbFile, NbCellError

from tests import outputs

pytestmark = pytest.mark.slow


@pytest.mark.real
def test_a_planted_difference_fails(tmp_path, request):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell("print(6 * 7)\n3 * 4") for _ in range(3)]
    nbformat.write(notebook, tmp_path / "small.ipynb")
    file = IPyNbFile.from_parent(request.session, path=tmp_path / "small.ipynb")
    first, second, third = file.collect()
    file.setup()
    try:
        first.runtest()  # nothing is expected of it
        shown = outputs.comparable(first.test_outputs)
        outputs.expect(second, shown)
        second.runtest()
        shown[0]["text"] = shown[0]["text"].replace("42", "43")
        outputs.expect(third, shown)
        with pytest.raises(NbCellError, match="outputs differ"):
            third.runtest()
    finally:
        file.teardown()


@pytest.mark.parametrize(
    ("shown", "compared"),
    [
        ({"output_type": "stream", "name": "stdout", "text": "1\n"}, {"text": "1\n"}),
        (
            {
                "output_type": "stream",
                "name": "stdout",
                "text": "✓ right on 1 and\n12 simulated\nranks.",
            },
            {"text": "✓ right on 1"},
        ),
        (
            {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "iV"}},
            {"data": {"text/plain": "<Figure>"}},
        ),
        (
            {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["at /"]},
            {"ename": "E"},
        ),
    ],
)
def test_of_what_is_shown_the_text_is_compared(shown, compared):
    (plain,) = outputs.comparable([shown])
    assert compared.items() <= plain.items()
    assert not {"traceback", "image/png"} & {*plain, *plain.get("data", ())}


def test_a_page_is_not_compared():
    page = {"output_type": "display_data", "data": {"text/html": "<p>", "text/plain": "<P>"}}
    assert outputs.comparable([{"output_type": "stream", "text": "1"}, page]) == []


@pytest.mark.parametrize(
    "text",
    ["[0] I am rank 0\n[1] I am rank 1\n", "rank 2 raised IndexError: 4", "The time was up: 3 s"],
)
def test_what_a_race_of_ranks_decides_is_not_compared(text):
    assert outputs.comparable([{"output_type": "stream", "name": "stdout", "text": text}]) == []
