"""The library's own answers to unit 07, which stand in for the learner's, are right ones."""

from functools import partial

import numpy as np
from mistakes_07 import double

from ddl_class.exercises.check import judge
from ddl_class.exercises.stages import SimulatedStage
from ddl_class.notebook import by_hand


def test_they_pass_the_judges():
    staged = SimulatedStage(lambda comm, values: by_hand.staged(comm, values, double))
    judge("07.staged", staged, (2, 4), seed=1)
    library = partial(by_hand.pipelined, kernel=double)
    judge("07.pipelined", SimulatedStage(lambda *given: library(*given)), (2, 3), seed=1)


def test_a_table_needs_a_path_that_is_faster_for_certain():
    fast, slow = np.full((9, 3), 1.0), np.full((9, 3), 2.0)
    fast[:, 0], slow[:, 0] = 3.0, 1.0
    sizes, spread = [10, 20, 30], 1 + 0.01 * np.arange(9)[:, None]
    seconds = {"staged": slow * spread, "pipelined": fast * spread}
    assert by_hand.choose(sizes, seconds) == [(0, "staged"), (20, "pipelined")]
    same = {"staged": fast * spread, "pipelined": fast * spread[::-1]}
    assert by_hand.choose(sizes, same) == [(0, "staged")]


def test_the_best_chunk_is_near_the_formula_of_the_exercise():
    stages = [(1e-5, 1e-10), (1e-6, 5e-11), (5e-6, 8e-11)]
    right = (1e8 * 1e-5 / 1.3e-10) ** 0.5
    assert np.isclose(by_hand.best_chunk(1e8, stages), right, rtol=0.05)
