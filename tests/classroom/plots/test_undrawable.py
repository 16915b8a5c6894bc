"""What no picture can be drawn of, and what is said then: one line a case."""

import numpy as np
import pytest

from benchmarks import pictures as benchmarks
from ddl_class.plots import (
    convolutions,
    course,
    many_nodes,
    memory,
    messages,
    networks,
    recurrences,
    searching,
    staging,
    work_depth,
)
from ddl_runtime.pictures import waits
from ddl_runtime.records.timeline import Timeline
from tests.classroom.plots.figures import HALF, WHERE

REGRETS = {"tree": [0.0], "ring": [0.5]}
REFUSED = [
    (messages.plot_times, [], {}, "nothing to draw"),
    (searching.plot_architectures, [{}, ([], []), "work"], {}, "a front needs at least one"),
    (messages.plot_arrivals, [[]], {}, "a row for each rank"),
    (messages.plot_arrivals, [[[]]], {}, "a row for each rank"),
    (messages.plot_arrivals, [[1.0, 2.0]], {}, "a row for each rank"),
    (searching.plot_choices, [{"other": [["ring", "tree"]]}, ["2", "4"], ["1", "2"]], WHERE,
     r"the map of other has shape \(1, 2\), not \(2, 2\)"),
    (searching.plot_regrets, [REGRETS, {"tree": (0.1, 0.0, 0.2)}], {}, "give both"),
    (searching.plot_consolidated, [{}], {}, "at least one way"),
    (convolutions.Swept, ["batch", [3, 5, 7], {"time": {"fft": [1.0, 2.0]}}], {},
     "time of fft has 2 values over 3 of batch"),
    (staging.plot_copies, [Timeline([[], []])], {}, "trace=False"),
    (convolutions.plot_im2col, [np.zeros((3, 3)), np.zeros((2, 2, 2))], {}, "matrix has shape"),
    (recurrences.plot_magnitudes, [{"nothing": [0.0]}], HALF, "all numbers are zero"),
    (memory.plot_held, [{}], {"title": ""}, "no row"),
    (memory.plot_over_time, [{}], {"title": ""}, "no curve"),
    (memory.plot_held_over_time, [{}], {"room": 1.0, "title": ""}, "no curve"),
    (messages.plot_messages, [[1, 2], [1.0]], {}, "give one time for each size"),
    (messages.plot_messages, [[], []], {}, "give one time for each size"),
    (messages.plot_messages, [[1], [1.0]], {"latency": 1.0}, "both latency and per_byte"),
    (memory.plot_front, [[], [], {}], {}, "at least one point"),
    (memory.plot_divisions, [{}], {"title": ""}, "no division"),
    (many_nodes.plot_nodes, [[0, 1], [1.0]], {}, "sent has 1 numbers, but there are 2 nodes"),
    (work_depth.plot_operation_graph, [[[1], [0]]], {}, "would wait for itself"),
    (work_depth.plot_operation_graph, [[[], [0]], ["+"]], {}, "give one each"),
    (work_depth.plot_operation_graph, [[[]] * 201], {}, "up to 200"),
    (networks.plot_pipeline, [Timeline([[], []])], {"title": ""}, "no passes of a pipeline"),
    (searching.plot_population, [[[1.0], [2.0]], [[0]], [[1.0], [1.0]]], {},
     "a row for each generation"),
    (course.plot_prediction, [1, {}, "bytes"], {}, "nothing was found yet"),
    (benchmarks.plot_roofline, [[], 1e9, {"memory": 1e9}], {"network": ""}, "at least one layer"),
    (work_depth.plot_schedule, [[0], [1, 1], [0], 1], {}, "give one of each"),
    (work_depth.plot_schedule, [[], [], [], 1], {}, "at least one operation"),
    (work_depth.plot_schedule, [[0], [1], [3], 2], {}, "processors=2"),
    (work_depth.plot_schedule, [[0], [1], [0], 65_536], {}, "processors=65536"),
    (networks.plot_cuts, [[("A", 2, 2, "diagonal")], 2], {"title": ""}, "not 'diagonal'"),
    (convolutions.plot_spread, [{"direct": np.zeros(3)}], {}, "direct has shape"),
    (convolutions.plot_spread, [{}], {}, "nothing to draw"),
    (staging.plot_paths, [{}], {}, "nothing to draw"),
    (waits.plot_waits, [[], []], {}, "no rank waits"),
    (recurrences.plot_wavefronts, [[[(2, 0)]], 2, 2], {},
     r"turn 0 holds the cell \(2, 0\); layers are 0 to 1"),
    (convolutions.plot_errors, [[1, 2], [1.0]], {}, "2 tiles and 1 errors"),
    (work_depth.plot_bounds, [1, 2, {1: 1}], {}, "depth="),
    (work_depth.plot_bounds, [1, 0, {1: 1}], {}, "depth="),
    (work_depth.plot_bounds, [5, 1, {}], {}, "nothing to draw"),
    (work_depth.plot_layers, [["a"], [0], [1]], {"kinds": ["a"]}, "leave them out"),
    (work_depth.plot_layers, [["a"], [1, 2], [1]], {"kinds": ["a"]}, "give one of each"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("draw", "data", "options", "words"), REFUSED, ids=[draw.__name__ for draw, *_ in REFUSED]
)
def test_what_cannot_be_drawn_is_refused(draw, data, options, words):
    with pytest.raises(ValueError, match=words):
        draw(*data, **options)
