"""The puzzle of unit 23 on networks: what the house calls the best known it can show."""

# Changes of the natural order, at first also some that are slower: two places swapped, two pairs
# of tensor ranks, or two leaves. A step was judged by its fullest links, and in the end simulated.
ORDER = [
    8, 10, 6, 0, 21, 9, 20, 22, 27, 26, 3, 2, 19, 16, 13, 15,
    25, 30, 1, 24, 18, 17, 14, 12, 11, 29, 7, 5, 23, 28, 4, 31,
]  # fmt: skip
BEST = {"23.network": lambda data, experts, tensor: ORDER}
