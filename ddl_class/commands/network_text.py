"""A network in one word of the command line: `two-level:ranks_per_node=8,between.latency=2us`.

What can be said is read off the networks themselves: the fields of each are its settings, and a
field that is a network of its own is reached with a dot. Quantities are written as people do:
`1us`, `25 GB/s`, `100Gbit/s`.
"""

import re
import textwrap
from dataclasses import MISSING, fields, is_dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, get_args, get_origin, get_type_hints

from ddl_class.commands.mistake import Mistake
from ddl_runtime.topologies.dragonfly import Dragonfly
from ddl_runtime.topologies.fat_tree import FatTree
from ddl_runtime.topologies.hamming_mesh import HammingMesh
from ddl_runtime.topologies.point_to_point import TwoLevel, Uniform
from ddl_runtime.topologies.rails import Rails
from ddl_runtime.topologies.shared_links import SharedBus, Star
from ddl_runtime.topologies.torus import Torus

NETWORKS = {
    "uniform": Uniform,
    "two-level": TwoLevel,
    "star": Star,
    "shared-bus": SharedBus,
    "fat-tree": FatTree,
    "torus": Torus,
    "dragonfly": Dragonfly,
    "rails": Rails,
    "hamming-mesh": HammingMesh,
}

# How a setting of each type is written, in words and in code.
FORMS = {
    int: ("a whole number", int),
    str: ("a word", str),
    bool: ("true or false", lambda text: {"true": True, "false": False}[text.lower()]),
    tuple: ("whole numbers like 4x4x4", lambda text: tuple(map(int, text.split("x")))),
}

# Decimal, so that 100ns is the very number that 1e-7 is.
POWERS = {"s": 0, "ms": -3, "us": -6, "µs": -6, "ns": -9}
TIMES = {unit: Decimal(10) ** power for unit, power in POWERS.items()}
# Networks count in powers of ten, and eight bits to the byte.
BANDWIDTHS = {
    f"{prefix}{unit}/s": Decimal(10) ** n / bits
    for prefix, n in {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}.items()
    for unit, bits in {"B": 1, "bit": 8}.items()
}


def read_network(text: str) -> Any:
    """Return the network that ``text`` describes.

    >>> read_network("uniform:latency=2us,bandwidth=1GB/s")
    Uniform(latency=2e-06, bandwidth=1000000000.0, overhead=0.0, gap=0.0, host_link=None)
    """
    name, _, settings = text.partition(":")
    if name not in NETWORKS:
        there_are = f"Those that exist, with settings:\n{listing()}"
        raise Mistake(f"There is no network '{name}'. {there_are}")
    pairs = {}
    for setting in filter(None, settings.split(",")):
        field, equals, value = setting.partition("=")
        if not equals:
            what = f"A network's settings are field=value, not '{setting}'."
            raise Mistake(f"{what}\n{_entry(name)}")
        pairs[field.strip()] = value
    try:
        values = _values(name, NETWORKS[name], pairs)
        required = [field.name for field in fields(NETWORKS[name]) if field.default is MISSING]
        missing = [key for key in required if key not in values]
        if missing:
            raise Mistake(f"{name} needs {', '.join(missing)}:\n{_entry(name)}")
        return NETWORKS[name](**values)
    except ValueError as error:
        raise Mistake(f"{text}: {error}") from error


def listing() -> str:
    """Every network with its settings and their defaults; ? marks those that must be given."""
    return "\n".join(map(_entry, NETWORKS))


def _values(name: str, network: type, pairs: dict[str, str]) -> dict[str, Any]:
    """The keyword arguments that ``pairs`` of setting and text mean for the class ``network``."""
    types = get_type_hints(network)
    defaults = {field.name: field.default for field in fields(network)}
    values: dict[str, Any] = {}
    for key, text in pairs.items():
        outer, dot, inner = key.partition(".")
        part = _part(types.get(outer))
        if outer not in defaults or bool(dot) != (part is not None):
            raise Mistake(f"{name} has no setting '{key}':\n{_entry(name)}")
        if dot:
            base = values.get(outer, defaults[outer]) or part()
            values[outer] = replace(base, **_values(name, part, {inner: text}))
        else:
            values[outer] = _value(key, text, types[outer])
    return values


def _part(wanted: Any) -> type | None:
    """The class of a field, also of one that may be None, if it has settings of its own."""
    return next((each for each in (wanted, *get_args(wanted)) if is_dataclass(each)), None)


def _value(key: str, text: str, wanted: Any) -> Any:
    if wanted is float or float in get_args(wanted):
        return read_quantity(key, text)
    form, read = FORMS[get_origin(wanted) or wanted]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise Mistake(f"{key}={text} is not understood: write {form}") from None


def _entry(name: str) -> str:
    """A network and its settings with their defaults, those that must be given first."""
    network = NETWORKS[name]
    settings, types = [f"{name}:"], get_type_hints(network)
    for field in sorted(fields(network), key=lambda field: field.default is not MISSING):
        part = _part(types[field.name])
        if part is None:
            settings.append(f"{field.name}={_text(field.name, field.default)}")
            continue
        for inner in fields(part):
            if _part(get_type_hints(part)[inner.name]) is None:
                value = getattr(field.default, inner.name, None)
                settings.append(f"{field.name}.{inner.name}={_text(inner.name, value)}")
    text = " ".join(settings)
    return textwrap.fill(text, 96, initial_indent="  ", subsequent_indent=" " * 6)


def _text(name: str, value: Any) -> str:
    if isinstance(value, float):
        return write_quantity(name, value)
    return {MISSING: "?", None: "none"}.get(value, str(value))


def read_quantity(name: str, text: str) -> float:
    """Return ``text`` in seconds, or in bytes a second where ``name`` speaks of a bandwidth.

    >>> read_quantity("latency", "2us"), read_quantity("bandwidth", "100Gbit/s")
    (2e-06, 12500000000.0)
    """
    units = BANDWIDTHS if "bandwidth" in name else TIMES
    match = re.fullmatch(r"([-+.\d]+(?:[eE][-+]?\d+)?)\s*([^\d\s]*)", text.strip())
    try:
        return float(Decimal(match[1]) * (units[match[2]] if match[2] else 1))
    except (TypeError, InvalidOperation, KeyError):
        raise Mistake(
            f"{name}={text} is not understood: write a number and one of {', '.join(units)}"
        ) from None


def write_quantity(name: str, amount: float) -> str:
    """Return ``amount`` in the unit that makes it easiest to read.

    >>> write_quantity("latency", 2e-6), write_quantity("bandwidth", 12.5e9)
    ('2us', '12.5GB/s')
    """
    if amount == 0:
        return "0"
    units = BANDWIDTHS if "bandwidth" in name else TIMES
    usual = [unit for unit in units if not re.match("µ|k|.*bit", unit)]
    sizes = [(float(units[unit]), unit) for unit in usual]
    size, unit = max((pair for pair in sizes if pair[0] <= amount), default=min(sizes))
    return f"{amount / size:.6g}{unit}"
