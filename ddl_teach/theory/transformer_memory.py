"""What a layer of a transformer keeps for the backward pass, in bytes, and for how many
micro-batches at once.

s words, b texts, width h, a heads, t ranks of tensor parallelism, numbers of 16 bits, dropout:

    no parallelism                 s b h (34 + 5 a s / h)
    tensor                         s b h (10 + 24 / t + 5 a s / (h t))
    tensor, and the text split     s b h / t (34 + 5 a s / h)
    and selective recomputation    34 s b h / t       attention is computed again
    full recomputation             2 s b h            only the layer's input

"norms" computes again what is done number by number: the results of norms, and of the gate or of
what stands between the feed-forward products. Attention in tiles keeps 4 bytes for each word and
head in place of 5 a s / h. Korthikanti et al. 2022. What to look at: of 34, 24 belong to products
that tensor parallelism cuts anyway, and 10 wait for the text to be split.
"""

from ddl_runtime.core.checks import one_of
from ddl_teach.theory import pipelines

RECOMPUTE = ("none", "norms", "selective", "full")


def layer_activations(
    s: float, b: float, h: float, a: float, t: float = 1, *, split_sequence: bool = True,
    scores: bool = False, recompute: str = "none", dropout: bool = False, inner: float = 0.0,
    keys: float = 1.0, attended: float = 0.0, gated: bool = False, itemsize: int = 2,
) -> float:  # fmt: skip
    """The bytes of a layer and micro-batch. `keys` is the share of heads that keys and values
    have, `inner` the width inside of the feed-forward layers (0: 4 h), `attended` that of all
    heads (0: h); `scores` says that attention writes them."""
    one_of(recompute, "way to recompute", RECOMPUTE)
    whole = t if split_sequence else 1
    if recompute == "full":
        return itemsize * s * b * h / whole
    inner, attended = inner or 4 * h, attended or h
    mask = int(dropout)  # a byte for each number that dropout may drop
    anew = recompute == "norms"
    inputs = s * b * h * ((2 if anew else 4) * itemsize + 2 * mask) / whole  # norms' and products'
    wide = (3 if gated else 2) - anew
    split = s * b * itemsize * ((2 + 2 * keys) * attended + wide * inner) / t
    if scores and recompute != "selective":
        return inputs + split + a * s * s * b * (itemsize * (1 + mask) + mask) / t
    return inputs + split + (0 if scores else 4 * a * s * b / t)


def in_flight(schedule: str, ranks: int, micro_batches: int, interleaved: int = 1) -> float:
    """The micro-batches whose activations the first stage holds at once, in all of its layers."""
    one_of(schedule, "schedule", ("1F1B", "interleaved", "zero bubble"))
    if schedule == "interleaved":
        return float(pipelines.interleaved(ranks, micro_batches, 1.0, 2.0, interleaved).peak[0])
    # The zero bubble H1 holds as many as 1F1B.
    return float(pipelines.one_f_one_b(ranks, micro_batches, 1.0, 2.0).peak[0])
