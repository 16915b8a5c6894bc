"""The functions of the stand-in that make arrays, and those on whole arrays."""

import builtins
import math
import operator

from numpy import _Bytes, _contiguous, broadcast_to, dtype, ndarray


def array(values, dtype=None, copy=True):
    kind = dtype and globals()["dtype"](dtype)
    if isinstance(values, ndarray):
        return values.astype(kind or values.dtype)
    if isinstance(values, (list, tuple, range)):
        rows = [array(each) for each in values]
        shape = (len(rows), *(rows[0].shape if rows else ()))
        flat = [value for row in rows for value in row._values()]
    else:
        shape, flat = (), [values]
    if kind is None:
        floats = builtins.any(isinstance(value, float) for value in flat) or not flat
        bools = builtins.all(isinstance(value, builtins.bool) for value in flat)
        kind = globals()["dtype"]("float64" if floats else "bool" if bools else "int64")
    return ndarray([kind.stored(value) for value in flat], kind, shape)


def asarray(values, dtype=None):
    if isinstance(values, _Bytes):
        return values.elements()
    same = isinstance(values, ndarray) and (dtype is None or values.dtype is _dtype(dtype))
    return values if same else array(values, dtype)


def _dtype(kind):
    return dtype(kind)


def full(shape, value, dtype=None):
    kind = dtype or ("float64" if isinstance(value, float) else "int64")
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    kind = _dtype(kind)
    return ndarray([kind.stored(value)] * math.prod(shape), kind, shape)


def zeros(shape, dtype="float64"):
    return full(shape, 0, dtype)


def ones(shape, dtype="float64"):
    return full(shape, 1, dtype)


empty = zeros


def zeros_like(x, dtype=None):
    return zeros(x.shape, dtype or x.dtype)


empty_like = zeros_like


def ones_like(x, dtype=None):
    return ones(x.shape, dtype or x.dtype)


def arange(*bounds, dtype=None):
    if builtins.any(isinstance(each, float) for each in bounds):
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        count = builtins.max(0, math.ceil((stop - start) / step))
        return array([float(start + step * index) for index in range(count)], dtype or "float64")
    return array(list(range(*map(operator.index, bounds))), dtype or "int64")


def fromiter(values, dtype, count=-1):
    return array(list(values), dtype)


def concatenate(parts, axis=0):
    return array([value for part in parts for value in part])


def repeat(x, counts):
    counts = broadcast_to(asarray(counts), asarray(x).shape)._values()
    pairs = zip(asarray(x)._values(), counts, strict=True)
    return array([value for value, count in pairs for _ in range(count)], asarray(x).dtype)


def cumsum(values, dtype=None):
    total, sums = 0, []
    for value in values:
        total += value
        sums.append(total)
    return array(sums, dtype)


def bincount(x, weights=None, minlength=0):
    values = asarray(x)._values()
    counts = [0 if weights is None else 0.0] * builtins.max([minlength, *(v + 1 for v in values)])
    for index, value in enumerate(values):
        counts[value] += 1 if weights is None else weights[index]
    return array(counts)


def flatnonzero(x):
    return array([i for i, value in enumerate(asarray(x)._values()) if value], "int64")


def argsort(x, kind=None):
    values = asarray(x)._values()
    return array(sorted(range(len(values)), key=values.__getitem__), "int64")


def sort(x):
    return array(sorted(asarray(x)._values()))


def median(x):
    values = sorted(asarray(x).ravel()._values())
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def mean(x, axis=None):
    return asarray(x).mean(axis)


def sum(x, axis=None):
    return asarray(x).sum(axis)


def prod(x):
    return math.prod(asarray(x)._values())


def array_equal(x, y, equal_nan=False):
    x, y = asarray(x), asarray(y)
    return x.shape == y.shape and x._values() == y._values()


def split(x, parts):
    ends = [0, *parts, len(x)] if not isinstance(parts, int) else \
        [len(x) // parts * index for index in range(parts + 1)]  # fmt: skip
    return [x[a:b] for a, b in zip(ends, ends[1:], strict=False)]


def may_share_memory(x, y):
    x, y = (each.elements() if isinstance(each, _Bytes) else each for each in (x, y))
    if x._memory is not y._memory or not x.size or not y.size:
        return False
    return x._offset < y._offset + y.size and y._offset < x._offset + x.size


shares_memory = may_share_memory


def ascontiguousarray(x):
    return x if _contiguous(x) else x.copy()


def shape(x):
    return getattr(x, "shape", ())


def ndim(x):
    return len(shape(x))


def seterr(**kinds):
    return {}


def diag(x):
    values = asarray(x)._values()
    return array([[v if i == j else 0 * v for j in range(len(x))] for i, v in enumerate(values)])


def count_nonzero(x):
    return len(flatnonzero(x))


def isscalar(x):
    return isinstance(x, (int, float))
