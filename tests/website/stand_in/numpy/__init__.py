"""Stands in for NumPy where no registry has one for Pyodide: small arrays, in plain Python.

It knows what the simulator and its tests use of NumPy, and no more. In a browser the real NumPy
comes from Pyodide's own distribution.
"""

import builtins
import math
import operator
import struct
import sys
import types

from numpy.kinds import *
from numpy.kinds import __version__  # noqa: F401


class ndarray:
    """A view of a list: where it begins, and for each axis how many and how far apart."""

    __array_priority__ = 0

    def __class_getitem__(cls, item):
        return cls

    def __init__(self, memory, kind, shape, strides=None, offset=0):
        self._memory, self.dtype, self.shape, self._offset = memory, kind, tuple(shape), offset
        if strides is None:
            strides, step = [], 1
            for count in reversed(self.shape):
                strides.insert(0, step)
                step *= count
        self._strides = tuple(strides)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    strides = property(lambda self: tuple(s * self.itemsize for s in self._strides))
    T = property(lambda self: ndarray(self._memory, self.dtype, self.shape[::-1],
                                      self._strides[::-1], self._offset))  # fmt: skip
    base = None

    @property
    def flags(self):
        there = _contiguous(self)
        return types.SimpleNamespace(
            c_contiguous=there, contiguous=there, writeable=True, forc=there, f_contiguous=there
        )

    def _places(self):
        places = [self._offset]
        for count, step in zip(self.shape, self._strides, strict=True):
            places = [place + step * index for place in places for index in range(count)]
        return places

    def _values(self):
        if _contiguous(self):
            return self._memory[self._offset : self._offset + self.size]
        return [self._memory[place] for place in self._places()]

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def _part(self, key):
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in [each for each in keys if not isinstance(each, (ndarray, list))]:
            place = keys.index(Ellipsis)
            keys[place : place + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        offset, shape, strides, axis = self._offset, [], [], 0
        for each in keys:
            if each is None:
                shape.append(1)
                strides.append(0)
                continue
            count, step = self.shape[axis], self._strides[axis]
            axis += 1
            if isinstance(each, slice):
                start, stop, stride = each.indices(count)
                offset += start * step
                shape.append(len(range(start, stop, stride)))
                strides.append(step * stride)
            else:
                index = operator.index(each)
                if not -count <= index < count:
                    raise IndexError(f"index {index} is out of bounds for size {count}")
                offset += step * (index % count)
        shape += self.shape[axis:]
        strides += self._strides[axis:]
        return ndarray(self._memory, self.dtype, shape, strides, offset)

    def _fancy(self, key):
        """Rows that a list or an array names, or None."""
        if isinstance(key, (list, ndarray)):
            chosen = asarray(key)
            if chosen.dtype.kind == "b":
                return [index for index, wanted in enumerate(chosen._values()) if wanted]
            return chosen._values()
        return None

    def __getitem__(self, key):
        rows = self._fancy(key)
        if rows is not None:
            return array([self[index] for index in rows], self.dtype)
        part = self._part(key)
        scalar = not part.shape and key is not Ellipsis and Ellipsis not in (
            key if isinstance(key, tuple) else ())  # fmt: skip
        return self._memory[part._offset] if scalar else part

    def __setitem__(self, key, value):
        rows = self._fancy(key)
        if rows is not None:
            values = broadcast_to(asarray(value), (len(rows),))._values()
            for index, each in zip(rows, values, strict=True):
                self[index] = each
            return
        _write(self._part(key), value)

    def item(self):
        (value,) = self._values()
        return value

    __float__ = lambda self: float(self.item())  # noqa: E731
    __int__ = lambda self: int(self.item())  # noqa: E731
    __index__ = lambda self: operator.index(self.item())  # noqa: E731
    __bool__ = lambda self: builtins.bool(self.item())  # noqa: E731

    def __repr__(self):
        return f"array({self.tolist()})"

    __hash__ = None

    def tolist(self):
        return [each.tolist() if isinstance(each, ndarray) else each for each in self] \
            if self.shape else self.item()  # fmt: skip

    def copy(self, order="C"):
        return ndarray(self._values(), self.dtype, self.shape)

    __copy__ = copy
    __deepcopy__ = lambda self, memo: self.copy()  # noqa: E731

    def astype(self, kind, copy=True):
        kind = dtype(kind)
        return ndarray([kind.stored(v) for v in self._values()], kind, self.shape)

    def tobytes(self):
        return struct.pack(f"<{self.size}{self.dtype.char}", *self._values())

    def fill(self, value):
        _write(self, value)

    def reshape(self, *shape):
        shape = list(shape[0] if isinstance(shape[0], (tuple, list)) else shape)
        if -1 in shape:
            shape[shape.index(-1)] = self.size // -math.prod(shape)
        whole = self if _contiguous(self) else self.copy()
        return ndarray(whole._memory, self.dtype, shape, offset=whole._offset)

    def ravel(self):
        return self.reshape(-1)

    flatten = lambda self: self.copy().reshape(-1)  # noqa: E731

    def view(self, kind):
        return _Bytes(self) if dtype(kind) is dtype("uint8") is not self.dtype else self

    def _reduced(self, fold, axis=None):
        if axis is None:
            return fold(self._values())
        axis %= self.ndim
        rows = [self._part((slice(None),) * axis + (i,)) for i in range(self.shape[axis])]
        columns = zip(*(row._values() for row in rows), strict=True)
        return array([fold(list(column)) for column in columns]).reshape(
            self.shape[:axis] + self.shape[axis + 1 :]
        )

    def sum(self, axis=None):
        return self._reduced(sum_of, axis)

    def mean(self, axis=None):
        return self._reduced(lambda values: sum_of(values) / len(values), axis)

    def max(self, axis=None):
        return self._reduced(builtins.max, axis)

    def min(self, axis=None):
        return self._reduced(builtins.min, axis)

    def any(self, axis=None):
        return self._reduced(builtins.any, axis)

    def all(self, axis=None):
        return self._reduced(builtins.all, axis)

    def std(self, axis=None):
        def fold(values):
            middle = sum_of(values) / len(values)
            return math.sqrt(sum_of([(v - middle) ** 2 for v in values]) / len(values))

        return self._reduced(fold, axis)


def sum_of(values):
    total = 0
    for value in values:
        total += value
    return total


class _Bytes:
    """An array seen as its bytes; parts of whole elements can be copied."""

    def __init__(self, full, start=0, stop=None):
        self.full, self.start = full, start
        self.stop = full.nbytes if stop is None else stop
        self.dtype, self.ndim = dtype("uint8"), 1

    nbytes = size = property(lambda self: self.stop - self.start)
    shape = property(lambda self: (self.nbytes,))
    flags = property(lambda self: self.full.flags)

    def __len__(self):
        return self.nbytes

    def __getitem__(self, key):
        start, stop, _ = key.indices(self.nbytes)
        return _Bytes(self.full, self.start + start, self.start + max(stop, start))

    def __setitem__(self, key, value):
        copyto(self[key], value)

    def elements(self):
        size = self.full.itemsize
        return self.full.reshape(-1)[self.start // size : self.stop // size]

    def copy(self):
        return _Bytes(self.elements().copy())

    def reshape(self, *shape):
        return self

    def view(self, kind):
        return self.elements()

    def tobytes(self):
        return self.elements().tobytes()


def _contiguous(x):
    step = 1
    for count, stride in zip(reversed(x.shape), reversed(x._strides), strict=True):
        if count > 1 and stride != step:
            return x.size == 0
        step *= count
    return True


def _write(target, source):
    store = target.dtype.stored
    if isinstance(source, ndarray) or not isinstance(source, (int, float)):
        source = broadcast_to(asarray(source), target.shape)
        same = source.dtype is target.dtype
        values = source._values() if same else [store(value) for value in source._values()]
    else:
        values = [store(source)] * target.size
    if _contiguous(target):
        target._memory[target._offset : target._offset + target.size] = values
    else:
        for place, value in zip(target._places(), values, strict=True):
            target._memory[place] = value


def copyto(target, source, casting="same_kind"):
    if isinstance(target, _Bytes):
        _write(target.elements(), source.elements() if isinstance(source, _Bytes) else source)
    else:
        _write(target, source.view(None) if isinstance(source, _Bytes) else source)


def broadcast_to(x, shape):
    x, shape = asarray(x), tuple(shape)
    missing = len(shape) - x.ndim
    strides = [0] * missing
    for have, want, stride in zip(x.shape, shape[missing:], x._strides, strict=True):
        if have not in (want, 1):
            raise ValueError(f"could not broadcast {x.shape} into {shape}")
        strides.append(stride if have == want else 0)
    return ndarray(x._memory, x.dtype, shape, strides, x._offset)


def _common(shapes):
    longest = builtins.max(map(len, shapes))
    padded = [(1,) * (longest - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(
        next((count for count in axis if count != 1), 1) for axis in zip(*padded, strict=True)
    )


def _promoted(*operands):
    kinds = [each.dtype for each in operands if isinstance(each, ndarray)]
    plain = [each for each in operands if not isinstance(each, ndarray)]
    best = builtins.max(kinds, key=lambda kind: ("buif".index(kind.kind), kind.itemsize))
    if best.kind != "f" and builtins.any(isinstance(each, float) for each in plain):
        return dtype("float64")
    return best


class ufunc:
    def __init__(self, function, kind=None):
        self.function, self.kind = function, kind
        self.__name__ = getattr(function, "__name__", "ufunc")

    def __call__(self, *operands, out=None):
        operands = [asarray(each) if isinstance(each, list) else each for each in operands]
        if not builtins.any(isinstance(each, ndarray) for each in operands):
            return self.function(*operands)
        shape = _common([getattr(each, "shape", ()) for each in operands])
        kind = dtype(self.kind) if self.kind else _promoted(*operands)
        rows = [
            broadcast_to(each, shape)._values() if isinstance(each, ndarray)
            else [each] * math.prod(shape) for each in operands
        ]  # fmt: skip
        values = [self.function(*row) for row in zip(*rows, strict=True)]
        if out is None:
            return ndarray([kind.stored(value) for value in values], kind, shape)
        _write(out, ndarray(values, kind, shape))
        return out

    def reduce(self, x, axis=None):
        return asarray(x).sum(axis)


def _apart(x, y):
    return x / y if y else (nan if x == 0 else math.copysign(inf, x))


add, subtract, multiply = map(ufunc, (operator.add, operator.sub, operator.mul))
true_divide = divide = ufunc(_apart, "float64")
maximum, minimum = ufunc(lambda a, b: b if b > a else a), ufunc(lambda a, b: b if b < a else a)
abs = absolute = ufunc(builtins.abs)
sign = ufunc(lambda x: (x > 0) - (x < 0))
sqrt, log, exp = (ufunc(each, "float64") for each in (math.sqrt, math.log, math.exp))
isfinite = ufunc(math.isfinite, "bool")
_VERBS = {
    "add": add, "sub": subtract, "mul": multiply, "truediv": divide,
    "floordiv": ufunc(operator.floordiv), "mod": ufunc(operator.mod), "pow": ufunc(operator.pow),
    "and": ufunc(operator.and_), "or": ufunc(operator.or_), "xor": ufunc(operator.xor),
    "eq": ufunc(operator.eq, "bool"), "ne": ufunc(operator.ne, "bool"),
    "lt": ufunc(operator.lt, "bool"), "le": ufunc(operator.le, "bool"),
    "gt": ufunc(operator.gt, "bool"), "ge": ufunc(operator.ge, "bool"),
}  # fmt: skip


def _give_verbs():
    for name, verb in _VERBS.items():
        setattr(ndarray, f"__{name}__", lambda self, other, verb=verb: verb(self, other))
        setattr(ndarray, f"__r{name}__", lambda self, other, verb=verb: verb(other, self))
        setattr(
            ndarray, f"__i{name}__", lambda self, other, verb=verb: verb(self, other, out=self)
        )
    ndarray.__neg__ = lambda self: 0 - self
    ndarray.__invert__ = lambda self: ufunc(operator.not_, "bool")(self)


_give_verbs()


from numpy.more import *  # noqa: E402  (it takes what stands above)


def _room(name, **names):
    there = types.ModuleType(f"numpy.{name}")
    vars(there).update(names)
    sys.modules[there.__name__] = there
    return there


class _Mixin:
    pass


linalg = _room("linalg")
from numpy.dice import Generator, default_rng  # noqa: E402

random = _room("random", Generator=Generator, default_rng=default_rng)
lib = _room("lib", mixins=_room("lib.mixins", NDArrayOperatorsMixin=_Mixin))
typing = _room("typing", NDArray=ndarray, ArrayLike=object, DTypeLike=object)
