"""The best answers that are known to the puzzles of units 11 to 13, and how they were found."""


def memory_plan():
    """Found by simulated annealing: 17 runs of 12,000 changes of a word or two each; four of the
    runs ended here, and none below."""
    activations = ["host", "again", "host", "keep", "host", "host", "host", *["keep"] * 5]
    weights = ["whole", *["shards"] * 10, "whole"]
    states = ["host", "host", "here", "here", "here", "host", "host", "here", *["host"] * 4]
    return list(zip(activations, weights, states, strict=True))


def plan_of_a_grid(ranks, batch):
    """Of 237 grids with a number of micro-batches 32 fit. By the formula this one is the fastest
    of them; the next 13 were simulated too."""
    return (1, 8, 2, 2), batch
