"""muP: how weights begin and step as a network becomes wider, so that the best rate stays.

For Adam, and a network that is `width / base` times as wide as one whose rate is known. Weights
begin with standard deviation `start` / sqrt(inputs) and step with `rate` times the known rate.

    layer                                       start                rate
    input: an embedding of `width` columns      sqrt(width / base)   1
    hidden: from `width` to `width`             1                    base / width
    output: from `width` to the answers         sqrt(base / width)   base / width
    vector: a bias or a norm                    1                    1

(An embedding begins with 1/sqrt(width) here, so its factor makes it the same at any width.) Adam's
step is about the rate in each entry. A hidden unit adds up `width` such steps, so its change grows
with the width unless the rate falls with it. Yang et al., "Tensor programs V: tuning large neural
networks via zero-shot hyperparameter transfer", 2022.
What to look at: attention needs 1/d in place of 1/sqrt(d), unless heads keep their size d.
"""

from ddl_teach.theory.inputs import count


def multipliers(kind: str, width: int, base: int) -> tuple[float, float]:
    """The table's (start, rate) of a `kind`: "input", "hidden", "output" or "vector"."""
    wider = count("width", width) / count("base", base)
    table = {"input": (wider**0.5, 1.0), "hidden": (1.0, 1 / wider), "vector": (1.0, 1.0)}
    return {**table, "output": (wider**-0.5, 1 / wider)}[kind]
