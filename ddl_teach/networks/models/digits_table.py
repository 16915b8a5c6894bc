"""The table of the handwritten digits that scikit-learn carries, as NumPy arrays.

1,797 pictures of 8 x 8 points, each from 0 to 16 (Alpaydin and Kaynak, "Optical recognition of
handwritten digits", UCI machine learning repository, 1998). Only the table is read: importing the
library around it would take every rank seconds.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np


@cache
def digits_table() -> tuple[np.ndarray, np.ndarray]:
    """Pictures (1797, 64) and answers (1797,), for all to read."""
    [library] = find_spec("sklearn").submodule_search_locations
    table = np.loadtxt(Path(library, "datasets", "data", "digits.csv.gz"), delimiter=",")
    table.setflags(write=False)
    answers = table[:, -1].astype(int)
    answers.setflags(write=False)
    return table[:, :-1], answers
