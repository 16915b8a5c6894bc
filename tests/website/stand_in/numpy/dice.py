"""Random numbers of the stand-in: Python's own."""

import math
import random

from numpy.more import array


class Generator:
    def __init__(self, seed=None):
        self._dice = random.Random(repr(seed) if seed is not None else None)

    def _many(self, draw, size):
        if size is None:
            return draw()
        shape = (size,) if hasattr(size, "__index__") else tuple(size)
        return array([draw() for _ in range(math.prod(shape))]).reshape(shape)

    def random(self, size=None):
        return self._many(self._dice.random, size)

    def uniform(self, low=0.0, high=1.0, size=None):
        return self._many(lambda: self._dice.uniform(low, high), size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._many(lambda: self._dice.gauss(loc, scale), size)

    def standard_normal(self, size=None):
        return self.normal(size=size)

    def integers(self, low, high=None, size=None, endpoint=False):
        low, high = (0, low) if high is None else (low, high)
        return self._many(lambda: self._dice.randrange(low, high + endpoint), size)

    def choice(self, values, size=None):
        return self._many(lambda: self._dice.choice(values), size)

    def permutation(self, values):
        values = list(range(values) if hasattr(values, "__index__") else values)
        self._dice.shuffle(values)
        return array(values)


default_rng = Generator
