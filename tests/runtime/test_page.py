"""Text that a page does not break inside of words."""

from hypothesis import given
from hypothesis import strategies as st

from ddl_runtime.diagnosis.page import DEEPER, NARROW, folded

LINES = st.lists(st.text("ab -", max_size=3 * NARROW).map(str.rstrip), max_size=3)


@given(LINES)
def test_a_folded_text_has_the_same_words_on_lines_that_fit(lines):
    told = folded("\n".join(lines))
    assert told.split() == "\n".join(lines).split()
    for line in told.splitlines():
        assert len(line) <= NARROW or len(line.split()) == 1


def test_the_rest_of_a_line_stands_farther_in():
    first, rest = folded(f"  {'word ' * 14}").splitlines()
    assert first.startswith("  word")
    assert rest == f"  {DEEPER}word"
    assert folded("  short\n\nlines") == "  short\n\nlines"
