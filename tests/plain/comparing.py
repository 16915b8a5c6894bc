"""How a plain file is compared with its product, and shown to differ when it is changed."""

import importlib
import inspect
from types import ModuleType

import numpy as np
import pytest


def plain(name, change=None):
    """A file of the room by its name, changed or as it is."""
    return changed(importlib.import_module(f"ddl_teach.plain.{name}"), change)


def changed(module, change=None):
    """A file of the room; with a change (old text, new text) as it would be after it."""
    if change is None:
        return module
    old, new = change
    source = inspect.getsource(module)
    assert old in source
    other = ModuleType(f"changed_{module.__name__}")
    exec(source.replace(old, new), other.__dict__)
    return other


def assert_close(plain, product):
    """Equal in float64 to 1e-12 of the largest entry."""
    plain, product = np.asarray(plain), np.asarray(product)
    assert plain.shape == product.shape
    assert plain.dtype == product.dtype == np.float64
    np.testing.assert_allclose(plain, product, rtol=0, atol=1e-12 * np.abs(product).max(initial=0))


def assert_all_close(results):
    """Of every rank, or of one process: (plain, product), or lists of each."""
    for one, other in results:
        for mine, its in zip(one, other, strict=True) if isinstance(one, list) else [(one, other)]:
            assert_close(mine, its)


def assert_differs(results):
    """The comparison fails, because of a number and of nothing else."""
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_all_close(results)


def vector(rank, length=37):
    """Any rank can make the vector of any other."""
    return np.random.default_rng(rank).standard_normal(length)
