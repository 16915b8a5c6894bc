"""Units: the modules whose weights are gathered, and whose gradients are summed, together.

A unit is a module that is called, for its weights are whole from its call to its return. By
default units are the children of the module. In place of a sequence, and of what cannot be called
such as a list, its children are. What belongs to no unit, or to two (tied weights), belongs to the
module itself. It is whole from its call to the end of the backward pass.
"""

from collections import Counter
from collections.abc import Iterator

from torch import nn

from ddl_teach.networks.data_parallel.averaging import trainable

Kinds = type[nn.Module] | tuple[type[nn.Module], ...]


def named_units(module: nn.Module, kinds: Kinds | None = None) -> Iterator[tuple[str, nn.Module]]:
    """The units by their names: all modules of these `kinds`, outermost first, or by default the
    children."""
    for name, child in module.named_children():
        holds = isinstance(child, nn.Sequential) or type(child).forward is nn.Module.forward
        if isinstance(child, kinds or ()) or (kinds is None and not holds):
            yield name, child
        else:
            yield from ((f"{name}.{inner}", unit) for inner, unit in named_units(child, kinds))


def parameters_of_units(
    module: nn.Module, kinds: Kinds | None = None
) -> list[tuple[str, nn.Module, list[nn.Parameter]]]:
    """Name, module and trainable parameters of each unit that has some, the module's first."""
    units = dict(named_units(module, kinds))
    owners = Counter(p for unit in units.values() for p in trainable(unit.parameters()))
    rest = [p for p in trainable(module.parameters()) if owners[p] != 1]
    named = [("", module, rest)]
    for name, unit in units.items():
        own = [p for p in trainable(unit.parameters()) if owners[p] == 1]
        named.append((name, unit, own))
    return [each for each in named if each[2]]
