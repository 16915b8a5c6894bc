"""Beside torch: the same gradients through its communication hooks and through our compressors."""

import numpy as np

from ddl_class.notebook import beside_torch

RANKS, SHAPES = 2, ((10, 64), (10,))


def test_torchs_hooks_and_our_forms_are_equally_far_from_the_mean(real):
    random = np.random.default_rng(0)
    gradients = [random.standard_normal(650).astype(np.float32) for _ in range(RANKS)]
    given = {"gradients": gradients, "shapes": SHAPES, "timeout": 400}
    found, same = real(beside_torch.by_hooks, RANKS, **given).results
    assert found == same
    ours, theirs = found["float16"]
    assert ours == theirs
    assert 0 < ours < 1e-3
    # No matrix of rank 4 is nearer than that of the largest singular values, and after eight
    # guesses both have nearly found it.
    mean = np.mean(gradients, axis=0)
    values = np.linalg.svd(mean[:640].reshape(SHAPES[0]), compute_uv=False)
    best = np.linalg.norm(values[4:]) / np.linalg.norm(mean)
    for apart in found["PowerSGD"]:
        assert 0.999 * best < apart < 1.1 * best
