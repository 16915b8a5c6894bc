"""The puzzle of unit 26 on serving: what the house calls the best known it can show."""

# Tried: powers of two as tensor ranks in one pool, with chunks from 128 to 1024, and four splits.
BEST = {"26.serve": lambda cards: ([(4, 1), (4, 1)], 64, 10**9)}
