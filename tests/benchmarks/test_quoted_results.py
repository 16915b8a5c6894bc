"""What units, labs and decks quote of a recorded run, or of a formula, is what stands there.

A quotation is a sentence with gaps; the test fills them from the recorded results and looks for
the whole sentence in the text. Whoever records anew is told which sentences to change.
"""

import json
import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.recorded import RESULTS, sides
from ddl_class.commands.program_file import import_file
from ddl_runtime.pictures.words import span
from ddl_teach.theory.collectives import leaders
from ddl_teach.theory.gossip import contraction
from ddl_teach.theory.machine import Cluster, Link
from tests.benchmarks.quotations import ROOT, plain

NUMBER = r"-?[\d,]+(?:\.\d+)?"


def row(file: str, begins: str, *, after: str = "") -> list[str]:
    """The numbers of the first row that begins so, below the first line that begins with `after`;
    each as it is written there."""
    _, found, rest = (RESULTS / file).read_text().partition(f"\n{after}")
    assert found, f"{file} has no line that begins with {after!r}"
    for line in rest.splitlines():
        if line.strip().startswith(begins):
            return re.findall(NUMBER, line.strip().removeprefix(begins))
    raise AssertionError(f"{file} has no row {begins!r} below {after!r}")


def published(begins: str) -> list[str]:
    """Of published all-reduces: how many, the typical factor by NCCL's numbers, and fitted."""
    return row("published_collectives.txt", f"{begins} ", after="rows")


def percent(text: str) -> str:
    return f"{float(text):.0f}"


def data_parallel() -> list[str]:
    flat, ring, shared = "one bucket", "overlapped buckets", "shared weights"
    ways = [("MLP", way) for way in (shared, "sufficient", flat, ring, "the same, gradients")]
    ways += [("small AlexNet", way) for way in (flat, shared, ring, "per parameter")]
    return [row("data_parallel.txt", way, after=table)[3] for table, way in ways]


def pruned(size: int, zeros: int, form: str) -> list[str]:
    """How many times as long as a dense product a sparse one took, and the interval's ends."""
    return row("pruned_products.txt", f"{zeros}% zeros  {form}", after=f"{size} x {size}")[6:9]


def pruned_gpt() -> list[str]:
    """Steps, share that is right, steps after pruning, and two shares for each share kept."""
    steps, *_, more, _ = row("pruned_text.txt", "GPT of 100k weights,")
    before, *kept = [part for begins in PRUNED for part in row("pruned_text.txt", begins)]
    return [steps, before, more, *kept]


def statements() -> list[str]:
    most, blank, learnt = zip(
        *(row("statements.txt", f"files {first}, ...")[1:4] for first in ("0, 3, 6", "2, 5, 8")),
        strict=True,
    )
    return [percent(one) for one in (*learnt, *blank, *most)]


def few_bits(name: str) -> list[str]:
    """Of an optimizer: rates, the mean loss, the least, the largest, pairs lost, all pairs."""
    text = (RESULTS / "few_bits_optimizers.txt").read_text()
    line = re.search(rf"^{name}: best: (.*)", text, re.MULTILINE)
    assert line, name
    return re.findall(r"\d+\.\d+|\d+", line[1])


def search(name: str, recorded: str) -> str:
    numbers = row("architectures.txt", recorded, after="search  ")
    cells = [f"{a} ({b} to {c})" for a, b, c in zip(*[iter(numbers)] * 3, strict=True)]
    return f"| {name} | {' | '.join(cells)} |"


def score(name: str, recorded: str) -> str:
    steps, *numbers = row("architectures.txt", recorded, after="Kendall's tau")
    cells = [f"{a} ({b} to {c})" for a, b, c in zip(*[iter(numbers)] * 3, strict=True)]
    return f"| {name} | {steps} | {' | '.join(cells)} |"


ADAMS = "right", "the second moment decays", "the bias of the second moment"


def lost(way: str, fault: str) -> tuple[str, ...]:
    """Seconds lost, and its interval."""
    numbers = row(f"surviving_{fault}.txt", f"{way:<20}{fault}")[1:4]
    return tuple(number.replace("-0.0", "0.0") for number in numbers)


def lab_2() -> list[str]:
    """The table of lab 2, from its three recorded runs and the model with each run's own fits."""
    recorded = json.loads((RESULTS / "lab_2.json").read_text())
    n, ways = 2**20, dict.fromkeys(one["way"] for one in recorded["runs"][0]["rows"])
    nodes = np.repeat(range(4), recorded["ranks_per_node"]).tolist()
    links = [[Link(*run["links"][way]) for way in ("within", "between")]
             for run in recorded["runs"]]  # fmt: skip
    checker = import_file(ROOT / "labs/2_collectives/checker.py")
    models = {
        checker.WAYS[name]: [checker.times(nodes, n, *two)[name][1] for two in links]
        for name in checker.WAYS
    } | {
        "leaders, doubling": [
            leaders(Cluster(4, recorded["ranks_per_node"], 1, *two), n, "recursive_doubling")
            for two in links
        ]
    }  # fmt: skip
    table = []
    for way in ways:
        rows = {
            size: [
                one for run in recorded["runs"] for one in run["rows"]
                if (one["way"], one["bytes"]) == (way, size)
            ]
            for size in (1024, n)
        }  # fmt: skip
        short, long = ([1e3 * one["median"] for one in rows[size]] for size in rows)
        sent, card = rows[n][0]["left"], [one["card"] / 1e6 for one in rows[n]]
        model, over, left = "", "", "unknown"
        if way in models:
            told = [1e3 * seconds for seconds in models[way]]
            model = span(told, "{:.0f}".format)
            quotients = [mine / other for mine, other in zip(long, told, strict=True)]
            over = span(quotients, "{:.2f}".format)
            left = f"{sent:,} ({sent / n:g} n)"
        cells = [
            way, span(short, lambda ms: f"{ms:.{ms < 10:d}f}"), span(long, "{:.0f}".format), model,
            over, left, span(card, "{:.2f}".format) + " million",
        ]  # fmt: skip
        table.append(f"| {' | '.join(cells)} |".replace("  ", " "))
    return table


def links(where: str, of: Callable[[float, float], float], spell: str = "{:.0f}") -> str:
    """From the least to the most of lab 2's runs, of each run's latency and seconds a byte."""
    runs = json.loads((RESULTS / "lab_2.json").read_text())["runs"]
    return span([of(*run["links"][where]) for run in runs], spell.format)


def microseconds(latency: float, _: float) -> float:
    return 1e6 * latency


def megabits(_: float, per_byte: float) -> float:
    return float(f"{8e-6 / per_byte:.3g}")


def lab_2_quotients() -> list[str]:
    """Of 1 MiB: by parts over MPI's own, and by how many percent the card counts more."""
    pairs, headers = [], []
    for run in json.loads((RESULTS / "lab_2.json").read_text())["runs"]:
        rows = {one["way"]: one for one in run["rows"] if one["bytes"] == 2**20}
        pairs.append(rows["by parts"]["median"] / rows["MPI's own"]["median"])
        headers.append(100 * (rows["ring"]["card"] / rows["ring"]["left"] - 1))
    return [span(headers, "{:.0f}".format), span(pairs, "{:.2f}".format)]


def over_the_model() -> list[str]:
    """With a delay in the box: the ring's time over the model's, and the most of the others."""
    ring, *others = (
        float(row("box_delayed.txt", way)[2])
        for way in ("ring", "recursive_doubling", "rabenseifner")
    )
    return [f"{ring:.2f}", f"{max(others):.2f}"]


def beside_torch() -> list[str]:
    """Our fastest convolution over torch's: the least and the most of all layers."""
    parts = []
    for side in sides("convolutions.txt"):
        times = {name: row.median for name, row in side.rows.items()}
        peer = times.pop("torch")
        parts.append(min(times.values()) / peer)
    return [f"{edge(parts):.2f}" for edge in (min, max)]


def best_of_pieces() -> list[str]:
    """How many times as fast as the fastest whole batch pieces were, at best."""
    text = (RESULTS / "divided_batches.txt").read_text()
    rows = [line for line in text.splitlines() if re.search(r" \d+ x \w+ of \d+  .* ms ", line)]
    return [f"{max(float(line.split()[-1]) for line in rows):.2f}"]


SEARCHES = {"chance": "random", "evolution": "evolution", "controller": "controller",
            "shared weights": "shared weights"}  # fmt: skip
SCORES = {
    "alone, 60 steps, another seed": "alone, 60 steps, another seed",
    "alone, 15 steps": "alone, 15 steps",
    "shared weights ": "shared weights, 600 steps",
    "shared weights": "shared weights, 1,200 steps",
}
PRUNED = ("before pruning:", "100% k", "30% k", "10% k", "3% k")
FAULTS = ("shrink", "restart", "torchrun", "torchrun, unsaved")
FORGOTTEN = f"{math.ceil(contraction.steps_until(0.01, contraction.ring(64))):,}"

QUOTED = {
    "convolutions beside torch's": (
        "notebooks/source/02_which_is_fastest.py",
        "the library's fastest method takes {} to {} times as long as torch, layer by layer",
        beside_torch,
    ),
    "pieces beside whole batches": (
        "notebooks/source/03_divided_batches.py",
        "divisions into pieces were at best {} times as fast as the fastest whole batch",
        best_of_pieces,
    ),
    "data parallelism": (
        "notebooks/source/08_data_parallelism.py",
        "took {} of DDP's time with shared weights, {} with sufficient factors, {} with one "
        "bucket, and {} with a ring under the pass; DDP itself took {} of that time once its "
        "gradients were views of its buckets. (Ours were buckets of 4 MiB, DDP's of its own size; "
        "neither was searched for.) A small AlexNet has a twelfth of the gradients; there one "
        "bucket took {}, shared weights {}, a ring under the pass {}, and a message for each "
        "parameter {} ",
        data_parallel,
    ),
    "pruned products": (
        "notebooks/source/12_pruning.py",
        "| 90% | matrix first | {} ({} to {}) | {} | | 99% | matrix first | {} | {} | "
        "| 99% | layer | {} ({} to {}) | {} |",
        lambda: [
            *pruned(1024, 90, "columns"), *pruned(512, 90, "columns")[:1],
            *(pruned(size, 99, "columns")[0] for size in (1024, 512)),
            *pruned(1024, 99, "layer"), *pruned(512, 99, "layer")[:1],
        ],
    ),
    "a tenth of the operations": (
        "notebooks/source/12_pruning.py",
        "with a tenth of the operations it is at best {:.1f} times as fast",
        lambda: [1 / float(pruned(512, 90, "columns")[0])],
    ),
    "a layer with a tenth of its weights": (
        "notebooks/source/12_pruning.py",
        "the layer with a tenth of the operations took {:.0f} to {:.0f} times as long",
        lambda: sorted(float(pruned(size, 90, "layer")[0]) for size in (512, 1024)),
    ),
    "a pruned GPT": (
        "notebooks/source/12_pruning.py",
        "After {} steps it guessed {}% of the held-out characters rightly. Then each share was "
        "trained on for {} steps: | kept | right, just pruned | right, trained on | "
        "|---|---|---| | 100% | {}% | {}% | "
        "| 30% | {}% | {}% | | 10% | {}% | {}% | | 3% | {}% | {}% |",
        pruned_gpt,
    ),
    "gossip that waits for nobody": (
        "notebooks/source/15_server_or_no_server.py",
        "the fast ones were done in {} of the time",
        lambda: [row("gossip_stragglers.txt", "asynchronous", after="rank 0 is slow")[4]],
    ),
    "statements": (
        "notebooks/source/16_sparse_by_nature.py",
        "vectors that had learnt were right in {}% and {}%, and vectors that had not in {}% and "
        "{}%. The most frequent package is right in {}% and {}%",
        statements,
    ),
    "wrong Adams on a larger task": (
        "notebooks/source/19_within_rounding.py",
        "the right one ends with a mean loss of {}. The one whose second moment forgets too fast "
        "ends with {}, and the other wrong one with {}.",
        lambda: [row("adams.txt", "best:", after=name)[-1] for name in ADAMS],
    ),
    "NCCL's numbers beside published times": (
        "notebooks/source/23_collectives.py",
        "beside {} all-reduces that others measured and published. By NCCL's numbers a time is "
        "typically {} times too long or too short. Nearly all are too short, as they leave out "
        "the start of a call. Two fitted numbers, {} us a call and {}% of the bandwidth, bring "
        "this to {}. On rows that they were not fitted on it is {}. In one node it is {}, on "
        "several nodes {}:",
        lambda: [published("all")[0], published("all")[1],
                 *row("published_collectives.txt", "Fitted on every second row:")[::2],
                 *(published(name)[2] for name in ("all", "not fitted on", "one node",
                                                   "several nodes"))],
    ),
    "8-bit states": (
        "notebooks/source/22_few_bits_many_ranks.py",
        "the loss ends at {}, and with float32 at {}. Over five seeds it is from {} to {}. With "
        "bytes in the embeddings too, {} of {} pairs of rates blew up.",
        lambda: [few_bits("Adam, 8 bits in blocks")[2], *few_bits("Adam")[2:5],
                 *few_bits("Adam, 8 bits everywhere")[-2:]],
    ),
    "Muon beside Adam": (
        "notebooks/source/22_few_bits_many_ranks.py",
        "Adam's loss is {}, from {} to {} over the seeds, and Muon's {}, from {} to {}.",
        lambda: few_bits("Adam")[2:5] + few_bits("Muon")[2:5],
    ),
    "searches": (
        "notebooks/source/17_architectures.py",
        " ".join("{}" for _ in SEARCHES),
        lambda: [search(*names) for names in SEARCHES.items()],
    ),
    "scores of cells": (
        "notebooks/source/17_architectures.py",
        " ".join("{}" for _ in SCORES),
        lambda: [score(name.strip(), recorded) for name, recorded in SCORES.items()],
    ),
    "news on a ring, unit": (
        "notebooks/source/15_server_or_no_server.py",
        "and {} to be forgotten",
        lambda: [FORGOTTEN],
    ),
    "news on a ring, deck": (
        "slides/decks/5_training.md", "{} steps until one percent is left", lambda: [FORGOTTEN],
    ),
    "lab 1": (
        "labs/1_hello_nodes/instructor.md",
        "| latency | {} us | {} us | | bandwidth | {} Mbit/s | {} Mbit/s | | half of a message is "
        "latency at | | {} bytes |",
        lambda: [
            *(links(where, microseconds) for where in ("within", "between")),
            links("within", megabits, "{:,.0f}"), links("between", megabits, "{:.1f}"),
            links("between", lambda latency, per_byte: latency / per_byte, "{:,.0f}"),
        ],
    ),
    "fits of lab 2": (
        "labs/2_collectives/instructor.md",
        "The fits said {} us between nodes and {} ns a byte ({} Mbit/s).",
        lambda: [
            links("between", microseconds), links("between", lambda _, per_byte: 1e9 * per_byte),
            links("between", megabits, "{:.1f}"),
        ],
    ),
    "headers of lab 2": (
        "labs/2_collectives/instructor.md", "Headers were {}% of the ring's bytes",
        lambda: lab_2_quotients()[:1],
    ),
    "MPI's own in lab 2": (
        "labs/2_collectives/instructor.md", "took {} of the library's own time",
        lambda: lab_2_quotients()[1:],
    ),
    "a box with a delay": (
        "docs/box.md",
        "the ring took {} times what the model says, the others at most {} times", over_the_model,
    ),
    "bytes with a safeguard": (
        "notebooks/source/22_few_bits_many_ranks.py",
        "none of the 25 pairs blows up. With bytes everywhere the loss is then {}, from {} to {}.",
        lambda: few_bits("Adam, 8 bits, safeguard")[2:5],
    ),
    "steps of Muon": (
        "notebooks/source/22_few_bits_many_ranks.py",
        "128 wide: Adam's step took {} ms, Muon's {}, and the forward and backward pass {}.",
        lambda: [row("few_bits_steps.txt", "width 128")[place] for place in (2, 4, 0)],
    ),
    "what a box carries": (
        "docs/box.md",
        "for 1,600 Mbit/s carried {} MB a second there, and for 3,200 Mbit/s {}:",
        lambda: [row("forms_in_a_box.txt", f"{rate}mbit")[0] for rate in (1600, 3200)],
    ),
    "lab 2": ("labs/2_collectives/instructor.md", " ".join("{}" for _ in range(7)), lab_2),
    "a cut cable": (
        "labs/8_faults/instructor.md",
        "The same rows then lose {} s ({} to {}), {} ({} to {}), {} ({} to {}) and {} ({} to {}).",
        lambda: [number for way in FAULTS for number in lost(way, "cut")],
    ),
    **{
        f"a killed rank, {way}": (
            "labs/8_faults/instructor.md",
            f"| {way}{', saved' * (way == 'torchrun')} | {{}} s ({{}} to {{}})",
            lambda way=way: lost(way, "kill"),
        )
        for way in FAULTS
    },
}  # fmt: skip


@pytest.mark.parametrize("name", QUOTED)
def test_what_is_quoted_stands_in_what_was_recorded(name):
    place, sentence, values = QUOTED[name]
    assert sentence.format(*values()) in plain(place)


@pytest.mark.parametrize("name", ["without muP", "with muP"])
def test_the_best_rates_by_width_are_those_recorded(name):
    source = (ROOT / "notebooks/source/22_few_bits_many_ranks.py").read_text()
    lines = (RESULTS / "few_bits_widths.txt").read_text()
    best = re.findall(rf"^{name} .* best 2\^(-\d+) ", lines, re.MULTILINE)
    assert len(best) == 4
    assert f'"{name}": ({", ".join(best)})' in source


def test_the_steps_by_batch_of_a_gpt_are_those_recorded():
    source = (ROOT / "notebooks/source/13_large_batches.py").read_text()
    shown = re.search(r"of_gpt = \((.*)\), \((.*)\)", source)
    lines = (RESULTS / "gpt_batches.txt").read_text()
    batches = re.findall(r"^batch (\d+)", lines, re.MULTILINE)
    best = re.findall(r"best: rate \S+, (\d+) steps", lines)
    assert shown
    assert shown.groups() == (", ".join(batches), ", ".join(best))
