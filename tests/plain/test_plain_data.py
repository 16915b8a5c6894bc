"""Dataclasses are plain data, which no part can change behind another's back."""

import dataclasses
import pkgutil
from importlib import import_module
from importlib.util import find_spec

import pytest

ROOMS = (
    "ddl_teach.theory",
    "ddl_teach.collectives",
    "ddl_teach.operators",
    "ddl_teach.networks",
    "ddl_teach.training",
)
NEEDS_TRITON = {"ddl_teach.operators.attention.fused"}
# What a rank has under way, and owns alone.
CHANGING = {"Worker", "NeighbourMeetings", "ServerLoop", "MemoryTraffic"}


def dataclasses_of(room):
    for module in pkgutil.walk_packages(import_module(room).__path__, f"{room}."):
        if module.name in NEEDS_TRITON and find_spec("triton") is None:
            continue
        for kind in vars(import_module(module.name)).values():
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                yield kind


KINDS = {kind for room in ROOMS for kind in dataclasses_of(room)}


@pytest.mark.parametrize("kind", sorted(KINDS, key=str), ids=str)
def test_only_what_is_under_way_can_be_changed(kind):
    value = object.__new__(kind)
    name = next((field.name for field in dataclasses.fields(kind)), "anything")
    if kind.__name__ in CHANGING:
        setattr(value, name, None)
    else:
        # Where a class has slots and no fields, Python says it with a TypeError.
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            setattr(value, name, None)
