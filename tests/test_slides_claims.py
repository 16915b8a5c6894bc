"""Numbers that a speaker says in words: "nine times as fast", "three quarters".

Each case is a piece of a deck's notes with gaps; the test fills them with the words for what a
figure, a formula or a table gives. A sentence that compares by such words has a case here, or it
is a question, has a citation, says what the room will guess, or counts what its slide shows.
"""

import inspect
import re

import numpy as np
import pytest
import torch

from ddl_class.notebook.true_measurements import true_measurements as measured
from ddl_measure.device_paths import ASSUMED
from ddl_measure.zoo.resnet50 import ResNet50
from ddl_teach.collectives import ring
from ddl_teach.networks.pipelines import one_f_one_b
from ddl_teach.operators.graphs import fully_connected
from ddl_teach.plain import two_level_allreduce
from ddl_teach.planning.presets import ACCELERATORS
from ddl_teach.theory import failures, memory, staging
from ddl_teach.theory.gossip import graphs
from slides.deck import decks
from slides.figures import (
    cluster,
    cluster_drawn,
    communication,
    honesty_drawn,
    many_nodes,
    networks,
    networks_drawn,
    operators,
    operators_drawn,
    start,
    start_drawn,
    today,
    training,
    training_drawn,
)
from tests.test_slides_notes import CITED, TIED, spoken

WORDS = dict(enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve".split()
)) | {16: "sixteen", 24: "twenty-four"}  # fmt: skip
H100 = ACCELERATORS["H100"]
COUNTS = "|".join([*WORDS.values(), "several", "many", "hundred"])
COMPARES = re.compile(
    rf"(?i)\b(?:(?:{COUNTS}) times|percent|twice|(?<!left )(?<!right )half(?! a day)|halves"
    r"|quarters?|a third|tenths?|hundred(?:th)?|thousands?|million|trillion|\w+fold)\b"
)
MOST_BY_FORMULA = 42  # sentences that a formula or a count on their slide gives: only fewer
GUESSED = re.compile(r"\b(?:[Tt]hey will|Many say|Somebody says)\b")


def alone(found: list[str]) -> str:
    """The only one."""
    [text] = found
    return text


def word(number: float, first: bool = False) -> str:
    """The word for a number that is nearly whole."""
    assert number == pytest.approx(round(number), rel=0.02)
    text = WORDS[round(number)]
    return text.capitalize() if first else text


def holds(claim: bool) -> list[str]:
    """No words to fill in: the sentence is right if this holds."""
    assert claim
    return []


def lines_of(function: object) -> int:
    """The lines of code in a function's body."""
    body = inspect.getsource(function).split('"""')[-1].splitlines()
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)


def percent(picture: object, name: str) -> float:
    """What a picture's text says behind a name, in percent."""
    return float(alone(re.findall(rf"{name}[^%;]*?([\d.]+)%", picture.alt)))


def copies() -> int:
    """How often im2col has the same number."""
    numbers = torch.arange(49.0).reshape(1, 1, 7, 7)
    columns = torch.nn.functional.unfold(numbers, 3)
    return int(torch.unique(columns, return_counts=True)[1].max())


def fft_wins(channels: int) -> bool:
    """Whether the FFT is the fastest for any kernel of the map."""
    for size in range(1, 16):
        shape = operators.Convolution(16, channels, 56, 56, 64, size, padding=size // 2)
        ways = ("im2col", "fft")
        times = [operators.seconds(operators.cost(way, shape), operators.ACCELERATOR)
                 for way in ways]  # fmt: skip
        if times[1] < times[0]:
            return True
    return False


def off_the_best(factor: float) -> float:
    """How much longer 16 MiB take, in chunks so many times the best."""
    best = staging.best_chunk(2**24, ASSUMED)
    times = [staging.pipelined(2**24, chunk, ASSUMED) for chunk in (factor * best, best)]
    return times[0] / times[1] - 1


def late_over_even() -> float:
    """A late step by the slowest worker over one without a bound."""
    title = training.straggler().axes[0].get_title("left")
    ms = dict(re.findall(r"(bound 0|no bound) (\d+) ms", title))
    return int(ms["bound 0"]) / int(ms["no bound"])


def held_often(times: int) -> float:
    """The share of experiments whose interval holds the median."""
    return percent(honesty_drawn.repetitions(), rf"\b{times} times")


def with_an_outlier() -> float:
    """The error with an outlier of 4,096, over that without one."""
    [line, *_] = today.one_outlier().axes[0].lines
    sizes, errors = line.get_data()
    return errors[np.argmin(abs(np.asarray(sizes) - 4096))] / errors[0]


def hops() -> list[float]:
    """The busiest cable of a ring that is dealt out, over one in the order of the nodes."""
    orders = (many_nodes.DEALT, many_nodes.IN_ORDER)
    return [max(many_nodes.sent(ring, order)) for order in orders]


def gathered_twice() -> float:
    """Bytes of stage 3 over those of stages 1 and 2."""
    shares = [float(n) for n in re.findall(r"([\d.]+) n", networks_drawn.sharded_traffic().alt)]
    return shares[2] / shares[1]


def shares_of_a_weight() -> tuple[float, float]:
    """Bytes of the optimizer's states for a weight, and all."""
    held = memory.held(0, [1], 1, weight=2, state=12)
    return held.states, held.total


CARD = H100.node_rate / H100.ranks_a_node
SAID = [
    ("1", "from {} graphics cards to tens of thousands of processors",
     lambda: [word(start.trainings()[0].processors),
              *holds(1e4 <= max(each.processors or 0 for each in start.trainings()) < 1e5)]),
    ("1", "NVLink inside a node is {} times as fast as a card to other nodes",
     lambda: [word(H100.inside_rate / CARD)]),
    ("1", "{} in five do not say it",
     lambda: [word(round(5 * (1 - np.divide(*map(int, re.findall(
         r"Of (\d+) papers (\d+)", start_drawn.carriers().alt)[0][::-1])))), True)]),
    ("2", "im2col copies each number up to {} times", lambda: [word(copies())]),
    ("2", "each number is copied up to {} times", lambda: [word(copies())]),
    ("2", "operations, {} of them in a chain",
     lambda: [word(fully_connected.forward(16, 64, 64, bias=False).depth)]),
    ("2", "with {} channels the FFT never wins",
     lambda: [word(3), *holds(not fft_wins(3) and fft_wins(256))]),
    ("2", "work it out from {} digits of two", lambda: [word(np.finfo(np.float16).nmant + 1)]),
    ("2", "about W/D, thirty million", lambda: holds(25e6 < 1e9 / 30 < 35e6)),
    ("3", "It is twice, on this network",
     lambda: holds(1.9 < np.divide(*[communication.LATENCY + n / communication.BANDWIDTH
                                     for n in (10_000, 100)]) < 2.1)),
    ("3", "a chunk of half or twice the best size costs a few percent",
     lambda: holds(0.01 < off_the_best(2) < 0.1 and 0.01 < off_the_best(0.5) < 0.1)),
    ("3", "The program has {} lines", lambda: [word(lines_of(two_level_allreduce.allreduce))]),
    ("4", "a ResNet-50 has over a hundred",
     lambda: holds(len(list(ResNet50().to("meta").parameters())) > 100)),
    ("4", "a backward pass takes twice as long as a forward pass",
     lambda: holds(int(re.search(r"(\d+) s,", networks.one_at_a_time().alt)[1])
                   == 3 * networks.RANKS * networks.MICRO_BATCHES)),
    ("4", "Three quarters, since one of four ranks works",
     lambda: holds(percent(networks.one_at_a_time(), "ranks") == 75)),
    ("4", "It falls below a tenth", lambda: holds(3 / (32 + 3) < 0.1)),
    ("4", "The generator has {} lines", lambda: [word(lines_of(one_f_one_b.order))]),
    ("4", "The optimizer's states are three quarters of it",
     lambda: holds(np.divide(*shares_of_a_weight()) == 0.75)),
    ("4", "forward and backward: half as much again",
     lambda: holds(1.49 < gathered_twice() < 1.51)),
    ("4", "it took several times as long as the dense one",
     lambda: holds(float(re.search(r"90% zeros, anywhere ([\d.]+) times",
                                   operators_drawn.pruned().alt)[1]) > 3)),
    ("5", "the first by a hundredth of a percent",
     lambda: holds(percent(training_drawn.layers_of_lars(), "first layer, descent") == 0.01)),
    ("5", "One worker takes {} times as long", lambda: [word(late_over_even())]),
    ("5", "the one-peer exponential graph needs {}, and then nothing",
     lambda: [word(len(graphs.one_peer_exponential(training.RANKS).rounds))]),
    ("6", "{} trainings stand behind the one that is shown",
     lambda: [word(next(each.searched for each in measured().entries
                        if each.name == "rate searched"), True)]),
    ("6", "in three of four experiments only", lambda: holds(held_often(3) == 75)),
    ("6", "From {} times on it is enough",
     lambda: [word(next(n for n in (3, 4, 5, 6) if held_often(n) >= 95))]),
    ("7", "are a few percent of long vectors",
     lambda: holds(all(1 < float(more) < 10 for more in re.findall(
         r"([\d.]+)% more", cluster_drawn.cards().alt)))),
    ("7", "the same program gets twice as slow", lambda: holds(np.divide(*hops()) == 2)),
    ("7", "A batch that takes one node {} seconds", lambda: [word(cluster.ALONE)]),
    ("7", "a hundred times as many nodes save {} times as often",
     lambda: [word(failures.young(60, 1e8) / failures.young(60, 1e6))]),
    ("8", "Up to a factor of four thousand little happens",
     lambda: holds(with_an_outlier() < 1.15)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("deck", "sentence", "words"), SAID, ids=[f"{deck} {text[:40]}" for deck, text, _ in SAID]
)
def test_a_number_in_words_is_its_sources(deck, sentence, words):
    [path] = [path for path in decks() if path.stem.startswith(deck)]
    said = sentence.format(*words())
    assert any(said in notes for notes in spoken(path)), said


def loose(path):
    """Sentences that compare in words, and have none of the reasons above."""
    deck = path.stem[0]
    tied = [sentence for of, sentence, _ in [*TIED, *SAID] if of == deck]
    gaps = [re.sub(r"\\\{[^}]*\}", r"[\\w.,-]+", re.escape(sentence)) for sentence in tied]
    for notes in spoken(path):
        text = CITED.sub("(CITED)", notes)
        for gap in gaps:
            text = re.sub(gap, "TIED", text)
        for sentence in re.split(r"(?<=[.!?]) ", text):
            asked = sentence.endswith("?") or "(CITED)" in sentence or GUESSED.search(sentence)
            if COMPARES.search(sentence) and not asked:
                yield sentence


def test_no_more_comparisons_in_words_are_without_a_source():
    others = [sentence for path in decks() for sentence in loose(path)]
    assert len(others) <= MOST_BY_FORMULA, others


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ("It is nine times as fast.", True),
        ("Three quarters of it wait.", True),
        ("Run times differ.", False),
        ("The left half falls off.", False),
    ],
)
def test_comparisons_are_found(text, compares):
    assert bool(COMPARES.search(text)) == compares
