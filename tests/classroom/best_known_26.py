"""The puzzle of unit 26 on serving: what the house calls the best known it can show."""

# All powers of two as tensor ranks, all splits of eight cards, and chunks from 128 to 1024.
BEST = {"26.serve": lambda cards: ([(4, 1), (4, 1)], 64, 10**9)}
