"""The element types of the stand-in."""

import builtins
import math
import struct

inf, pi, nan = math.inf, math.pi, math.nan
__version__ = "0 (a stand-in of ddl-teach's tests)"
_FORMATS = {
    "bool": ("?", "b", 1), "int8": ("b", "i", 1), "int16": ("h", "i", 2), "int32": ("i", "i", 4),
    "int64": ("q", "i", 8), "uint8": ("B", "u", 1), "uint16": ("H", "u", 2),
    "uint32": ("I", "u", 4), "uint64": ("Q", "u", 8), "float16": ("e", "f", 2),
    "float32": ("f", "f", 4), "float64": ("d", "f", 8),
}  # fmt: skip


class dtype:
    _known = {}

    def __class_getitem__(cls, item):
        return cls

    def __new__(cls, name="float64"):
        name = getattr(name, "dtype_name", name)
        if isinstance(name, dtype):
            return name
        name = {float: "float64", int: "int64", builtins.bool: "bool"}.get(name, name)
        if name not in cls._known:
            self = super().__new__(cls)
            self.name = name
            self.char, self.kind, self.itemsize = _FORMATS.get(name, ("O", "O", 8))
            self.hasobject, self.isbuiltin, self.names = name not in _FORMATS, 1, None
            self.type, self.str = globals().get(name), f"<{self.kind}{self.itemsize}"
            cls._known[name] = self
        return cls._known[name]

    def __repr__(self):
        return f"dtype('{self.name}')"

    def __str__(self):
        return self.name

    def stored(self, value):
        """The value that an element of this type would keep."""
        if self.kind == "f":
            return float(value) if self.itemsize == 8 else _rounded(self.char, float(value))
        if self.kind == "b":
            return builtins.bool(value)
        bits = 8 * self.itemsize
        value = int(value) & ((1 << bits) - 1)
        return value - (1 << bits) if self.kind == "i" and value >> (bits - 1) else value


def _rounded(char, value):
    try:
        return struct.unpack(char, struct.pack(char, value))[0]
    except OverflowError:
        return math.copysign(inf, value)


class _Type(type):
    def __call__(cls, value=0):
        return dtype(cls.dtype_name).stored(value)


for _name in (*_FORMATS, "longdouble", "complex64", "complex128", "clongdouble", "intc",
              "longlong", "ulonglong", "intp"):  # fmt: skip
    globals()[_name] = _Type(_name, (), {"dtype_name": _name})


class bool_:
    dtype_name = "bool"


class generic:
    pass


floating = integer = number = complexfloating = generic
