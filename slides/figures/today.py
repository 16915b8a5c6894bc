"""Part 7: attention, eight bits and the network as it is, by formula and on numbers drawn here."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.figure import Figure

from ddl_class.plots.frame import plane
from ddl_class.plots.networks import plot_ways
from ddl_runtime.pictures.words import size_text
from ddl_teach.networks.context.layouts import LAYOUTS
from ddl_teach.theory import attention, context, hashed_flows, quantised
from ddl_teach.theory.collectives import formula
from ddl_teach.theory.machine import Link
from ddl_teach.training.optimizers.muon import orthogonal

RANKS, POSITIONS = 8, 64  # of a text under a causal mask
WIDTH = 128  # of a head
FAST, SLOW = Link(5e-6, 1 / 200e9), Link(10e-6, 1 / 25e9)  # inside a node, and between nodes
FLOWS = 16  # from each leaf, to as many links
RATE = 400e12  # operations a second of a rank
NUMBERS, BLOCK = 4096, 128  # with one outlier; that share a scale
SUMMED = 2**20  # bytes


def attention_memory() -> Figure:
    """What a head keeps for the way back, with and without the scores of all pairs."""
    lengths = 2 ** np.arange(10, 21, 2)
    curves = {
        name: (lengths, [2 * attention.stored(n, WIDTH, tiled) for n in lengths.tolist()])
        for name, tiled in (("all scores", False), ("tiles", True))
    }
    ax = plane("positions of a text", "bytes kept for one head")
    ax.draw_lines(curves, linewidth=3)
    ax.log_scale("x", "{:,.0f}".format, base=2, at=lengths)
    ax.log_scale("y", size_text, base=2, at=2.0 ** np.arange(20, 42, 5))
    more = curves["all scores"][1][-1] / curves["tiles"][1][-1]
    title = f"At a million positions all scores are {more:,.0f} times as much as tiles"
    return ax.finish(f"Bytes kept for a head of width {WIDTH}, in 16 bits", title, legend="best")


def traffic() -> Figure:
    """Numbers that move between slow and fast memory, and operations, as ratios."""
    sides = 2 ** np.arange(4, 10)
    length = 2**14
    whole = attention.definition_traffic(length, WIDTH)
    moved = [attention.tiled_traffic(length, WIDTH, (b, b)) / whole for b in sides.tolist()]
    ax = plane("queries in a tile", "numbers moved, of the definition's")
    ax.draw_curve("", (sides, moved), "#332288", linewidth=3)
    ax.axhline(1.0, linestyle=":", color="#666666")
    ax.log_scale("x", base=2, at=sides)
    ax.log_scale("y", "{:.0%}".format, base=2, at=2.0 ** np.arange(-5, 3))
    title = (
        f"Forward, tiles of {sides[3]} queries move {moved[3]:.0%} of what the definition moves"
    )
    return ax.finish(f"Traffic of {length:,} positions, one head of {WIDTH}", title)


def balance() -> Figure:
    """Pairs of the slowest rank in each step of a ring, of a text cut in three ways."""
    ax = plane("step of the ring", "pairs of the slowest rank")
    curves, ends = {}, {}
    for name, layout in LAYOUTS.items():
        held = [part.tolist() for part in layout(POSITIONS, RANKS)]
        steps = [
            max(context.pairs(held, rank, step) for rank in range(RANKS)) for step in range(RANKS)
        ]
        curves[name], ends[name] = (range(RANKS), steps), context.slowest(held)
    ax.draw_lines(curves, marker="o", linewidth=3)
    ax.set_ylim(bottom=0)
    less = min(ends, key=ends.__getitem__)
    title = f"contiguous takes {ends['contiguous'] / ends[less]:.2f} times as long as {less}"
    return ax.finish(f"Pairs under a causal mask on {RANKS} ranks", title, legend="best")


def ring_or_heads() -> Figure:
    """Attention of 32 heads on 8 ranks by a ring and by heads, over the length of the text."""
    lengths = 2 ** np.arange(11, 20)
    lines = {}
    for where, link in (("in a node", FAST), ("between nodes", SLOW)):
        texts = [context.LongText(n, 32, WIDTH, RATE) for n in lengths.tolist()]
        lines[f"ring, {where}"] = (lengths, [text.by_ring(RANKS, link) for text in texts])
        lines[f"heads, {where}"] = (lengths, [text.by_heads(RANKS, link) for text in texts])
    title = f"Attention of 32 heads on {RANKS} ranks, by formula"
    return plot_ways("positions", lines, title=title)


def eight_bits() -> Figure:
    """By how much a number changes when it is written in 16 and in 8 bits, over its size."""
    ax = plane("size of a number", "largest relative error")
    powers = 2.0 ** np.arange(-20, 17)
    sizes = torch.tensor(np.outer(powers, 2.0 ** np.arange(0, 1, 0.01)), dtype=torch.float32)
    formats = {
        "bfloat16": torch.bfloat16, "E4M3": torch.float8_e4m3fn, "E5M2": torch.float8_e5m2,
    }  # fmt: skip
    least, curves = {}, {}
    for name, dtype in formats.items():
        error = ((sizes.to(dtype).float() - sizes).abs() / sizes).nan_to_num(1.0, 1.0).numpy()
        curves[name] = (powers, error.max(axis=1).clip(max=1.0))
        least[name] = error.max(axis=1).min()
    ax.draw_lines(curves, drawstyle="steps-post", linewidth=3)
    ax.log_scale("x", lambda size: f"$2^{{{np.log2(size):.0f}}}$", base=2, at=powers[::4])
    ax.log_scale("y", "{:.1%}".format)
    title = ", ".join(f"{name} {error:.1%}" for name, error in least.items())
    return ax.finish("Error within each power of two", f"At best: {title}", legend="best")


def one_outlier() -> Figure:
    """Error of 4,096 numbers in E4M3 with one scale and with one for each 128, over an outlier."""
    numbers = np.random.default_rng(1).standard_normal(NUMBERS)
    factors = 4.0 ** np.arange(0, 12)
    curves: dict[str, tuple[np.ndarray, list[float]]] = {}
    for name, block in (("one scale", NUMBERS), (f"a scale for each {BLOCK}", BLOCK)):
        errors = []
        for factor in factors:
            x = numbers.copy()
            x[0] = factor * np.abs(numbers).max()
            blocks = torch.tensor(x).reshape(-1, block)
            scale = blocks.abs().amax(1, keepdim=True) / 448
            back = (blocks / scale).to(torch.float8_e4m3fn).double() * scale
            others = (back - blocks).flatten()[1:]
            errors.append(float(others.norm() / blocks.flatten()[1:].norm()))
        curves[name] = (factors, errors)
    ax = plane("size of one outlier, of the largest other number", "error of all others")
    ax.draw_lines(curves, marker="o", linewidth=3)
    ax.log_scale("x", "{:,.0f}".format, base=4, at=factors[::2])
    ax.log_scale("y", "{:.0%}".format)
    ends = [f"{name} {errors[-1]:.0%}" for name, (_, errors) in curves.items()]
    return ax.finish("Relative error in E4M3", f"At the right: {', '.join(ends)}", legend="best")


def hops() -> Figure:
    """The error of a sum of quantised chunks, over ranks."""
    ranks = 2 ** np.arange(1, 11)
    ways = ("ring", "all-to-all")
    errors = {
        way: (ranks, [quantised.relative_error(way, P) for P in ranks.tolist()]) for way in ways
    }
    ax = plane("ranks", "relative error of the mean")
    ax.draw_lines(errors, linewidth=3)
    ax.log_scale("x", "{:,.0f}".format, base=2, at=ranks)
    ax.log_scale("y", "{:.1%}".format)
    more = errors["ring"][1][-1] / errors["all-to-all"][1][-1]
    title = f"On {ranks[-1]:,} ranks the ring's error is {more:.0f} times that of the all-to-all"
    return ax.finish("By formula, one byte a number, a scale for each 64", title, legend="best")


def singular_values() -> Figure:
    """The singular values of a matrix before and after Muon's rounds."""
    generator = np.random.default_rng(2)
    left, right = (np.linalg.qr(generator.standard_normal((64, 64)))[0] for _ in range(2))
    matrix = left * 2.0 ** -np.linspace(0, 8, 64) @ right
    matrix /= np.linalg.norm(matrix)
    ax = plane("singular value, the largest first", "its size")
    rounds = {"the momentum": 0, "after 1 round": 1, "after 3": 3, "after 5": 5}
    values = {
        name: np.linalg.svd(orthogonal(matrix, n), compute_uv=False) for name, n in rounds.items()
    }
    ax.draw_runs(values, linewidth=3)
    ax.log_scale("y", "{:g}".format)
    last = values["after 5"]
    title = f"After five rounds all 64 are between {last.min():.2f} and {last.max():.2f}"
    return ax.finish("Singular values of a matrix of 64 x 64", title, legend="best")


def rings_and_trees() -> Figure:
    """An all-reduce of 1 MiB by a ring, a tree and halves, over ranks."""
    ranks = 4 ** np.arange(1, 9)
    names = {"ring": "ring", "tree": "tree", "Rabenseifner": "rabenseifner"}
    lines = {
        name: (ranks, [formula(way)(P, SUMMED, SLOW) for P in ranks.tolist()])
        for name, way in names.items()
    }
    return plot_ways("ranks", lines, title="An all-reduce of 1 MiB, by formula")


def hashed() -> Figure:
    """How much longer a step takes if flows choose their links by a hash, over leaves."""
    leaves = 4 ** np.arange(0, 7)
    slower = [hashed_flows.mean_slowdown(FLOWS, FLOWS, many) for many in leaves.tolist()]
    ax = plane("leaves of the tree", "time of a step, without collisions 1")
    ax.draw_curve("", (leaves, slower), "#332288", marker="o", linewidth=3)
    ax.log_scale("x", "{:,.0f}".format, base=4, at=leaves)
    ax.set_ylim(bottom=0)
    title = f"{FLOWS} flows on {FLOWS} links: {slower[0]:.1f} times as long, with {leaves[-1]:,} "
    about = "Mean over all ways to hash, by exact counting"
    return ax.finish(about, f"{title}leaves {slower[-1]:.1f} times")
