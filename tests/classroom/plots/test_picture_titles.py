"""What each picture says of its data, in its title and to those who cannot see it.

One line a case: a new picture needs its own, and a second one of which another title is true."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

from benchmarks import pictures as benchmarks
from ddl_class import plots
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
from ddl_runtime import pictures
from ddl_runtime.records.timeline import Timeline
from ddl_teach.theory.staleness import delayed_descent, stable_rate
from tests.classroom.plots import figures
from tests.classroom.plots.figures import HALF, WHERE

SIZES = 2.0 ** np.arange(6, 20, 2)
RING, DOUBLING = (SIZES, 1e-5 + SIZES * 1e-9), (SIZES, 2e-6 + SIZES * 4e-9)
BOTH = {"ring": RING, "recursive_doubling": DOUBLING}
TWICE = {name: (sizes, 2 * times) for name, (sizes, times) in BOTH.items()}
BUCKETS = [2**10, 2**20, 2**30], [4.0, 1.0, 2.0]
CLOCKED = (BUCKETS[0], [2.0, 2.0, 1.0], [1.9, 1.9, 0.9], [2.1, 2.2, 1.1])
BY_CHUNK = (1, 2, 4), (3.0, 1.0, 2.0)
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
TWO_SPOILT = np.array([[np.nan, 1.0], [1.0, np.inf]])
PASSES = [("0F0", "F", 0.0, 1.0, -1, -1, 0), ("0B0", "B", 1.0, 3.0, -1, -1, 0)]
FIRST = ("1F0", "F", 1.0, 2.0, -1, -1, 0)
DIRECT = {64.0: (1e-6, 0.9e-6, 1.1e-6), 1024.0: (2e-6, 1.9e-6, 2.2e-6)}
STAGED = {64.0: (1.1e-6, 1.0e-6, 1.2e-6), 1024.0: (4e-6, 3.5e-6, 5e-6)}
SOON = staleness.Curve([1, 2, 3], [0.1, 0.2, 0.3], [10, 20, 30], [3.0, 2.0, 1.0])
CHEAP = staleness.Curve([1, 2, 3], [0.2, 0.4, 0.6], [5, 10, 15], [3.0, 1.5, 1.0])
START, NEXT, ASIDE = (course.MappedUnit(n, "A", 60, n < "02", ()) for n in ("00", "01", "02"))

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
     "Best by the formula: 1 MiB, 1 s; the smallest take 4.0 times that, the largest 2.0"),
    (networks.plot_bucket_sizes, [BUCKETS, None, CLOCKED], {"backward": 0.8},
     "Best measured: buckets of 1 GiB, predicted: 1 MiB; measured takes 0.5 times as long"),
    (searching.plot_choices, [{"measured": [["ring", "tree"]]}, ["2"], ["1 KiB", "1 MiB"]], WHERE,
     "measured: 2 ways win somewhere"),
    (recurrences.plot_chunks, [BY_CHUNK, BY_CHUNK, BY_CHUNK], {"alone": 2.0},
     "Best measured: messages of 2 steps; predicted: 2"),
    (recurrences.plot_chunks, [BY_CHUNK, BY_CHUNK, ((1, 2, 4), (1, 2, 3)),
      ((0.9, 1.9, 2.9), (1.1, 2.1, 3.1))], {},
     "Best measured: messages of 1 step; predicted: 2"),
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
     "From 2 to 32 workers, by the formula: server 16 times, ring 1.94 times as much comes in"),
    (large_batches.plot_speed_ups, [THROUGHPUT, LINE], {"wall": 6.0},
     "100 ranks: 98 times the throughput, by the formula there 5 times as soon"),
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
     "Of 100 terms, in order loses 50%, pairwise loses 0%"),
    (searching.plot_curves, [(1, 2, 4), CURVES], {},
     "3 trials, 12 steps: the best ends at 0.5"),
    (searching.plot_curves, [(1, 2, 4), CURVES, [[0, 1, 2], [0, 1], [0]]], {},
     "58% of the steps find the best of all"),
    (searching.plot_curves, [(1, 2, 4), CURVES, [[0, 1, 2], [1], [1]]], {},
     "50% of the steps find number 2 of all"),
    (searching.plot_waiting,
     [{"halving, differ": ([1, 8], [1.0, 2.1])}, *[WAITS] * 2], {},
     "8 workers, simulated: halving takes 2, asynchronous takes 1.2 times as long as without "
     "waiting"),
    (searching.plot_luck, [[0.1, 0.2, 0.3], [0.4, 0.4, 0.4]], {},
     "The best of 3 equal runs, beside the middle one: 50% fewer errors where it was chosen, 0% "
     "fewer elsewhere"),
    (work_depth.plot_schedule, [[0.0, 0.001], [0.001, 0.003], [0, 0], 1], {"unit": "s"},
     "2 operations on one processor: 4 ms, and 0% idle"),
    (staging.plot_paths, [{"a": {1: (1.0,) * 3}, "b": {2: (1.0,) * 3}}], {},
     "Paths that were not measured at the same sizes"),
    (staleness.plot_walks, [WALKS], {},
     "The swings shrink with a = 0.08, a = 0.2; hardly change with a = 0.209; grow with a = 0.22"),
    (staleness.plot_walks, [{"rest": [1, 0, 0, 0]}], {}, "The swings shrink with rest"),
    (staleness.plot_walks, [{"on": [1, -1] * 4}], {}, "The swings hardly change with on"),
    (staleness.plot_stable_steps, [stable_rate, ([0.0, 7.0], [2.0, 0.2])], {},
     "By the formula the largest stable step is 11 times smaller with gradients 8 updates old"),
    (staleness.plot_stable_steps,
     [stable_rate, ([0.0, 7.0], [2.0, 0.2]), ([0.0, 3.0], [1.0, 2 * stable_rate(3)])], {},
     "Largest stable steps: measured is 0.50 to 2.00 of predicted"),
    (staleness.plot_paces, [{"all": 0.05 * np.arange(1, 21), "nobody": 0.01 * np.arange(1, 21)}],
     {}, "What a late step takes: all 50 ms, nobody 10 ms"),
    (honesty.plot_checks,
     [[1e-6, 1e-3, 1e-1], {"central": [1e-4, 1e-9, 1e-2], "ahead": [1, 1e-3, 1]}], {},
     "Least errors: central 1e-09 at h = 1e-03, ahead 1e-03 at h = 1e-03"),
    (honesty.plot_floors, [{"single": 1e-7, "half": 1e-2}, {"small": 1e-3, "large": 0.5}], {},
     "single hides 0 of 2 bugs; half hides 1 of 2 bugs"),
    (honesty.plot_apart, [{"right": [0, 1e-16], "wrong": [1e-16, 0.1]}], {"good": 1e-6},
     "The same as the reference: right; not: wrong"),
    (honesty.plot_apart, [{"wrong": [0.1]}], {"good": 1e-6},
     "The same as the reference: nobody; not: wrong"),
    (convolutions.plot_errors, [[1, 2, 4], [1.0, 2.0, 10.0]], {},
     "m = 4: 4 times fewer multiplications, 10 times the error"),
    (work_depth.plot_bounds, [2.0, 0.01, {1: 2.0, 4: 0.5}], {"unit": "s"},
     "4 processors are 4 times as fast as one"),
    (messages.plot_times, [{"ring": RING, "tree": RING}], {},
     "Ring and tree are fastest at 64 B and at 256 KiB"),
    (messages.plot_times, [], {"measured": {"ring": ([64, 1024], [1e-6, 2e-6], ([0.8e-6, 1.9e-6],
     [1.2e-6, 2.1e-6])), "tree": ([64, 1024], [1.1e-6, 4e-6], ([1e-6, 3e-6], [1.3e-6, 5e-6]))}},
     "Ring and tree are fastest at 64 B, ring at 1 KiB"),
    (messages.plot_messages, [[1, 1000], [1e-6, 2e-6]], {"latency": 1e-6, "per_byte": 1e-9},
     "A message costs 1 µs and 1 ns a byte: latency rules below 1000 B"),
    (networks.plot_bucket_sizes, [BUCKETS, None, (BUCKETS[0], [2.0, 1.9, 1.0], [1.9, 0.9, 0.9],
     [2.1, 2.2, 1.1])], {"backward": 0.8},
     "Best measured: buckets of 1 MiB to 1 GiB, predicted: 1 MiB; measured takes 0.5 times as "
     "long"),
    (networks.plot_either_way, [["a", "b", "c"], [1, 5, 3], [2, 5, 1]], {},
     "Layers that send less by data: 1; by model: 1; as much either way: 1"),
    (networks.plot_either_way, [["a", "b"], [1, 1], [2, 2]], {},
     "Layers that send less by data: 2; by model: 0"),
    (networks.plot_idle, [(1, 8), [0.5, 0.1], [0.5, 0.1], [0.6, 0.3]], {},
     "From 1 to 8 micro-batches idle goes from 50% to 10% by the formula, 60% to 30% measured"),
    (networks.plot_idle, [(1, 8), [0.5, 0.1], [0.5, 0.1], [0.4, 0.5]], {},
     "From 1 to 8 micro-batches idle goes from 50% to 10% by the formula, 40% to 50% measured"),
    (networks.plot_wait_and_memory, [{"GPipe": (0.2, 8.0), "1F1B": (0.2, 4.0)}], {"kept": "kept"},
     "1F1B waits least and keeps least"),
    (networks.plot_wait_and_memory, [{"GPipe": (0.1, 8.0), "1F1B": (0.2, 4.0)}], {"kept": "kept"},
     "GPipe waits least, 1F1B keeps least, and nobody does both"),
    (searching.plot_choices, [{"measured": [["ring", "tree"]], "model": [["ring", "ring"]]}, ["2"],
     ["1 KiB", "1 MiB"]], WHERE,
     "As measured: model 50%"),
    (convolutions.plot_sweep, [convolutions.Swept("size", [3, 5], SWEPT, {"counted": 3.0,
     "predicted": 3.0, "measured": None})], {},
     "The FFT wins by size: counted and predicted from 3 on, measured never"),
    (convolutions.plot_spread, [{"direct": TWO_SPOILT, "FFT": np.full((2, 2), np.nan)}], {},
     "Spoilt outputs: 2 by direct, 4 by FFT"),
    (convolutions.plot_spread, [{"direct": np.zeros((2, 2))}], {},
     "Spoilt outputs: 0 by direct"),
    (convolutions.plot_im2col, [np.eye(3), np.ones((4, 4))], {},
     "9 pixels become 4 x 4 = 16 numbers: 1.78 times the memory"),
    (convolutions.plot_im2col, [np.eye(3), np.ones((1, 9))], {},
     "9 pixels become 1 x 9 = 9 numbers: 1 times the memory"),
    (convolutions.plot_errors, [[2], [0.5]], {},
     "m = 2: 2.2 times fewer multiplications, 0.5 times the error"),
    (convolutions.plot_method_map, [{"a": {"fft": np.array([[1.0, 2.0]]), "im2col": np.array([[2.0,
     np.inf]])}}, [1], [1, 2]], {"row_quantity": "", "column_quantity": ""},
     "a: FFT wins 100%"),
    (convolutions.plot_method_map, [{"a": {"fft": np.array([[3.0, 2.0]]), "im2col": np.array([[2.0,
     1.0]])}}, [1], [1, 2]], {"row_quantity": "", "column_quantity": ""},
     "a: im2col wins 100%"),
    (course.plot_course_map, [{"One": [START, ASIDE]}], {},
     "2 units; the yellow path (★) leads through 1 of them"),
    (course.plot_course_map, [{"One": [START], "Two": [NEXT], "Three": []}], {},
     "2 units; the yellow path (★) leads through 2 of them"),
    (course.plot_progress, [[course.Column("a", [course.Tile("x", 3, "solved"), course.Tile("y", 2,
     "tried")])]], {},
     "1 of 2 exercises solved, 3 of 5 points"),
    (course.plot_progress, [[]], {},
     "0 of 0 exercises solved, 0 of 0 points"),
    (forms.plot_kept, [np.array([0.0] * 99 + [2.0])], {},
     "The largest 1% of the entries hold 100% of the gradient"),
    (forms.plot_kept, [np.ones(100)], {"share": 0.1},
     "The largest 10% of the entries hold 10% of the gradient"),
    (forms.plot_descents, [{"32 bits": [2.0, 1.0], "1 bit": [2.0, 4.0]}], {},
     "In the end: 32 bits 1, 1 bit 4"),
    (forms.plot_descents, [{"32 bits": [2.0, 1.0]}], {},
     "In the end: 32 bits 1"),
    (forms.plot_bandwidths, [{"1 bit": LINE}], {"even": 2e6},
     "By the formula fewer bytes pay below 2 MB/s; above, packing takes longer"),
    (forms.plot_fill_in, [{"random": ([4, 8], [0.1, 0.2])}, {}], {},
     "Expected: random: 10% on 4, 20% on 8"),
    (forms.plot_fill_in, [{"random": ([4, 8], [0.3, 0.3])}, {}], {},
     "Expected: random: 30% on 4, 30% on 8"),
    (gossip.plot_ingress, [{"ring": (WORKERS, [3e3, 2e3, 1e3])}], {},
     "From 2 to 32 workers, by the formula: ring 0.333 times as much comes in"),
    (gossip.plot_graphs, [{"ring": [[[1], [2], [0]]], "star": [[[1, 2], [0], [0]]]}], {},
     "Messages a rank sends in a step: 1 (ring), 2 (star)"),
    (gossip.plot_graphs, [{"alone": [[[], []]]}], {},
     "Messages a rank sends in a step: 0 (alone)"),
    (gossip.plot_disagreement, [{"ring": ([0.5, 0.9], [1.0, 4.0]), "full": ([0.1, 0.2], [1.0,
     2.0])}, {}], {},
     "With noise of size 1 in each step ranks end up to 4 apart on ring, 2 apart on full"),
    (gossip.plot_disagreement, [{"ring": ([0.5, 0.9], [4.0, 1.0])}, {}], {},
     "With noise of size 1 in each step ranks end up to 4 apart on ring"),
    (honesty.plot_floors, [{"half": 1e-2}, {"small": 1e-3}], {}, "half hides 1 of 1 bugs"),
    (honesty.plot_checks, [[1e-6, 1e-1], {"central": [1e-4, 1e-2]}], {},
     "Least errors: central 1e-04 at h = 1e-06"),
    (large_batches.plot_steps, [([32, 256], [100, 20]), ([32, 256], [100, 20])], {"fewest": 10},
     "8 times the batch: 5 times fewer steps"),
    (large_batches.plot_steps, [([32, 256], [100, 150]), ([32, 256], [100, 20])], {"fewest": 10},
     "8 times the batch: 1.5 times as many steps"),
    (large_batches.plot_losses, [{"SGD": [2.0, 1.0]}], {"target": 1.0},
     "Loss at the end: SGD 1"),
    (large_batches.plot_losses, [{"SGD": [1.0, np.nan], "Adam": [1.0, 3.0]}], {"target": 1.0},
     "Loss at the end: SGD nan; Adam 3"),
    (large_batches.plot_descents, [{"one": np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])}, (1.0,
     2.0)], {},
     "Distance from the bottom after 2 steps: one 0.00"),
    (many_nodes.plot_nodes, [[0, 0, 1]], {},
     "Of 3 pairs of ranks 1 share a node; 2 are joined by cables"),
    (many_nodes.plot_nodes, [[0, 0, 1], [8, 8]], {},
     "Each of 2 cables carried 8 B; all together 16 B"),
    (many_nodes.plot_nodes, [[0, 1, 2], [8, 16, 16]], {},
     "2 cables carried most, 16 B; all together 40 B"),
    (many_nodes.plot_share_of_work, [{"by parts": ([1, 8], [1.0, 0.82])}, {}], {},
     "Work's share of a step on 8 nodes, by the formula: by parts 82%"),
    (many_nodes.plot_share_of_work, [{"ring": ([1, 1024], [1.0, 0.5]), "leaders": ([1, 1024], [1.0,
     0.6])}, {}], {},
     "Work's share of a step on 1,024 nodes, by the formula: ring 50%, leaders 60%"),
    (memory.plot_front, [[2**20, 2**21], [2.0, 1.0], {}], {},
     "2 divisions can be best: 2 s in 1 MiB to 1 s in 2 MiB"),
    (memory.plot_front, [[2**20, 2**21, 2**22], [1.0, 2.0, 1.0], {}], {},
     "2 of 3 divisions are beaten by one that needs no more"),
    (networks.plot_pipeline, [Timeline([PASSES, [FIRST]])], {"title": "One"},
     "One: 2 ranks, 3 s, 33% idle"),
    (networks.plot_pipeline, [Timeline([PASSES])], {"title": "One"},
     "One: 1 rank, 3 s, 0% idle"),
    (recurrences.plot_wavefronts, [[[(0, 0)], [(0, 1), (1, 0)], [(1, 1)]], 2, 2], {},
     "4 cells in 3 turns, at most 2 of them at once"),
    (recurrences.plot_wavefronts, [[[(0, 0), (0, 1)], [(1, 0), (1, 1)]], 2, 2], {},
     "2 of 4 cells come before one that they need"),
    (recurrences.plot_wavefronts, [[[(0, 0)]], 2, 2], {},
     "3 of 4 cells are never computed"),
    (recurrences.plot_chunks, [BY_CHUNK, BY_CHUNK, ((1, 2, 4), (3.0, 1.1, 1.0)), ([2.9, 0.9, 0.8],
     [3.1, 1.2, 1.2])], {},
     "Best measured: messages of 2 and 4 steps; predicted: 2"),
    (recurrences.plot_sum_errors, [{"pairwise": ([10, 100], [1e-4, 0.5])}, {}],
     {"unit_roundoff": 2**-11},
     "Of 100 terms, pairwise loses 50%"),
    (recurrences.plot_magnitudes, [{"plain": [1.0, 2.0]}], HALF,
     "In float16: plain, 0% become zero"),
    (recurrences.plot_loss_scale, [{"plain": ([2, np.nan], [1, 1])}], {},
     "Loss at the end: plain: nothing is learned"),
    (searching.plot_waiting, [{}, {"halving": ([1, 8], [1.0, 1.0])}, {}], {},
     "8 workers, simulated: halving takes 1 times as long as without waiting"),
    (searching.plot_luck, [[0.1, 0.2, 0.3], [0.6, 0.4, 0.4]], {},
     "The best of 3 equal runs, beside the middle one: 50% fewer errors where it was chosen, 50% "
     "more elsewhere"),
    (searching.plot_population, [[[1.0, 2.0]] * 2, [[0, 1], [0, 0]], [[0.1, 0.2]] * 2], {},
     "All 2 members descend from 1 of the first; the best's rate stayed at 0.1"),
    (searching.plot_population, [[[1.0, 2.0]] * 2, [[0, 1], [0, 1]], [[0.1, 0.2], [0.3, 0.2]]], {},
     "All 2 members descend from 2 of the first; the best's rate went from 0.1 to 0.3"),
    (searching.plot_consolidated, [{"best": [0.9, 0.8], "average": [0.95]}], {},
     "Recognised, medians of the seeds: average 95.0%, best 85.0%"),
    (searching.plot_consolidated, [{"average": [0.95, 0.97, 0.99]}], {},
     "Recognised, medians of the seeds: average 97.0%"),
    (searching.plot_cell, [{"0-1": "conv3", "1-2": "none", "0-2": "skip"}, ["0-2"]], {},
     "Edges that count: 1 of 3; 1 more hold an operation and lead nowhere"),
    (searching.plot_cell, [{"0-1": "conv3"}, ["0-1"]], {},
     "Edges that count: 1 of 1"),
    (searching.plot_architectures, [{"random": ([1, 2, 4], [0.3, 0.2, 0.4])}, ([1, 2], [0.3, 0.2]),
     "work"], {},
     "2 of 3 networks are on the front: 30.0% to 20.0% of errors for 2 times the price"),
    (searching.plot_architectures, [{"random": ([1], [0.3])}, ([1], [0.3]), "work"], {},
     "1 of 1 networks are on the front: 30.0% to 30.0% of errors for 1 times the price"),
    (searching.plot_agreement, [{"cheap": ([0.1, 0.2], [0.1, 0.2])}, {"cheap": (0.5, 0.2, 0.7)}],
     {},
     "cheap: 75% of pairs alike"),
    (searching.plot_agreement, [{"cheap": ([0.1, 0.2], [0.1, 0.2])}, {"cheap": (-0.5, -0.7,
     -0.2)}], {},
     "cheap: 25% of pairs alike"),
    (searching.plot_regrets, [{"tree": [0.0, 0.1], "ring": [0.5]}, {"tree": (0.05, 0.0, 0.1),
     "ring": (0.5, 0.4, 0.6)}], {},
     "Least mean regret: tree, 5.0%"),
    (searching.plot_regrets, [{"tree": [0.0, 0.1], "ring": [0.1]}, {"tree": (0.05, 0.0, 0.2),
     "ring": (0.1, 0.1, 0.3)}], {},
     "Least mean regret: tree, 5.0%; its interval meets that of ring"),
    (staging.plot_chunk_sizes, [([64, 1024], [2e-6, 1e-6])], {"nbytes": 4096},
     "4 KiB in chunks of 1 KiB take least by the formula"),
    (staging.plot_chunk_sizes, [([64, 1024], [2e-6, 1e-6])], {"nbytes": 4096, "measured": DIRECT},
     "4 KiB in chunks of 1 KiB take least by the formula, of 64 B measured"),
    (staging.plot_chunk_sizes, [([64, 1024], [2e-6, 1e-6])], {"nbytes": 4096,
     "measured": {64.0: (1.0, 0.5, 1.5), 1024.0: (1.1, 1.0, 2.0)}},
     "4 KiB in chunks of 1 KiB take least by the formula, of 64 B to 1 KiB measured"),
    (staging.plot_paths, [{"direct": DIRECT, "staged": STAGED}], {},
     "64 B: direct and staged are fastest, 1 µs; 1 KiB: direct is fastest, 2 µs"),
    (staging.plot_paths, [{"direct": DIRECT}], {"bandwidth": True},
     "64 B: 64 MB/s; 1 KiB: 512 MB/s"),
    (staging.plot_recorded, [{"direct": STAGED, "staged": DIRECT}, {}], {"label": "here"},
     "Yours, 64 B: direct and staged are fastest, 1 µs; 1 KiB: staged is fastest, 2 µs"),
    (staging.plot_recorded, [{"direct": STAGED}, {"a GPU": {"direct": DIRECT}}], {"label": "here"},
     "Yours, 64 B: 1.1 µs; 1 KiB: 4 µs"),
    (staleness.plot_ages, [{"fast": [0, 1, 1], "slow": [5, 6]}], {},
     "The oldest gradients are so many updates old: fast 1, slow 6"),
    (staleness.plot_ages, [{"alone": [0, 0]}], {},
     "The oldest gradients are so many updates old: alone 0"),
    (staleness.plot_paces, [{"late": [0.1, 0.2, 0.3, 1.3]}], {},
     "What a late step takes: late 1 s"),
    (staleness.plot_losses, [{"every": SOON, "late": CHEAP}], {},
     "First at a loss of 1: every and late by epochs, every by seconds, late by bytes"),
    (staleness.plot_losses, [{"every": SOON, "again": SOON}], {},
     "First at a loss of 1: every and again by epochs, every and again by seconds, every and "
     "again by bytes"),
    (work_depth.plot_bounds, [2.0, 2.0, {1: 2.0, 4: 2.0}], {"unit": "s"},
     "4 processors are 1 times as fast as one, with work for 1"),
    (work_depth.plot_layers, [["a", "b"], [10, 2000], [4, 5]], {"kinds": ["x", "y"]},
     "Work differs 200-fold from layer to layer, depth 1.2-fold"),
    (work_depth.plot_layers, [["a"], [10], [4]], {"kinds": ["x"]},
     "Work differs 1-fold from layer to layer, depth 1-fold"),
    (work_depth.plot_operation_graph, [[[], [], [0, 1]]], {},
     "3 operations, and the longest chain has 2"),
    (work_depth.plot_operation_graph, [[[], [0], [1]]], {},
     "3 operations, and the longest chain has 3"),
    (work_depth.plot_schedule, [[0.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0, 0, 1], 2], {},
     "3 operations on 2 processors: 2 steps, and 0% idle"),
    (benchmarks.plot_peers, [{("ring", "gloo"): [0.5, 2.0, 0.4], ("tree", "gloo"): [2.0, 3.0]}],
     {}, "Faster than the peer in 1 of 2 rows by the median, in 40% of 5 cases"),
    (benchmarks.plot_peers, [{("ring", "gloo"): [1.0]}], {},
     "Faster than the peer in 0 of 1 rows by the median, in 0% of 1 cases"),
]  # fmt: skip
ELSEWHERE = {  # whose titles have counter-examples in a file of their own
    "plot_copies": "test_copies", "plot_memory": "test_memory",
    "plot_prediction": "test_prediction", "plot_predictions": "test_predictions",
    "plot_roofline": "test_roofline_picture", "plot_run": "test_activity",
    "plot_search": "test_search_picture", "plot_steps": "test_steps",
    "plot_timeline": "test_activity", "plot_waits": "test_waits", "plot_winners": "test_winners",
}  # fmt: skip
OWN = inspect.Parameter("title", inspect.Parameter.KEYWORD_ONLY, default=None)
GIVEN = {"plot_fooling", "plot_panel", "plot_trick"}  # a way to fool brings its titles along


def names(cases):
    return [draw.__name__ for draw, *_ in cases]


@pytest.mark.parametrize(("draw", "data", "options", "title"), TITLES, ids=names(TITLES))
def test_the_title_says_what_the_data_say(draw, data, options, title):
    figure = draw(*data, **options)
    assert title == figures.title(figure)
    assert title in figure.alt


def test_every_title_has_a_counter_example():
    """Whoever computes a title is shown data of which another one is true."""
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
