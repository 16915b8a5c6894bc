"""What each picture says of its data, in its title and to those who cannot see it; and what no
picture can be drawn of. One line a case: a new picture needs its own."""

import numpy as np
import pytest

from benchmarks import pictures as benchmarks
from ddl_class.plots import (
    convolutions,
    course,
    forms,
    gossip,
    honesty,
    large_batches,
    many_nodes,
    memory,
    messages,
    networks,
    recurrences,
    searching,
    staging,
    staleness,
    work_depth,
)
from ddl_runtime.pictures import waits
from ddl_runtime.records.timeline import Timeline
from ddl_teach.theory.staleness import delayed_descent, stable_rate

SIZES = 2.0 ** np.arange(6, 20, 2)
RING, DOUBLING = (SIZES, 1e-5 + SIZES * 1e-9), (SIZES, 2e-6 + SIZES * 4e-9)
BOTH = {"ring": RING, "recursive_doubling": DOUBLING}
TWICE = {name: (sizes, 2 * times) for name, (sizes, times) in BOTH.items()}
BUCKETS = [2**10, 2**20, 2**30], [4.0, 1.0, 2.0]
CLOCKED = (BUCKETS[0], [2.0, 2.0, 1.0], [1.9, 1.9, 0.9], [2.1, 2.2, 1.1])
WHERE = {"row_quantity": "ranks", "column_quantity": "bytes of a vector"}
BY_CHUNK = (1, 2, 4), (3.0, 1.0, 2.0)
HALF = {"smallest": 2.0**-24, "smallest_normal": 2.0**-14, "largest": 65504.0}
CURVES = np.array([[2.0, 1.0, 0.5], [1.0, 0.9, 0.8], [3.0, 2.9, 2.8]])
WORKERS = [2, 8, 32]
PORTS = {"server": (WORKERS, [2e3, 8e3, 32e3]), "ring": (WORKERS, [1e3, 1.75e3, 1.94e3])}
SWEPT = {"time": {"im2col": [1e-3, 2e-3]}}
SUMS = {"in_order": ([10, 100], [1e-3, 0.5]), "pairwise": ([10, 100], [1e-4, 0.0])}
SAMPLES = {"plain": [1e-9, 1e-9, 1.0, 0.0], "scaled": [1.0, 1e6, 1.0, 1.0]}
WALKS = {f"a = {a}": delayed_descent(a, 1, 7, 200) for a in (0.08, 0.2, 0.209, 0.22)}
LINE = ([1, 10, 100], [1.0, 4.0, 5.0])
THROUGHPUT = ([1, 10, 100], [1.0, 9.9, 98.0])
WAITS = {"halving, differ": ([2, 8], [1.5, 2.0]), "asynchronous, differ": ([8], [1.2])}
REGRETS = {"tree": [0.0], "ring": [0.5]}

TITLES = [
    (messages.plot_times, [BOTH], {},
     "Recursive doubling is fastest at 64 B, ring at 256 KiB"),
    (messages.plot_times, [BOTH], {"measured": {"ring": (SIZES, 1.5 * RING[1])}},
     "Measured: 1.5 times the time predicted"),
    (messages.plot_times, [{"ring": RING}, {"ring": RING}], {}, "Simulated: as predicted"),
    (messages.plot_times, [BOTH], {"measured": TWICE},
     "Measured: recursive doubling is fastest at 64 B, ring at 256 KiB; 2 times the time "
     "predicted"),
    (messages.plot_arrivals, [[[1, 2, 3, 1], [2, 1, 4, 2], [3, 3, 5, 3]]], {},
     "4 turns, 2 different orders: 3 times by number"),
    (messages.plot_arrivals, [[[0.0]]], {}, "1 turn, 1 different order: 1 time by number"),
    (networks.plot_bucket_sizes, [BUCKETS], {"backward": 0.8},
     "Best: buckets of 1 MiB, 1 s; small ones take 4.0 times that, a giant one 2.0 times"),
    (networks.plot_bucket_sizes, [BUCKETS, None, CLOCKED], {"backward": 0.8},
     "Best measured: buckets of 1 GiB, predicted: 1 MiB; measured takes 0.5 times as long"),
    (searching.plot_choices, [{"measured": [["ring", "tree"]]}, ["2"], ["1 KiB", "1 MiB"]], WHERE,
     "measured: 2 ways win somewhere"),
    (recurrences.plot_chunks, [BY_CHUNK, BY_CHUNK, BY_CHUNK], {"alone": 2.0},
     "Best: 2 steps in a message: so it was predicted and measured"),
    (recurrences.plot_chunks, [BY_CHUNK, BY_CHUNK, ((1, 2, 4), (1, 2, 3)), (BY_CHUNK[1],) * 2], {},
     "Best: 1 step in a message; 2 were predicted"),
    (convolutions.plot_sweep, [convolutions.Swept("channels", [3, 5], SWEPT)], {}, "By channels"),
    (forms.plot_bandwidths, [{"1 bit": LINE}], {"even": 0},
     "Fewer bytes do not pay at any bandwidth: none are saved"),
    (forms.plot_bandwidths, [{"1 bit": LINE}], {"even": np.inf},
     "Fewer bytes pay at every bandwidth: packing costs nothing"),
    (gossip.plot_consensus, [{"engines": [4.0, 1.0]}], {},
     "After 1 step engines are 25% as far apart as before"),
    (gossip.plot_consensus, [{"a": [1.0, 2.0], "b": [1.0, 30.0]}, {"a": [1.0, 2.0]}], {},
     "After 1 step a leaves 200%, b 30 times what there was"),
    (gossip.plot_ingress, [PORTS], {},
     "From 2 to 32 workers: server takes in 16 times as much, ring 1.9 times"),
    (large_batches.plot_speed_ups, [THROUGHPUT, LINE], {"wall": 6.0},
     "100 ranks: 98 times the throughput, there 5 times as soon"),
    (large_batches.plot_speed_ups, [THROUGHPUT, LINE, LINE, LINE], {"wall": 6.0},
     "100 ranks of yours: there 5 times as soon; by the formula 5"),
    (large_batches.plot_descents,
     [{"1 sample": np.array([[1.0, 1.0], [3.0, 4.0]]), "many": np.ones((2, 2))}, (1.0, 2.0)], {},
     "Distance from the bottom after 1 step: 1 sample 5.00, many 1.41"),
    (recurrences.plot_loss_scale, [{"plain": ([2, 2], [1, 1]), "scaled": ([2, 0.5], [8, 16])}], {},
     "Loss at the end: plain: nothing is learned; scaled: 4 times less"),
    (recurrences.plot_magnitudes, [SAMPLES], HALF,
     "In float16: plain, 75% become zero; scaled, 0% become zero and 25% infinite"),
    (messages.plot_messages, [[8, 9], [1e-6, 1e-6]], {"latency": -1e-6, "per_byte": 2e-9},
     "This line cannot be: its latency is -1e-06 s"),
    (messages.plot_messages, [[0, 8, 2**20], [1e-6, 2e-6, 1e-3]], {},
     "A message takes 2 µs to 1 ms"),
    (many_nodes.plot_nodes, [[3, 3, 3]], {}, "3 ranks on one node: no message crosses a cable"),
    (recurrences.plot_sum_errors, [SUMS, {}], {"unit_roundoff": 2**-11},
     "Of 100 terms, in order loses 50%, pairwise 0%"),
    (searching.plot_curves, [(1, 2, 4), CURVES], {},
     "3 trials, 12 steps: the best ends at 0.5"),
    (searching.plot_curves, [(1, 2, 4), CURVES, [[0, 1, 2], [0, 1], [0]]], {},
     "58% of the steps find the best of all"),
    (searching.plot_curves, [(1, 2, 4), CURVES, [[0, 1, 2], [1], [1]]], {},
     "50% of the steps find number 2 of all"),
    (searching.plot_waiting,
     [{"halving, differ": ([1, 8], [1.0, 2.1])}, *[WAITS] * 2], {},
     "8 workers: halving takes 2, asynchronous takes 1.2 times as long as without waiting"),
    (searching.plot_luck, [[0.1, 0.2, 0.3], [0.4, 0.4, 0.4]], {},
     "The best of 3 equal runs: 50% fewer errors where it was chosen, 0% elsewhere"),
    (work_depth.plot_schedule, [[0.0, 0.001], [0.001, 0.003], [0, 0], 1], {"unit": "s"},
     "2 operations on one processor: 4 ms, and 0% idle"),
    (staging.plot_paths, [{"a": {1: (1.0,) * 3}, "b": {2: (1.0,) * 3}}], {},
     "Paths that were not measured at the same sizes"),
    (staleness.plot_walks, [WALKS], {},
     "The swings shrink with a = 0.08, a = 0.2; hardly change with a = 0.209; grow with a = 0.22"),
    (staleness.plot_walks, [{"rest": [1, 0, 0, 0]}], {}, "The swings shrink with rest"),
    (staleness.plot_walks, [{"on": [1, -1] * 4}], {}, "The swings hardly change with on"),
    (staleness.plot_stable_steps, [stable_rate, ([0.0, 7.0], [2.0, 0.2])], {},
     "With gradients 8 updates old the largest stable step is 11 times smaller"),
    (staleness.plot_stable_steps,
     [stable_rate, ([0.0, 7.0], [2.0, 0.2]), ([0.0, 3.0], [1.0, 2 * stable_rate(3)])], {},
     "Largest stable steps: measured is 0.50 to 2.00 of predicted"),
    (staleness.plot_paces, [{"all": 0.05 * np.arange(1, 21), "nobody": 0.01 * np.arange(1, 21)}],
     {}, "What a late step takes: all 50 ms, nobody 10 ms"),
    (honesty.plot_checks,
     [[1e-6, 1e-3, 1e-1], {"central": [1e-4, 1e-9, 1e-2], "ahead": [1, 1e-3, 1]}], {},
     "Least errors: central 1e-09 at h = 1e-03, ahead 1e-03 at h = 1e-03"),
    (honesty.plot_apart, [{"right": [0, 1e-16], "wrong": [1e-16, 0.1]}], {"good": 1e-6},
     "The same as the reference: right; not: wrong"),
    (honesty.plot_apart, [{"wrong": [0.1]}], {"good": 1e-6},
     "The same as the reference: nobody; not: wrong"),
    (convolutions.plot_errors, [[1, 2, 4], [1.0, 2.0, 10.0]], {},
     "m = 4: 4 times fewer multiplications, 10 times the error"),
    (work_depth.plot_bounds, [2.0, 0.01, {1: 2.0, 4: 0.5}], {"unit": "s"},
     "4 processors are 4 times as fast as one"),
]  # fmt: skip
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
    (messages.plot_messages, [[1, 2], [1.0]], {}, "give one time for each size"),
    (messages.plot_messages, [[], []], {}, "give one time for each size"),
    (messages.plot_messages, [[1], [1.0]], {"latency": 1.0}, "both latency and per_byte"),
    (memory.plot_front, [[], [], {}], {}, "at least one point"),
    (memory.plot_divisions, [{}], {"title": ""}, "no division"),
    (many_nodes.plot_nodes, [[0, 1], [1.0]], {}, "sent has 1 numbers, but there are 2 nodes"),
    (work_depth.plot_operation_graph, [[[1], [0]]], {}, "waits for itself"),
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
    (waits.plot_waits, [[], []], {}, "nobody waits"),
    (recurrences.plot_wavefronts, [[[(2, 0)]], 2, 2], {},
     r"turn 0 holds the cell \(2, 0\); layers are 0 to 1"),
    (convolutions.plot_errors, [[1, 2], [1.0]], {}, "2 tiles and 1 errors"),
    (work_depth.plot_bounds, [1, 2, {1: 1}], {}, "depth="),
    (work_depth.plot_bounds, [1, 0, {1: 1}], {}, "depth="),
    (work_depth.plot_bounds, [5, 1, {}], {}, "nothing to draw"),
    (work_depth.plot_layers, [["a"], [0], [1]], {"kinds": ["a"]}, "leave them out"),
    (work_depth.plot_layers, [["a"], [1, 2], [1]], {"kinds": ["a"]}, "give one of each"),
]  # fmt: skip


def names(cases):
    return [draw.__name__ for draw, *_ in cases]


@pytest.mark.parametrize(("draw", "data", "options", "title"), TITLES, ids=names(TITLES))
def test_the_title_says_what_the_data_say(draw, data, options, title):
    figure = draw(*data, **options)
    assert title == (figure.get_suptitle() or figure.axes[0].get_title(loc="left"))
    assert title in figure.alt


@pytest.mark.parametrize(("draw", "data", "options", "words"), REFUSED, ids=names(REFUSED))
def test_what_cannot_be_drawn_is_refused(draw, data, options, words):
    with pytest.raises(ValueError, match=words):
        draw(*data, **options)
