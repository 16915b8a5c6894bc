"""Part 7's second half: slow links, a month on many GPUs, serving; by the library's formulas."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.figure import Figure

from ddl_class.plots.frame import plane
from ddl_runtime.pictures.style import INK
from ddl_runtime.pictures.words import size_text
from ddl_teach.planning.explain import MEDIAN_ERROR, RUNS
from ddl_teach.planning.goodput import LLAMA_3, Safeguards, finish, mean_of
from ddl_teach.planning.plans import PlannedStep, Ranking, rank_plans
from ddl_teach.planning.presets import ACCELERATORS, MODELS
from ddl_teach.planning.sizes import TrainingJob
from ddl_teach.theory.failures import young
from ddl_teach.theory.machine import Link
from ddl_teach.theory.serving import Lane, ServedModel, expected_tokens
from ddl_teach.theory.slow_links import Round
from ddl_teach.training.distribution.robust import RULES

WEIGHTS, STEP = 1e9, 1.0  # of a model across the Internet: a step takes so many seconds
GPUS = np.array([1024, 4096, 16_384, 65_536])
GUARDS = 30.0, 600.0  # seconds to save, and to start again
SERVED = ServedModel(70e9, layers=80, width=8192, keys=1024)
LLAMA = "llama3-405b"


def bytes_of_a_step() -> Figure:
    """What a site sends for each step, by how it agrees with three others."""
    ways = {
        "every step": Round(4, 4 * WEIGHTS, 1, STEP),
        "every 100 steps": Round(4, 4 * WEIGHTS, 100, STEP),
        "every 100, in 4 bits": Round(4, WEIGHTS / 2, 100, STEP),
    }
    sent = [way.bytes_per_step for way in ways.values()]
    ax = plane("bytes that a site sends for each step", "")
    ax.barh(list(ways)[::-1], sent[::-1], color="#4477aa", height=0.6)
    ax.log_scale("x", size_text, base=2, at=2.0 ** np.arange(20, 34, 3))
    title = f"{sent[0] / sent[-1]:,.0f} times fewer bytes"
    told = "; ".join(f"{name}: {size_text(n)}" for name, n in zip(ways, sent, strict=True))
    return ax.finish(f"Four sites, a billion weights. {told}", title)


def computing() -> Figure:
    """The share of its time that a site computes, over the rate of its link."""
    rates = 2.0 ** np.arange(18, 36)  # bytes a second
    ways = {
        "every step": Round(4, 4 * WEIGHTS, 1, STEP),
        "every 100": Round(4, 4 * WEIGHTS, 100, STEP),
        "in 4 fragments, meanwhile": Round(4, 4 * WEIGHTS, 100, STEP, 4, 20),
        "and in 4 bits": Round(4, WEIGHTS / 2, 100, STEP, 4, 20),
    }
    curves, enough = {}, {}
    for name, way in ways.items():
        times = np.array([way.seconds(Link(25e-3, 1 / rate)) for rate in rates])
        shares = way.period * STEP / times
        curves[name], enough[name] = (8 * rates, shares), 8 * rates[shares >= 0.5][0]
    ax = plane("bits a second of a site's link", "share of the time that it computes")
    ax.draw_lines(curves, linewidth=3)
    ax.log_scale("x", lambda rate: f"{rate / 1e6:,.0f} M", base=10, at=10.0 ** np.arange(7, 12))
    less = enough["every step"] / enough["and in 4 bits"]
    title = f"At least half of the time computing, with a link {less:,.0f} times slower"
    return ax.finish(
        "Four sites, a billion weights, steps of a second, 25 ms", title, legend="best"
    )


def liars() -> Figure:
    """How far results are from the honest mean, by how many of nine workers lie."""
    random, counts = np.random.default_rng(24), range(5)
    honest = random.standard_normal((9, 1000)) + 1
    ax = plane("liars among 9 workers", "distance from the honest mean")
    curves = {}
    for name in ("mean", "median", "Krum"):
        far = []
        for lying in counts:
            rows = honest.copy()
            rows[9 - lying :] *= -100
            mean = honest[: 9 - lying].mean(axis=0)
            result = RULES[name](rows, lying, np.zeros(1000))
            far.append(float(np.linalg.norm(result - mean)) + 0.1)  # a logarithm wants no 0
        curves[name] = (np.array(counts), far)
    ax.draw_lines(curves, linewidth=3)
    ax.log_scale("y", "{:,.0f}".format, base=10, at=10.0 ** np.arange(0, 5))
    ax.set_ylim(1, 1e4)
    ax.set_xticks(counts)
    times = curves["mean"][1][1] / curves["median"][1][1]
    title = f"One liar moves the mean {times:,.0f} times as far as the median"
    return ax.finish("Liars send minus 100 times their vector", title, legend="best")


def month() -> Figure:
    """What is left of a month on more and more GPUs that fail as those of Llama 3 did."""
    save, restart = GUARDS
    ax = plane("GPUs", "goodput")
    curves, last = {}, ()
    for name, every in (("saved each hour", 3600.0), ("saved as Young says", 0.0)):
        runs = [
            finish(
                30 * 86_400, LLAMA_3, mean, Safeguards(every or young(save, mean), *GUARDS), 300
            )
            for mean in (mean_of(LLAMA_3, int(gpus)) for gpus in GPUS)
        ]
        curves[name] = (GPUS, [run.goodput.mean() for run in runs])
        last = np.quantile(runs[-1].goodput, (0.05, 0.95))
    ax.draw_lines(curves, linewidth=3)
    ax.log_scale("x", "{:,.0f}".format, base=4, at=GPUS)
    ax.set_ylim(0, 1)
    ax.in_percent("y")
    hours = mean_of(LLAMA_3, 16_384) / 3600
    title = (
        f"On 16,384 a failure each {hours:.1f} h; on 65,536 {last[0]:.0%} to {last[1]:.0%} is left"
    )
    return ax.finish(
        f"A month, {save:.0f} s to save, {restart:.0f} s to start", title, legend="best"
    )


@cache
def ranked() -> Ranking:
    """All plans for Llama 3's largest model on as many GPUs as it had."""
    return rank_plans(TrainingJob(MODELS[LLAMA], ACCELERATORS["H100"], 8192, 2048), 16_384)


def best_plans() -> list[PlannedStep]:
    """The fastest grids among them."""
    return ranked().grids[:5]


def how_many() -> str:
    """How many plans that is, with those that cannot be, to the nearest thousand."""
    plans = len(ranked().possible) + sum(ranked().refused.values())
    return f"{round(plans, -3):,}"


def median_error() -> str:
    """How near the planner comes to published steps."""
    return f"of {RUNS} steps half are within {MEDIAN_ERROR:.1%}"


def plans() -> Figure:
    """Where the time of a step goes in each of them."""
    shown = best_plans()[::-1]
    names = [" x ".join(f"{size:g}" for size in step.grid) for step in shown]
    ax = plane("seconds of a step; names are data x tensor x context x expert x pipeline")
    begun = np.zeros(len(shown))
    parts = {
        "products": ("products",),
        "messages": ("tensor_messages", "context_messages", "gradients"),
        "bubble": ("bubble",),
    }  # fmt: skip
    colours = ("#4477aa", "#ee6677", "#ccbb44", "#bbbbbb")
    for (name, fields), colour in zip(parts.items(), colours, strict=False):
        seconds = np.array([sum(getattr(step.time, field) for field in fields) for step in shown])
        ax.barh(names, seconds, left=begun, color=colour, label=name, height=0.65)
        begun += seconds
    totals = np.array([step.time.total for step in shown])
    ax.barh(names, totals - begun, left=begun, color=colours[-1], label="all else", height=0.65)
    ax.set_xlim(0, 1.25 * totals.max())
    apart = totals[0] / totals[-1] - 1
    title = f"The five best grids are within {apart:.0%}, about the error of the prediction"
    return ax.finish("Llama 3 405B on 16,384 H100", title, legend="center right")


def flipped_bits() -> Figure:
    """How much one flipped bit changes the number 1 / 3 in 32 bits."""
    number = np.float32(1 / 3)
    flips = number.view(np.uint32) ^ (np.uint32(1) << np.arange(32, dtype=np.uint32))
    changed = np.abs(flips.view(np.float32).astype(float) / float(number) - 1)
    ax = plane("bit", "relative change")
    parts = {"digits": (0, 23, "#4477aa"), "exponent": (23, 31, "#ee6677"), "sign": (31, 32, INK)}
    for name, (first, end, colour) in parts.items():
        ax.bar(range(first, end), changed[first:end], color=colour, bottom=1e-8, label=name)
    ax.log_scale("y", "{:.0e}".format, base=10, at=10.0 ** np.arange(-8, 42, 10))
    small = int((changed < 0.01).sum())
    power = str(round(np.log10(changed[30]))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    title = f"{small} of 32 bits change it by less than 1%, one by 10{power} times"
    return ax.finish("Digits, exponent, sign of 1/3", title, legend="upper left")


def batches_served() -> Figure:
    """Tokens a second of a card against the time of a token, as batches grow."""
    ax = plane("milliseconds of a token", "tokens a second and card")
    sizes, curves = 2 ** np.arange(0, 9), {}
    for tensor in (2, 4, 8):
        lane = Lane(SERVED, tensor=tensor)
        fits = [int(n) for n in sizes if n * 2048 <= lane.room]
        seconds = np.array([lane.seconds(n, n * 2048) for n in fits])
        curves[f"{tensor} cards"] = (1000 * seconds, np.array(fits) / seconds / tensor)
    ax.draw_lines(curves, marker="o", linewidth=3)
    ax.log_scale("y", "{:,.0f}".format, base=4, at=4.0 ** np.arange(1, 6))
    first = {name: curve[0][0] for name, curve in curves.items()}
    most = {name: curve[1].max() for name, curve in curves.items()}
    soonest, fullest = min(first, key=first.__getitem__), max(most, key=most.__getitem__)
    title = f"{soonest} answer soonest, {fullest} each give most"
    return ax.finish("70 billion weights, 2,048 tokens each, H100", title, legend="best")


def room() -> Figure:
    """How many requests a node of eight cards has room for, by their length."""
    lengths, ax = 2 ** np.arange(10, 18), plane("tokens of a request", "requests at the same time")
    few, all_heads = (
        Lane(ServedModel(70e9, 80, 8192, keys), tensor=8).room for keys in (1024, 8192)
    )
    ax.draw_lines(
        {"8 heads of keys": (lengths, few / lengths), "64": (lengths, all_heads / lengths)},
        linewidth=3,
    )
    ax.log_scale("x", "{:,.0f}".format, base=4, at=lengths[::2])
    ax.log_scale("y", "{:,.0f}".format, base=4, at=4.0 ** np.arange(-1, 6))
    title = f"{size_text(SERVED.cache_bytes)} a token: {few / 8192:,.0f} requests of 8,192 tokens"
    return ax.finish("70 billion weights on 8 cards of 80 GB", title, legend="best")


def drafts() -> Figure:
    """Tokens that a step of the large model gives, by how often a guess is right."""
    ax, guesses = plane("guesses of the small model", "tokens a step"), np.arange(0, 9)
    curves = {
        f"{right:.0%} right": (guesses, [expected_tokens(right, int(g)) for g in guesses])
        for right in (0.9, 0.8, 0.6)
    }
    ax.draw_lines(curves, linewidth=3)
    title = f"Four guesses, 80% right: {expected_tokens(0.8, 4):.1f} tokens a step"
    return ax.finish("The distribution of answers stays the same", title, legend="best")
