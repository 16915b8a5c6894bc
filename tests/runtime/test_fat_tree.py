"""Fat tree: which patterns it carries at full bandwidth, and what oversubscription costs."""

import pytest
from links import link_loads
from traffic import name, shift, slowdown

from ddl_runtime.topologies.fat_tree import FatTree


@pytest.mark.parametrize("ports", [2, 4, 6, 12])
def test_fat_tree_counts(ports):
    assert FatTree(ports, 2).hosts == ports**2 / 2
    assert FatTree(ports, 3).hosts == ports**3 / 4
    assert FatTree(ports, 3).switch_links == 2 * 2 * FatTree(ports, 3).hosts
    assert FatTree(64).hosts == 65_536


@pytest.mark.parametrize("tree", [FatTree(4), FatTree(6, 2), FatTree(6)], ids=name)
def test_a_full_fat_tree_carries_every_shift_at_full_bandwidth(tree):
    pod = tree.hosts if tree.levels == 2 else tree.pod_leaves * tree.down
    whole = tree.down if tree.levels == 2 else pod
    for ranks in range(whole, tree.hosts + 1, whole):
        for by in range(1, ranks):
            assert link_loads(tree, shift(ranks, by)).max() == 1


def test_a_full_fat_tree_does_not_carry_every_permutation():
    """Hosts 0 and 1 of a leaf send to hosts of two other leaves whose routes start alike."""
    tree = FatTree(4, 2)
    assert link_loads(tree, [(0, 2, 1.0), (1, 4, 1.0)]).max() == 2


@pytest.mark.parametrize(
    "tree",
    [
        FatTree(6, 2, oversubscription=2),
        FatTree(8, 2, oversubscription=3),
        FatTree(6, 3, oversubscription=2),
        FatTree(4, 3, oversubscription=3),
    ],
    ids=name,
)
def test_oversubscription_slows_shifts_out_of_the_leaf_by_its_factor(tree):
    for by in range(1, tree.hosts):
        out_of_leaf = min(by, tree.hosts - by, tree.down)
        factor = max(1, -(-out_of_leaf // tree.up))
        assert slowdown(tree, shift(tree.hosts, by, 1e6)) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 4), "2 or 3 levels"),
        ((5,), "cannot be split 1:1"),
        ((4, 3, 2), r"cannot be split 2:1.*multiple of 3, like 6"),
        ((0,), "ports must be at least 1, not 0"),
        ((4, 3, 0), "oversubscription must be at least 1, not 0"),
    ],
)
def test_impossible_fat_trees_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        FatTree(*arguments)


def test_latency_grows_with_the_links_between_switches():
    tree = FatTree(4, base_latency=1.0, hop_latency=0.25)
    assert [tree.latency(0, dest) for dest in (0, 1, 2, 4)] == [1.0, 1.0, 1.5, 2.0]
