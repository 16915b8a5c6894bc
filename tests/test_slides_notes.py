"""Numbers that a speaker says, in digits: each has a source.

A sentence of the notes has gaps; the test fills them from figures, formulas and tables, and looks
for the whole sentence in its deck. No other sentence has a number. Names are none (unit 5, rank 2,
3 x 3, a year), nor are formulas, sentences with a citation, and what a question to the room poses.
"""

import re

import numpy as np
import pytest
import torch
from torch.nn import functional

from benchmarks.recorded import RESULTS
from ddl_class.exercises.exercise import Exercise
from ddl_class.notebook.true_measurements import true_measurements as measured
from ddl_measure.device_paths import ASSUMED
from ddl_teach import simulate
from ddl_teach.operators.divided_batches import predicted
from ddl_teach.operators.graphs import fully_connected
from ddl_teach.planning.goodput import LLAMA_3, LLAMA_3_DAYS
from ddl_teach.planning.presets import ACCELERATORS
from ddl_teach.theory import memory, sparse, staleness
from ddl_teach.theory.gossip import contraction
from ddl_teach.theory.grids.layers import transformer
from ddl_teach.theory.machine import Cluster
from ddl_teach.training.optimizers.lars import LARS
from ddl_teach.training.tasks.digits import Digits
from docs.make_guides import schedules
from slides.deck import decks
from slides.figures import (
    cluster,
    communication,
    jobs_drawn,
    many_nodes,
    networks,
    operators,
    operators_drawn,
    start,
    titles,
    today,
    training,
    training_drawn,
)
from tests.test_slides_words import slides

NAMED = re.compile(
    r"\{\{.*?\}\}|\b(?:19[5-9]\d|20[0-3]\d)\b|(?<!\S)[123]: "
    r"|\b(?:[Uu]nits?|[Ll]abs?|[Pp]arts?|[Dd]ecks?|[Rr]anks?|[Ss]teps?|[Ss]tages?|GPU|Period)"
    r" \d+(?:(?:, \d+)*,? (?:to|and|or) (?:stage )?\d+)?"
    r"|\b1F1B\b|\b\w+-\d+\b|\b[A-Za-z]+\d+\w*|\b\d+ x \d+\b|2:4 sparsity"
    r"|(?:a |the )?95% interval|in 95 of 100 experiments|between 0 and 1\b|\b(?:8|16|32) bits"
    r"|\d+ ?\((?:\(?P|2 s)[^.;:]*?\)|\([A-Z] ?[-+] ?1\)|\b[A-Za-z][- +/]{1,3}1\b|1/P"
    r"|\b2 to the k|\b2 C M|\b2 sin[^.,]*|\(1 \+ N / b\)|0 \+ 1 \+ 2 \+ 3 \+ 4",
    re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])\d(?:[\d.,]*\d)?")
CITED = re.compile(r"\([^()]*\b(?:19|20)\d\d\)")
H100 = ACCELERATORS["H100"]
CARD = H100.node_rate / H100.ranks_a_node


def bytes_of_adam():
    """Bytes of a weight while it is trained, as the slide of ZeRO's stages has them."""
    return memory.held(0, [1], 1, weight=2, state=12).total


def first_and_last():
    """Bytes for which linear is the fastest of the four on eight ranks and the ring the slowest,
    and MiB for which linear is the slowest and the ring as fast as the best."""
    small, large = 8, 64 * 2**20
    by_size = [
        {name: communication.predicted(name, 8, nbytes) for name in communication.ALGORITHMS}
        for nbytes in (small, large)
    ]
    few, many = by_size
    assert min(few, key=few.get) == "linear"
    assert max(few, key=few.get) == "ring"
    assert max(many, key=many.get) == "linear"
    assert many["ring"] < 1.01 * min(many.values())
    return small, large // 2**20, small, large // 2**20


def divisions():
    """How many divisions of AlexNet's second layer there are, by method and size of each part."""
    job = predicted.predict(operators.LAYER, operators.ACCELERATOR, launch=20e-6)["forward"]
    ways = [1] + [0] * job.batch
    for offer in job.offers:
        for size in range(offer.size, job.batch + 1):
            ways[size] += ways[size - offer.size]
    return ways[-1]


def pipelines_bubble(ranks, micro_batches):
    """The idle turns and all turns of a pipeline."""
    return ranks - 1, micro_batches + ranks - 1


def shown(text, form):
    """The largest number of this form in a picture."""
    return max(map(float, re.findall(form, text)))


def batch_on(processors):
    """The batch of the training on so many TPU chips, their number, and the share of each."""
    [row] = [
        each
        for each in start.trainings()
        if (each.processors, each.hardware, bool(each.batch)) == (processors, "TPU", True)
    ]
    return row.batch, row.processors, row.batch / row.processors


def of_model(name):
    [row] = [each for each in start.trainings() if each.model == name]
    return row.weights


def units_of_two_days():
    """The last unit of the schedule of two days."""
    return max(int(unit) for part in schedules()["two"].parts for unit in part.units)


def failures():
    """Of Llama 3: how many, and in how many days."""
    return sum(kind.count for kind in LLAMA_3), LLAMA_3_DAYS


def four_ways_as_long():
    """Question 2 of part 3: ms of bytes, us a rank, and ranks whose latencies are as long."""
    nbytes, rate, latency = 100e6, 10e9, 1e-6
    seconds, each = 2 * nbytes / rate, 2 * latency
    return seconds * 1e3, each * 1e6, seconds / each, seconds * 1e3


def question(deck, form):
    """The number that the last slide of a deck asks about."""
    [path] = [path for path in decks() if path.stem == deck]
    return re.search(form, slides(path)[-1][0])[1]


def pruned_columns():
    """The zeros with which whole columns were faster, and with which they took about as long."""
    text = operators_drawn.pruned().alt
    times = dict(re.findall(r"(\d+)% zeros, whole columns ([\d.]+) times", text))
    fast, even = sorted(times, key=lambda zeros: float(times[zeros]))
    assert float(times[fast]) < 0.5
    assert float(times[even]) == pytest.approx(1, abs=0.1)
    return fast, even


def nearly_half():
    """The ranks of which one entry in a hundred each fills nearly half of a vector."""
    assert 0.45 < sparse.union(100, 1, training.RANKS) / 100 < 0.5
    return [training.RANKS]


def ensembles_that_won():
    """In how many seeds an ensemble beat the median member, of as many."""
    text = (RESULTS / "consolidation.txt").read_text()
    block = text.partition("5 members 8 wide, student 8 wide")[2]
    won, seeds = re.search(r"^ensemble .* (\d+)/(\d+) ", block, re.MULTILINE).groups()
    assert won == seeds
    return [won]


EVERY = Exercise.__dataclass_fields__["ranks"].default
TIED = [
    ("1", "The picture shows {:.0f} ranks",
     lambda: [shown(titles.ranks().svg, r">(\d+)</text>") + 1]),
    ("1", "{:,.0f} pictures on {:,.0f} chips are {:.0f} for each", lambda: batch_on(1024)),
    ("1", "A weight needs {} bytes while", lambda: [bytes_of_adam()]),
    ("1", "They will divide {:,.0f} by {:.0f}, and find {:.0f}.",
     lambda: [bytes_of_adam() * 1e12 / 1e9, H100.memory / 1e9,
              bytes_of_adam() * 1e12 / H100.memory]),
    ("1", "DeepSeek-V4-Pro has {:.1f} trillion weights",
     lambda: [of_model("DeepSeek-V4-Pro") / 1e12]),
    ("1", "every unit up to {} is touched", lambda: [units_of_two_days()]),
    ("1", "They will say {:.0f}, and that is right",
     lambda: simulate(start.everybody_says, 5).results[:1]),
    ("1", "{:,} ranks in one process of your laptop", lambda: [start.MANY]),
    ("1", "on {}, {}, {}, {}, {}, {} and one more count", lambda: EVERY),
    ("1", "every check of the course tries {}, {}, {}, {}, {} and {} ranks", lambda: EVERY),
    ("2", "The work is {} in both pictures", lambda: [2**operators_drawn.LEVELS - 1]),
    ("2", "A layer of 64 inputs and 64 outputs, a batch of 16: {:,} operations",
     lambda: [fully_connected.forward(16, 64, 64, bias=False).work]),
    ("2", "kernels of 3 x 3 these are {} and {}.", lambda: [(2 + 3 - 1) ** 2, 2**2 * 3**2]),
    ("2", "They will see it in the picture: {} numbers from {}.",
     lambda: [functional.unfold(torch.zeros(1, 1, 4, 4), 3).numel(), 4 * 4]),
    ("2", "an accelerator of {:.0f} Tflop/s in products, {:.0f} in transforms, {:.0f} GB/s",
     lambda: [operators.ACCELERATOR.product / 1e12, operators.ACCELERATOR.transform / 1e12,
              operators.ACCELERATOR.bandwidth / 1e9]),
    ("2", "{:.0f} thousand million divisions", lambda: [divisions() / 1e9]),
    ("2", "{0} + 1 is {1:.0f} in float16", lambda: [2048, np.float16(2048) + np.float16(1)]),
    ("3", "at n = L / G, which is {:,.0f} bytes here",
     lambda: [communication.LATENCY * communication.BANDWIDTH]),
    ("3", "linear is first for {} bytes and last for {} MiB. The ring is last for {} bytes, and "
     "for {} MiB as good", first_and_last),
    ("3", "partner of rank 5 is: {}, then {}, then {}.", lambda: [5 ^ 1, 5 ^ 2, 5 ^ 4]),
    ("3", "Latency {:.0f} µs, bandwidth {:.0f} GB/s.",
     lambda: [communication.LATENCY * 1e6, communication.BANDWIDTH / 1e9]),
    ("3", "{:.0f} GB/s for copies, {:.0f} Gbit/s for the wire",
     lambda: [1e-9 / ASSUMED.copy_out.per_byte, 8e-9 / ASSUMED.wire.per_byte]),
    ("3", "{:.0f} ms of bytes against {:.0f} µs a rank, if the latency is a microsecond. With "
     "{:,.0f} ranks both are {:.0f} ms.", four_ways_as_long),
    ("3", "for one number on {:,} simulated ranks with a latency of a microsecond",
     lambda: [communication.MANY]),
    ("3", "on {:,} ranks they alone take", lambda: [communication.MOST]),
    ("3", "bytes inside a node are {:.0f} times cheaper and the latency is a {:.0f}th.",
     lambda: [communication.NEAR.bandwidth / communication.FAR.bandwidth,
              communication.FAR.latency / communication.NEAR.latency]),
    ("4", "gradients on {:,} ranks, a backward pass of {} s.",
     lambda: [networks.MANY, networks.BACKWARD]),
    ("4", "{:,} wide, {:,} tokens, half precision", lambda: [networks.WIDE, networks.TOKENS]),
    ("4", "{:.1f} billion weights, Adam, half precision, {} ranks",
     lambda: [networks.WEIGHTS / 1e9, networks.SHARERS]),
    ("4", "{} blocks, {:,} wide, {:.1f} billion weights, {} ranks on a node.",
     lambda: [networks.GPT["blocks"], networks.GPT["width"],
              transformer(**networks.GPT).weights / 1e9, Cluster(64).ranks_per_node]),
    ("4", "at {}% these were faster, at {}% about the same.", pruned_columns),
    ("4", "give {} of {}.", lambda: pipelines_bubble(4, 8)),
    ("4", "The same {} bytes a weight as on the slide before", lambda: [bytes_of_adam()]),
    ("4", "ten million weights are {:.0f} MB, and {} samples feed a few ranks",
     lambda: [10 * np.float32().nbytes, question("4_networks", r"your batch (\d+) samples")]),
    ("5", "With {1} the way is nearly straight, and {2} cost sixteen times as much",
     lambda: training.BATCHES),
    ("5", "if the {2} samples are computed at once", lambda: training.BATCHES),
    ("5", "Digits to a loss of {}, each batch", lambda: [training.TARGET]),
    ("5", "Every rank has {} samples", lambda: [training.OWN]),
    ("5", "m becomes {} m plus", lambda: [LARS((0, 1)).momentum]),
    ("5", "each rank has the mean of all {}.", lambda: [training.RANKS]),
    ("5", "with {} ranks nearly half of all are filled", nearly_half),
    ("5", "{} ranks, a million numbers.", lambda: [training.RANKS]),
    ("5", "it beat the median member in all {} seeds", ensembles_that_won),
    ("5", "a fresh gradient would stand {:.0f}", lambda: [staleness.stable_rate(0)]),
    ("5", "the limit stands at {:.0f} over the curvature", lambda: [staleness.stable_rate(0)]),
    ("5", "The last layer moves by {:.0f}% of itself",
     lambda: [shown(training_drawn.layers_of_lars().alt, r"last layer, descent ([\d.]+)%")]),
    ("5", "On a ring of 64, {:,.0f} steps until one percent is left",
     lambda: [np.ceil(contraction.steps_until(0.01, contraction.ring(64)))]),
    ("5", "{:,} entries of one gradient of the digits' network",
     lambda: [Digits().initial().size]),
    ("5", "Two entries of {:,}, each worker", lambda: [Digits().initial().size]),
    ("5", "Packing takes {:.0f} ms, unpacking {:.0f} ms",
     lambda: [training.PACKING["encode"] * 1e3, training.PACKING["decode"] * 1e3]),
    ("5", "with {} percent each, at random places, about {:.0f} percent of all",
     lambda: [0.1, sparse.union(1000, 1, 1000) / 10]),
    ("6", "Every rank brought its own {} samples",
     lambda: [next(each.batch for each in measured().entries if each.name == "weak, 1 ranks")]),
    ("6", "without knowing the rate needs all {} trainings.",
     lambda: [next(each.searched for each in measured().entries if each.name == "rate searched")]),
    ("7", "as parts on {} nodes, at the least", lambda: [many_nodes.RACED]),
    ("7", "frames of {:,} bytes with {:,} of payload",
     lambda: [jobs_drawn.FRAME, jobs_drawn.FRAME - sum(jobs_drawn.HEADERS.values())]),
    ("7", "what is left of 100 Mbit/s at most: {:.1f}.",
     lambda: [100 * (1 - sum(jobs_drawn.HEADERS.values()) / jobs_drawn.FRAME)]),
    ("7", "{:.0f} MB of gradients, a ResNet-50; nodes of {} GPUs; {:.0f} µs and {:.0f} GB/s "
     "inside, {:.0f} µs and {:.0f} GB/s between, and {:.0f} ms of work",
     lambda: [many_nodes.RESNET / 1e6, many_nodes.GPUS,
              *(value for link in many_nodes.LINKS
                for value in (link.latency * 1e6, 1e-9 / link.per_byte)),
              many_nodes.WORK * 1e3]),
    ("7", "With {} Gbit/s the same batch scales nearly to the end",
     lambda: [re.match(r"\d+", [*cluster.NETWORKS][-1])[0]]),
    ("8", "for one layer forward, {:.0f} TFLOP/s a rank", lambda: [today.RATE / 1e12]),
    ("8", "A scale for each block of {} keeps the damage in one block", lambda: [today.BLOCK]),
    ("8", "{:,} normal numbers, one of them made larger", lambda: [today.NUMBERS]),
    ("8", "By formula, for {:.0f} MiB.", lambda: [today.SUMMED / 2**20]),
    ("8", "over NVLink, it sends {:.0f} gigabytes a second", lambda: [H100.inside_rate / 1e9]),
    ("8", "To other nodes each has a card of {:.0f}.", lambda: [CARD / 1e9]),
    ("8", "those that Meta counted: {} in {} days", failures),
]  # fmt: skip


CASES = pytest.mark.parametrize(
    ("deck", "sentence", "numbers"), TIED, ids=[f"{deck} {text[:40]}" for deck, text, _ in TIED]
)
DECKS = pytest.mark.parametrize("path", decks(), ids=lambda path: path.stem)


def spoken(path):
    """The notes of a deck's slides, each on one line."""
    return [" ".join(notes.split()) for _, notes, _ in slides(path)]


@CASES
def test_a_number_that_is_said_is_its_sources(deck, sentence, numbers):
    [path] = [path for path in decks() if path.stem.startswith(deck)]
    said = sentence.format(*numbers())
    assert any(said in notes for notes in spoken(path)), said


def untied(notes, deck):
    """The sentences of a slide's notes whose numbers have no source, and these numbers."""
    for _, sentence, _ in (case for case in TIED if case[0] == deck):
        gaps = re.sub(r"\\\{[^}]*\}", r"[\\d.,]+", re.escape(sentence))
        notes = re.sub(gaps, " ", notes)
    named = NAMED.sub(" ", CITED.sub("(CITED)", notes))
    return [
        (sentence, NUMBER.findall(sentence))
        for sentence in re.split(r"(?<=[.!?]) ", named)
        if NUMBER.search(sentence) and not sentence.endswith("?") and "(CITED)" not in sentence
    ]


@DECKS
def test_no_number_is_said_without_a_source(path):
    assert [case for notes in spoken(path) for case in untied(notes, path.stem[0])] == []


@pytest.mark.parametrize(
    ("notes", "numbers"),
    [
        ("In unit 5 rank 2 has 37 bytes.", ["37"]),
        ("What do 100 bytes cost? They cost 12.5 µs.", ["12.5"]),
        ("Kernels of 3 x 3, 76 minutes (You et al., 2020).", []),
        ("The same 16 bytes a weight as on the slide before.", []),
    ],
)
def test_loose_numbers_are_found(notes, numbers):
    assert [number for _, found in untied(notes, "4") for number in found] == numbers
