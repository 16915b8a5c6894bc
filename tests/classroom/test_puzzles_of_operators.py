"""The puzzles of units 01 to 04 and 07: what the house calls the best known it can show."""

import pytest
from test_puzzles import reached, solved

from ddl_class.exercises.registry import find_exercise

pytestmark = pytest.mark.usefixtures("fresh_record")


def best_schedule(predecessors, seconds, processors):
    """A search began with lists by the longest chain, moved one operation at a time to another
    place, and kept what was not slower, or now and then a little slower."""
    return [
        [1, 2, 8, 9, 18, 20, 23, 27, 31, 34, 28, 36, 32],
        [0, 7, 16, 17, 25, 21, 30, 29, 33, 39],
        [3, 4, 5, 6, 10, 11, 12, 13, 14, 22, 24, 26, 19, 15, 35, 37, 38],
    ]


BEST = {
    "01.schedule": best_schedule,
}


@pytest.mark.parametrize("name", BEST)
def test_the_best_known_is_reached_and_is_better_than_the_solution(name):
    best = reached(name, BEST[name])
    assert best == pytest.approx(find_exercise(name).best_known, rel=1e-5)
    assert best < reached(name, solved(name))
