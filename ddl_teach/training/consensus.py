"""Consensus, measured: every rank begins with random numbers, and then they only mix.

With noise each rank adds random numbers of its own after every mix, as gradients do in training:
then ranks never agree, and come to rest at a distance that the eigenvalues of the mixing matrix
decide (`theory.gossip.contraction`). Xiao, Boyd and Kim, "Distributed average consensus with
least-mean-square deviation", 2007. What to look at: without noise a straight line on a logarithmic
axis, whose slope is the second eigenvalue; with noise, a floor.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ddl_teach.comm import Comm

Mix = Callable[[Comm, np.ndarray, np.ndarray], None]


def agree(
    comm: Comm,
    mix: Mix,
    matrices: Sequence[np.ndarray],
    steps: int = 40,
    noise: float = 0.0,
    size: int = 20,
) -> list[np.ndarray]:
    """This rank's vector at the start and after each step. `mix(comm, x, matrix)` is one step of
    gossip, in place. `matrices`, as a graph's `mixing_matrices`, are used in turn. `noise` is the
    length of the random vector that a rank adds in a step."""
    random = np.random.default_rng(comm.rank)
    x = random.standard_normal(size)
    seen = [x.copy()]
    for step in range(steps):
        mix(comm, x, matrices[step % len(matrices)])
        x += noise / size**0.5 * random.standard_normal(size)
        seen.append(x.copy())
    return seen
