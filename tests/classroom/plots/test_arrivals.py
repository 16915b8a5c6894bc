"""The picture of who came first: every turn, every rank, and the count in its title."""

import numpy as np

from ddl_class.plots.messages import plot_arrivals


def test_each_column_has_the_ranks_from_first_to_last():
    generator = np.random.default_rng(5)
    times = generator.random((4, 50))
    [mesh] = plot_arrivals(times).axes[0].collections
    drawn = np.asarray(mesh.get_array()).reshape(4, 50)
    assert (np.take_along_axis(times, drawn, axis=0) == np.sort(times, axis=0)).all()
