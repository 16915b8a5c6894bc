"""The goals of speed: what each asks, what was measured, what limits it, what was tried and lost.

    python -m benchmarks.goals

Reads the recorded results (`goal_cases`) and writes docs/speed.md. Numbers in the texts are filled
in from the same results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import goal_cases as cases
from benchmarks.claims import full_name
from benchmarks.goal_cases import SPEED, Case, beside, line, spread
from benchmarks.recorded import head
from ddl_runtime.records.whole_file import write_whole

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
COLUMNS = ["", "measured", "95% interval", "goal", "verdict", "limit"]
ABOUT = """\
# How near its goals of speed the course is

Each part had a goal before it was measured: a ratio to a program that is known to be fast, or a
number of seconds. This page says what was reached, and what stands in the way where it was not.
*Met* means that the whole interval reaches the goal, and *missed* that none of it does. Where the
goal lies inside of the interval, it is *open*. What has no interval goes by its number.

The command in each section measures anew, and needs a quiet machine. `python -m benchmarks.goals`
then writes this page from what was recorded. What was lost is said in words: its numbers were not
kept.
"""


@dataclass(frozen=True)
class Goal:
    """What is measured, by which benchmarks, and what stands in its way."""

    title: str
    unit: str
    modules: Sequence[str]
    cases: Callable[[], list[Case]]
    limit: str = ""
    numbers: Callable[[], Sequence[str]] = tuple
    lost: str = ""

    def section(self) -> str:
        """Of the page."""
        commands = ", ".join(f"`python -m {full_name(module)}`" for module in self.modules)
        machine = head(f"{self.modules[0]}.txt")
        parts = [
            f"## {self.title}",
            f"{self.unit} ({commands}; {machine['processor']}, {machine['date']})",
            table([case.cells() for case in self.cases()]),
            self.limit and f"Limit: {self.limit.format(*self.numbers())}",
            self.lost and f"Lost: {self.lost}",
        ]  # fmt: skip
        return "\n\n".join(part for part in parts if part)


def table(cells: list[list[str]]) -> str:
    """Without the columns in which nothing stands."""
    used = [place for place in range(len(COLUMNS)) if any(row[place] for row in cells)]
    rows = [COLUMNS, ["---"] * len(COLUMNS), *cells]
    return "\n".join(f"| {' | '.join(row[place] for place in used)} |" for row in rows)


GOALS = (
    Goal(
        "All-reduce of ordinary vectors", "The best of our algorithms over native MPI's own.",
        ["allreduce"], lambda: cases.allreduces(cases.ORDINARY, cases.ordinary),
        "what Python takes for a call. In the last column stands copying, waiting and adding "
        "alone, without any of our code.",
        lost="a window that leaves the cache of a core, and blocks so short that each waits.",
    ),
    Goal(
        "All-reduce of vectors in shared memory",
        "The better of reducing in place and into one copy that all read, over native MPI's own.",
        ["allreduce"], lambda: cases.allreduces(("in_place", "once"), cases.shared),
        "of the shortest on 4 ranks: they wait for each other on 2 cores.",
    ),
    Goal(
        "Which all-reduce is chosen",
        "The chosen algorithm over the fastest of ours, the same of `auto` with all that choosing "
        "costs, and the seconds that learning takes.",
        ["automatic"], cases.choices,
        "the cores of a virtual machine. One reads what another has written fast in some seconds, "
        "and slowly in others, and near ties between algorithms turn with it.",
        lost="to choose by messages alone: formulas know nothing of Python's calls.",
    ),
    Goal(
        "Many simulated ranks",
        "A ring, in CPython and in PyPy, which compiles what runs often; then many ranks. All by "
        "the processor's time. Of a million one runs, in place of all.",
        ["simulation_speed", "in_pypy", "many_ranks"], cases.many_ranks,
        "the interpreter. {}. The program alone, whose messages do nothing, makes {:.1f} million "
        "messages a second. Greenlets alone, 65,536 that wait as often, take {:.1f} s and "
        "{:.2f} GB.",
        lambda: [
            cases.sentence(SPEED, "instructions a message"),
            spread(SPEED, "the program alone").median,
            *(spread(SPEED, "bare greenlets", place).median for place in (0, 1)),
        ],
        "to free a simulation before Python looks for memory that nothing uses any more. And the "
        "files compiled by mypyc: as they stand they are slower. With types added for it a ring "
        "is not twice as fast, and many ranks are not faster. In PyPy they are not, either, and "
        "the first programs on shared links are slower.",
    ),
    Goal(
        "Watching",
        "A program whose ranks are strict, whose memory is counted or whose timeline is kept, "
        "over the same without.",
        ["simulation_speed"], cases.watching,
        "a strict send ends when it is asked for, so ranks wait. {}. {}.",
        lambda: [cases.sentence(SPEED, "waits a message"), cases.sentence(SPEED, "alone")],
        "strict ranks on the longer way that shared links take.",
    ),
    Goal(
        "Simulated messages beside SimGrid",
        "Our processor time for a message over SimGrid's. Links are shared on the fat tree alone.",
        ["simgrid"], cases.simulated_links,
        "the interpreter. A message of a ring takes {:.2f} us without shared links. (This only "
        "sends; that of the library, above, adds up as well.) With them it takes {:.2f} us, and "
        "SimGrid's {:.2f} us.",
        cases.links,
        "flows that are put on their links only when they meet others, and flows without "
        "`dataclass`. Both gain less than they cost in lines.",
    ),
    Goal(
        "Data parallelism", "The best of our ways over the better of torch's DDP.",
        ["data_parallel"],
        lambda: beside("data_parallel.txt", cases.LADDER, cases.DDP, 0.45, limit="layers alone"),
        "in the last column the layers' products and convolutions, without losses, updates or "
        "messages. Buckets that overlap lose to one bucket while the cores compute, as messages "
        "need these cores. On ranks that sleep, as if an accelerator computed, they win: {}.",
        lambda: [line("data_parallel.txt", "overlapped buckets are faster")],
        "threads in the background that sleep at once. And oneDNN's products: they shorten a step "
        "of 64 samples a little, and one of 16 not at all.",
    ),
    Goal(
        "Pipelines", "The faster of our two ways over torch's same schedule, or ShallowSpeed's.",
        ["pipelines"], cases.pipelines,
        "in the last column the passes by hand, without any message.",
        lost="on more ranks than cores, to let others go first at once, to sleep briefly, and to "
        "look less often.",
    ),
    Goal(
        "A GPT in shards, or with split layers", "Our step over torch's.", ["gpt_beside_torch"],
        lambda: [
            *beside("gpt_beside_torch.txt", ["wrap, stage 3"], ["torch's fully_shard"], 0.8),
            *beside("gpt_beside_torch.txt", ["split_gpt"], ["torch's DTensor"], 0.8),
        ],
    ),
    Goal(
        "Attention over ranks", "The best of our ways over the better of torch's.",
        ["gpt_beside_torch"],
        lambda: beside(
            "gpt_beside_torch.txt", ["ring_attention", "gathering_attention", "ulysses"],
            cases.CONTEXT, 0.8, limit="the kernel alone",
        ),
        "in the last column the kernel, without any message. All call the same one, but our ring: "
        "it computes with plain products.",
        lost="whole blocks of a ring at once, which leave the cache.",
    ),
    Goal(
        "Convolutions",
        "Of all layers of AlexNet, VGG-16 and ResNet-50: how much longer the chosen method takes "
        "than the best of ours, and than torch's. And the Fourier transform, where it counts "
        "fewer operations.",
        ["convolutions"], cases.convolutions,
        "the products of each frequency are thin, of few images. All that it counts runs at "
        "{:.2f} to {:.2f} of the rate of im2col's products.",
        cases.thin_products,
        "shifted products without a copy, the phases of a stride, `F.unfold`, and larger "
        "blocks of Winograd. For the Fourier transform oneDNN's products and larger blocks.",
    ),
    Goal(
        "Recurrences",
        "The better of two ways over torch's LSTM: the inputs of all steps in one product, or one "
        "product a step. Its matrix is laid out once.",
        ["recurrence"], cases.recurrences,
        "in the last column the products alone. Torch calls oneDNN once for all steps, ours once "
        "a step.",
        lost="a call for each gate, and the sigmoid or an addition within oneDNN's call.",
    ),
    Goal(
        "Parameter server", "Updates a second over those of a memory copy.", ["servers"],
        cases.servers,
        "a push by messages is a message, and then a step. {}. In shared memory a worker checks "
        "and writes an update while the server adds the one before: on each more bytes than a "
        "copy. What is added into a window needs neither. {}. A virtual machine runs on other "
        "cores in the next minute. In a run where this took {:.0f} us, such a push reached {:.2f} "
        "of a copy.",
        lambda: [
            cases.sentence("servers.txt", begins, after="1,000,000 parameters")
            for begins in ("message and step", "a block is written")
        ] + cases.on_far_cores(),
        lost="two short blocks, which stay in the server's own cache and are slow to write there. "
        "To look for NaN in parts that stay in the worker's. A C library that is told to write "
        "past the cache.",
    ),
    Goal(
        "Engines and a first picture", "Seconds by the clock, from the kernel's start.",
        ["first_picture"], cases.waiting,
        "4 engines import what they need on 2 cores, which takes {:.2f} s alone.",
        lambda: [spread("first_picture.txt", "4 times engines' imports").median],
    ),
    Goal(
        "Grading", "Seconds by the clock.", ["grading"], cases.grading,
        "starts and verbs. {}. A start takes {:,.0f} us of processors, a verb {:,.0f}, and a "
        "message alone {:,.0f}.",
        cases.births,
        "jobs that are bound to one core each, to look before one receives, and threads of one "
        "process, which wait for each other.",
    ),
)  # fmt: skip


def page() -> str:
    """The whole page."""
    verdicts = Counter(case.verdict for goal in GOALS for case in goal.cases())
    counted = "Of {} cases {} are met, {} open and {} missed.".format(
        verdicts.total(), *(verdicts[each] for each in ("met", "open", "missed"))
    )
    return "\n\n".join([ABOUT.strip(), counted, *(goal.section() for goal in GOALS)]) + "\n"


if __name__ == "__main__":
    write_whole(PAGE, page())
