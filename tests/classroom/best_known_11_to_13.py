"""The best answers that are known to the puzzles of units 11 to 13, and how they were found."""


def memory_plan():
    """Found by simulated annealing: 17 runs of 12,000 changes of a word or two each; four of the
    runs ended here, and none below."""
    activations = ["host", "again", "host", "keep", "host", "host", "host", *["keep"] * 5]
    weights = ["whole", *["shards"] * 10, "whole"]
    states = ["host", "host", "here", "here", "here", "host", "host", "here", *["host"] * 4]
    return list(zip(activations, weights, states, strict=True))
