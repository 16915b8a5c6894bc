"""The puzzle of unit 21: how the house reached the best that it knows."""

# A search by simulated annealing, from layouts at random with 11 chunks on fast ranks and 5 on
# slow ones: it exchanged two chunks or gave one to another rank. All of 68 searches ended between
# 17.1 and 17.2 ms. Ranks that are busy all the time would need 17.07 ms.
CHUNKS = [
    [5, 15, 18, 22, 26, 38, 40, 52, 58, 63], [4, 27, 30, 44, 55, 56, 60, 62],
    [0, 6, 9, 19, 31, 35, 36, 41, 48, 54, 57], [7, 12, 23, 24, 29, 32, 47, 51, 53, 59],
    [1, 14, 21, 39, 45, 46], [3, 16, 28, 34, 37, 49], [2, 10, 11, 13, 20, 50, 61],
    [8, 17, 25, 33, 42, 43],
]  # fmt: skip
BEST = {"21.layout": lambda: CHUNKS}
