"""Grids on paper: places, layers, the time of a step beside its simulation, and the search."""

from dataclasses import replace
from itertools import combinations, pairwise
from math import inf

import pytest

from ddl_measure.experiments.grids import simulated_seconds
from ddl_teach.networks.models.gpt import gpt
from ddl_teach.theory.collectives import ring
from ddl_teach.theory.grids.grid import Grid, divisors, every
from ddl_teach.theory.grids.layers import Layer, perceptron, stage_bounds, transformer
from ddl_teach.theory.grids.memory import held
from ddl_teach.theory.grids.search import in_order, refused, search, why
from ddl_teach.theory.grids.seconds import seconds
from ddl_teach.theory.grids.sent import sent
from ddl_teach.theory.machine import Cluster, Link

CLUSTER = Cluster()
NODES = Cluster(nodes=4, cards=8)
SMALL = transformer(blocks=8, width=256, heads=8, length=64, vocabulary=512)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8, 30])
def test_every_grid_is_there_once_and_every_rank_has_a_place_of_its_own(ranks):
    grids = list(every(ranks))
    assert len(set(grids)) == len(grids)
    assert all(grid.ranks == ranks for grid in grids)
    for grid in grids:
        places = [grid.place(rank) for rank in range(ranks)]
        assert [grid.rank(place) for place in places] == list(range(ranks))
    powers = {2**k: (k + 1) * (k + 2) * (k + 3) // 6 for k in range(11)}
    assert len(grids) == powers.get(ranks, len(grids))


def test_neighbours_along_an_axis():
    grid = Grid(data=2, pipeline=3, tensor=4, context=5)
    strides = {"tensor": 1, "context": 4, "data": 20, "pipeline": 40}
    for axis, stride in strides.items():
        assert grid.axis_between(0, stride) == axis
    assert grid.axis_between(0, 5) is None
    with pytest.raises(ValueError, match="0 to 119"):
        grid.place(120)
    with pytest.raises(ValueError, match="tensor must be at least 1"):
        Grid(tensor=0)


def test_a_published_network_has_its_published_size():
    """Brown et al., 2020: 175 billion; Narayanan et al., 2021, table 1, count 174.6."""
    gpt3 = transformer(blocks=96, width=12288, heads=96, length=2048, vocabulary=51200)
    assert gpt3.weights == pytest.approx(175e9, rel=0.01)
    # Their equation for a step without recomputation, 72 B s l h^2 (1 + s/6h + V/12lh), has the
    # scores' forward and backward work as here.
    h, s, blocks, words = 12288, 2048, 96, 51200
    work = 72 * s * blocks * h**2 * (1 + s / (6 * h) + words / (12 * blocks * h))
    assert 3 * gpt3.work == pytest.approx(work, rel=1e-9)


@pytest.mark.parametrize(("blocks", "width"), [(1, 32), (3, 48)])
def test_a_transformer_has_as_many_weights_as_the_network(blocks, width):
    network = gpt(100, width, 4, blocks, 16)
    layers = transformer(blocks=blocks, width=width, heads=4, length=16, vocabulary=100)
    assert layers.weights == sum(weights.numel() for weights in network.parameters())


@pytest.mark.parametrize("works", [(0, 24, 24, 24, 24, 0, 5), (3, 1, 4, 1, 5, 9, 2, 6), (1,)])
def test_no_other_cut_has_a_faster_slowest_stage(works):
    def cuts(first, stages):
        if stages == 1:
            yield [len(works)]
            return
        for end in range(first + 1, len(works) - stages + 2):
            yield from ([end, *rest] for rest in cuts(end, stages - 1))

    def slowest(bounds):
        return max(sum(works[a:b]) for a, b in pairwise(bounds))

    for stages in range(1, len(works) + 1):
        bounds = stage_bounds(works, stages)
        assert len(bounds) == stages + 1
        assert slowest(bounds) == min(slowest([0, *ends]) for ends in cuts(0, stages))
    with pytest.raises(ValueError, match="at most"):
        stage_bounds(works, len(works) + 1)


@pytest.mark.parametrize(
    "grid", [Grid(8), Grid(tensor=8), Grid(context=8), Grid(1, 1, 2, 4)], ids=str
)
def test_without_a_pipeline_the_formula_is_the_simulated_time(grid):
    split = {"batch": 16, "micro_batches": 2}
    formula = seconds(SMALL, grid, CLUSTER, **split).total
    assert simulated_seconds(SMALL, grid, CLUSTER, **split) == pytest.approx(formula, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("grid", [Grid(1, 4), Grid(2, 4, 2, 2), Grid(4, 1, 2, 4)], ids=str)
@pytest.mark.sampled(3)
def test_with_pipelines_and_rings_of_unequal_links_they_are_close(grid):
    split = {"batch": 32, "micro_batches": 8}
    formula = seconds(SMALL, grid, NODES, **split).total
    assert simulated_seconds(SMALL, grid, NODES, **split) == pytest.approx(formula, rel=0.05)


@pytest.mark.slow
@pytest.mark.long
def test_on_1024_ranks_all_four_axes_are_within_five_percent():
    """On 128 nodes of eight: every hop of every ring, and the pipeline's worker."""
    network = transformer(blocks=2, width=4096, heads=32, length=4096, vocabulary=8192)
    grid, split = Grid(data=16, pipeline=2, tensor=8, context=4), {"batch": 64, "micro_batches": 1}
    cluster = replace(NODES, nodes=128)
    formula = seconds(network, grid, cluster, **split).total
    assert grid.ranks == cluster.ranks
    assert simulated_seconds(network, grid, cluster, **split) == pytest.approx(formula, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nodes", "cards", "micro_batches"),
    [
        (2, 1, 4),
        (2, 8, 4),
        (4, 1, 4),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in [(2, 1, 16), (2, 2, 8), (4, 4, 16)]
        ),
    ],
)
@pytest.mark.sampled(3)
def test_on_shared_cables_it_orders_the_grids_and_chooses_one_of_the_best(
    nodes, cards, micro_batches
):
    """30 grids of 16 ranks, whose messages really share the cables of their nodes.

    The simulation shares one assumption with the formulas: a message alone goes over all cards.
    Left out of the order are pipelines whose stages have rings between nodes: they meet there.
    """
    network = transformer(blocks=4, width=1024, heads=8, length=256, vocabulary=4096)
    cluster, both = Cluster(nodes=nodes, ranks_per_node=16 // nodes, cards=cards), []
    meeting = set()
    for choice in in_order(network, cluster, batch=128, micro_batches=micro_batches):
        if not choice.refused:
            split = {"batch": 128, "micro_batches": choice.micro_batches}
            true = simulated_seconds(network, choice.grid, cluster, **split)
            both.append((seconds(network, choice.grid, cluster, **split).total, true))
            rings = choice.grid.tensor * choice.grid.context
            if choice.grid.pipeline > 1 and rings > cluster.ranks_per_node:
                meeting.add(both[-1])
    assert (len(both), len(meeting)) == (30, 0 if nodes == 2 else 4)
    chosen = min(both)[1]
    assert chosen <= 1.05 * min(true for _, true in both)
    wrong = [
        (one, other) for one, other in combinations([row for row in both if row not in meeting], 2)
        if (one[0] < other[0]) != (one[1] < other[1]) and not 0.97 < one[1] / other[1] < 1.03
    ]  # fmt: skip
    assert wrong == []


def test_all_rings_that_leave_a_node_share_its_cards():
    """As many bytes leave it with data 64, data 16 x tensor 4 and data 8 x tensor 8."""
    grids = [Grid(64), Grid(16, tensor=4), Grid(8, tensor=8)]
    one_card = Cluster(inside=Link(0.0, 1 / 200e9), between=Link(0.0, 1 / 25e9))
    eight = replace(one_card, cards=8)
    took = [
        [ring(grid.data, 1e9 / grid.tensor, grid.link(cluster, "data")) for grid in grids]
        for cluster in (one_card, eight)
    ]
    bytes_of = [2 * (grid.data - 1) / grid.data * 1e9 for grid in grids]
    assert took[0] == pytest.approx([sent / 25e9 for sent in bytes_of])
    assert took[1] == pytest.approx([sent / 200e9 for sent in bytes_of])
    full = replace(one_card, oversubscription=2.0)
    assert Grid(64).link(full, "data") == Grid(64).link(one_card, "data").shared(2)


def test_averaging_hides_as_far_as_it_fits():
    split = {"batch": 64, "micro_batches": 1}
    open_, half, hidden = (
        seconds(SMALL, Grid(8), NODES, **split, overlap=share) for share in (0.0, 0.5, 1.0)
    )
    last = 2 / 3 * open_.compute
    assert half.data == pytest.approx(max(0.0, open_.data - last / 2))
    assert hidden.data == pytest.approx(max(0.0, open_.data - last))
    assert open_.data > half.data


def test_the_axes_share_what_they_split():
    split = {"batch": 32, "micro_batches": 2, "itemsize": 4}
    one = held(SMALL, Grid(), 0, **split)
    assert one.weights == 4 * SMALL.weights
    for grid in every(8):
        if refused(SMALL, grid, 32):
            continue
        ranks = [held(SMALL, grid, rank, **split) for rank in range(8)]
        whole = sum(rank.weights for rank in ranks) / grid.replicas
        copies = 4 * grid.tensor * sum(layer.whole for layer in SMALL.layers)
        cut = one.weights - copies // grid.tensor
        assert whole == pytest.approx(cut + copies)
        assert sent(SMALL, grid, 0, **split).total > 0


def test_each_stage_holds_one_micro_batch_less_than_the_one_before():
    network = perceptron((8,) * 9)  # four pairs, each of them a stage
    split = {"batch": 6, "micro_batches": 6, "itemsize": 4}
    activations = [held(network, Grid(pipeline=4), rank, **split).activations for rank in range(4)]
    each = network.layers[0].kept + network.layers[0].kept_split
    assert activations == [4 * in_flight * each for in_flight in (4, 3, 2, 1)]


def test_recomputing_keeps_what_enters_layers_and_one_layer_whole():
    split, positions = {"batch": 2, "micro_batches": 2, "itemsize": 4}, SMALL.length
    kept, whole = (held(SMALL, Grid(), 0, **split, recompute=again) for again in (True, False))
    each = [layer.kept + layer.kept_split for layer in SMALL.layers]
    entering = sum(layer.output for layer in SMALL.layers)
    assert kept.activations == 4 * positions * (entering + max(each))
    assert whole.activations == 4 * positions * sum(each)


def test_pruned_weights_need_less_of_all_but_themselves():
    split = {"batch": 32, "micro_batches": 2}
    full, thin = (held(SMALL, Grid(4), 0, **split, kept=kept) for kept in (1.0, 0.1))
    assert (thin.weights, thin.activations) == (full.weights, full.activations)
    assert thin.states == pytest.approx(full.states / 10, rel=1e-3)
    slow, fast = (seconds(SMALL, Grid(4), CLUSTER, **split, kept=kept) for kept in (1.0, 0.1))
    assert fast.data < slow.data
    assert fast.compute == slow.compute


def test_the_search_orders_all_grids_and_says_why():
    network = transformer(blocks=24, width=2048, heads=16, length=2048, vocabulary=51200)
    found = search(network, Cluster(nodes=8), batch=64)
    assert {choice.grid for choice in found} == set(every(64))
    possible = [choice for choice in found if not choice.refused]
    times = [choice.seconds.total for choice in possible]
    assert times == sorted(times)
    for choice in possible:
        assert choice.held.total <= CLUSTER.memory
        again = seconds(
            network, choice.grid, CLUSTER, batch=64, micro_batches=choice.micro_batches
        )
        assert again == choice.seconds
    best = found[0].grid
    assert sum(size > 1 for size in vars(best).values()) >= 2, "a mixture"
    reasons = {choice.grid: choice.refused for choice in found}
    assert "16 heads are too few" in reasons[Grid(tensor=64)]
    assert "layers are too few" in reasons[Grid(pipeline=64)]
    assert why(found[0], found[0]).startswith(f"{best}:\n    1.00 times the best")
    assert "cannot be" in why(found[-1], found[0])
    # What does not fit on a rank is refused as well, with the number.
    tight = search(network, Cluster(1, 4, memory=1e9), batch=64)
    assert all("GB and has 1" in one.refused or "too few" in one.refused for one in tight)


def test_a_grid_may_fill_the_memory_to_the_last_byte():
    need = held(SMALL, Grid(), 0, batch=1, micro_batches=1).total
    full, short = (search(SMALL, Cluster(1, 1, memory=room), batch=1) for room in (need, need - 1))
    assert full[0].refused == ""
    assert full[0].held.total == need
    assert "a rank would hold" in short[0].refused


@pytest.mark.parametrize("ranks", [4, 16])
def test_the_search_takes_the_best_number_of_micro_batches(ranks):
    cluster = Cluster(nodes=ranks // 4, ranks_per_node=4)
    network = transformer(blocks=6, width=512, heads=8, length=64, vocabulary=512)
    for choice in search(network, cluster, batch=32):
        grid, numbers = choice.grid, divisors(32 // choice.grid.data)
        totals = {
            m: seconds(network, grid, cluster, batch=32, micro_batches=m).total for m in numbers
        } if not choice.refused else {0: inf}  # fmt: skip
        assert choice.seconds.total == min(totals.values())
        assert choice.micro_batches == min(totals, key=totals.__getitem__)


# What walking through every pass with every message gives: bubble, messages between stages, all.
OF_GPT_3 = [
    (Grid(16, 8, 8, 1), 32, 3.4407133769523313, 0.028255722880011547, 20.04811837502466),
    (Grid(8, 16, 8, 1), 64, 3.6864117036032127, 0.060547977600020175, 20.538373649131554),
    (Grid(4, 32, 4, 2), 128, 3.689557522928638, 0.06272124351995245, 20.77400894064891),
    (Grid(1, 64, 16, 1), 512, 2.0955108842054457, 2.2490345114665757, 27.208734829773782),
]


@pytest.mark.parametrize(("grid", "micro_batches", "bubble", "pipeline", "total"), OF_GPT_3)
def test_gpt_3_takes_on_1024_ranks_what_it_took(grid, micro_batches, bubble, pipeline, total):
    network = transformer(blocks=96, width=12288, heads=96, length=2048, vocabulary=51200)
    cluster, split = Cluster(128, cards=8), {"batch": 512, "micro_batches": micro_batches}
    time = seconds(network, grid, cluster, **split, recompute=True)
    assert (time.bubble, time.pipeline, time.total) == (bubble, pipeline, total)


def test_rows_have_no_context_and_pairs_are_cut_as_pairs():
    network = perceptron((12, 8, 8, 8, 10))
    assert [layer.name for layer in network.layers] == ["pair", "pair"]
    assert "context 2 does not divide 1 positions" in refused(network, Grid(context=2), 8)
    assert network.weights == sum((a + 1) * b for a, b in ((12, 8), (8, 8), (8, 8), (8, 10)))


def test_a_layer_has_no_weights_that_nobody_names():
    assert Layer("halve", work=1.0, output=4).whole == 0
