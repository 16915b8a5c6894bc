"""A sweep: three answers, by method and problem."""

from dataclasses import replace

import numpy as np

from ddl_measure.experiments.convolutions import Sweep, sweep
from ddl_teach.operators.convolution.problem import Convolution
from ddl_teach.theory.convolution_cost import cost
from ddl_teach.theory.convolution_time import Rates, seconds

RATES = Rates(5e10, 5e9, 5e9)


def test_every_answer_is_there_or_nan_where_a_method_refuses():
    layer = Convolution(1, 2, 8, 8, 3, padding=(1, 1))
    problems = [layer, replace(layer, stride=(2, 2))]
    found = sweep(problems, RATES, repetitions=1)
    for name in ("direct", "im2col", "fft"):
        counts = [cost(name, problem) for problem in problems]
        assert list(found.operations[name]) == [one.operations for one in counts]
        assert list(found.predicted[name]) == [seconds(one, RATES) for one in counts]
        assert (found.measured[name] > 0).all()
        assert (found.memory[name] >= 0).all()
    assert found.panels == {
        "time": found.measured, "operations": found.operations, "memory": found.memory,
    }  # fmt: skip


def test_a_crossing_is_the_value_from_which_on_one_stays_below():
    falling, flat = {"fft": np.array([3.0, 2, 1])}, {"im2col": np.array([2.5, 2.5, 2.5])}
    never = {"fft": np.array([3.0, 2, 3]), **flat}
    found = Sweep(falling | flat, {}, never, {"fft": np.ones(3), **flat})
    assert found.crossings([3, 5, 7]) == {"counted": 5.0, "predicted": None, "measured": 3.0}
