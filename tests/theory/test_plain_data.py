"""What formulas take and give is plain data, which no caller can change behind another's back."""

import dataclasses
import pkgutil
from importlib import import_module

import pytest

ROOM = "ddl_teach.theory"
MODULES = pkgutil.walk_packages(import_module(ROOM).__path__, f"{ROOM}.")
DATACLASSES = {
    value
    for found in MODULES
    for value in vars(import_module(found.name)).values()
    if isinstance(value, type) and dataclasses.is_dataclass(value)
}


@pytest.mark.parametrize("kind", sorted(DATACLASSES, key=str), ids=lambda kind: kind.__name__)
def test_no_field_can_be_set_again(kind):
    value = object.__new__(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(kind)[0].name, None)
