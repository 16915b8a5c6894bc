"""Gloo beside us: the same sum, run after run, also when the number of ranks changes."""

import numpy as np
import pytest

from ddl_class.notebook import gloo


def twice(comm, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", folder)
        for _ in range(2):
            x = np.arange(5.0) + comm.rank
            gloo.allreduce(comm, x)
    return x


def test_gloo_sums_whatever_ranks_take_part_and_leaves_no_file(real, tmp_path):
    for ranks in (3, 2, 3):
        expected = ranks * np.arange(5.0) + sum(range(ranks))
        results = real(twice, ranks, folder=str(tmp_path)).results
        assert all((x == expected).all() for x in results)
    assert list(tmp_path.iterdir()) == []


def beside_our_backend(comm):
    from ddl_teach import torch_backend

    x = np.ones(1)
    gloo.allreduce(comm, x)
    return torch_backend.NAME, x[0]


@pytest.mark.parametrize("counts", [(2, 4), (4, 2), (1, 3, 5)])
def test_ranks_that_join_later_meet_the_others_beside_our_backend_too(counts, real):
    ends = [real(beside_our_backend, ranks, timeout=60).results for ranks in counts]
    assert ends == [[("ddl_teach", ranks)] * ranks for ranks in counts]
