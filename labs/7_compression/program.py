"""Fewer bytes, or the bytes as they are? Five forms of one gradient, on the links that there are.

    mpiexec -n 4 python labs/7_compression/program.py                                # here
    ddl-teach box exec head mpiexec -n 4 python labs/7_compression/program.py        # in a box
    cluster_setup/slurm/submit --nodes=4 labs/7_compression/job.sbatch

First the cables and the packing are measured, each by itself. From these two follows the bandwidth
below which a form wins. Then the forms take turns, and it is seen whether they do.
"""

from __future__ import annotations

import math

from ddl_class.commands.mistake import Mistake
from ddl_class.labs.hand_in import Lab, Question, main
from ddl_measure.cables import cables
from ddl_measure.experiments.compression import in_turns, packing
from ddl_measure.interval import interval
from ddl_teach.comm import Comm
from ddl_teach.training.compression.averaging import way_of
from ddl_teach.training.compression.compressor import Compressor
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.compression.one_bit import OneBit
from ddl_teach.training.compression.qsgd import QSGD
from ddl_teach.training.compression.terngrad import TernGrad
from ddl_teach.training.compression.top_k import TopK

PACKED: dict[str, Compressor] = {
    "1 bit": OneBit(),  # a sign for each number, and two means for each bucket
    "QSGD": QSGD(levels=7),  # four bits for each number, drawn
    "TernGrad": TernGrad(),  # -1, 0 or 1, drawn
    "top 1%": TopK(0.01),  # the largest numbers, and where they stand
}


def compression(comm: Comm, *, numbers: int, turns: int, bandwidth: float = 0.0) -> dict | None:
    """Averages of so many float32 numbers. Where one cannot have slow links, a `bandwidth` above 0
    (bytes a second) slows them by injected delay."""
    if comm.size < 2 or numbers < 1000 or turns < 1 or bandwidth < 0:
        raise Mistake("two ranks, 1000 numbers and one turn at least; no bandwidth below 0")
    carry, rate = cables(comm), bandwidth or math.inf
    per_byte = carry.slowest + 1 / rate
    packed = packing(comm, PACKED, numbers, turns)
    took = in_turns(comm, {"dense": Dense(), **PACKED}, numbers, turns, rate)
    if comm.rank:
        return None
    forms = {
        name: {
            "message": form.nbytes(numbers), "way": way_of(form, numbers),
            "pack": packed[name][0], "unpack": packed[name][1], "seconds": took[name].tolist(),
        }
        for name, form in PACKED.items()
    }  # fmt: skip
    dense = interval(took["dense"])[0]
    print(f"{8e-6 / per_byte:.1f} Mbit/s of payload, latency {carry.latency * 1e6:.0f} us")
    print(f"{'':<10}{'bytes':>12}{'pack':>10}{'unpack':>10}{'average':>12}{'dense / it':>12}")
    print(f"{'dense':<10}{4 * numbers:>12,}{'':>20}{dense * 1e3:>9.2f} ms")
    for name, one in forms.items():
        middle = interval(one["seconds"])[0]
        print(
            f"{name:<10}{one['message']:>12,}{one['pack'] * 1e3:>7.2f} ms"
            f"{one['unpack'] * 1e3:>7.2f} ms{middle * 1e3:>9.2f} ms{dense / middle:>12.2f}"
        )
    return {
        "per byte": per_byte, "latency": carry.latency, "injected": bandwidth > 0,
        "dense": took["dense"].tolist(), "forms": forms,
    }  # fmt: skip


LAB = Lab(
    "7_compression",
    compression,
    full={"numbers": 250_000, "turns": 9, "bandwidth": 0},
    short={"numbers": 5_000, "turns": 3, "bandwidth": 0},
    predictions=(
        Question("fastest", "Which form will be the fastest at this bandwidth? (a name)", str),
        Question("top_1_wins_by", "By top 1% an average takes so many times less than dense."),
        Question("one_bit_pays_below", "1 bit wins below ... Mbit/s."),
    ),
    answers=(
        Question("link", "Payload that the slowest link of this run carries, in Mbit/s."),
        Question(
            "one_bit_pays_below", "The same from this run's packing, by the formula: Mbit/s."
        ),
        Question("qsgd_pays_below", "The same for QSGD, in Mbit/s."),
        Question("top_1_pays_below", "The same for top 1%, in Mbit/s."),
        Question("should_win", "How many of the four forms should win on this link?"),
        Question("did_win", "How many of them did?"),
        Question("fastest", "Which was the fastest, dense among them? (a name)", str),
        Question(
            "ranks_for_nothing",
            "From how many ranks on does top 1%, gathered, send at least as many bytes as dense?",
        ),
    ),
)

if __name__ == "__main__":
    main(LAB)
