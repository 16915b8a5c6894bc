"""Parameters of which every rank holds a share, under the names that the whole network gives them.

`keep` takes a rank's share of a parameter; `full_parameters` puts all of them together again, so
that any split network can be compared with its twin name by name.
What to look at: a share is cut in whole units. For attention a unit is a head.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from ddl_teach.comm import Comm
from ddl_teach.networks.axis_collectives import all_gather
from ddl_teach.networks.shares import own_slice


@dataclass(frozen=True)
class Cut:
    """How a parameter was cut: along `axis`, between units of `unit` numbers, of which `units`."""

    axis: int
    units: int
    unit: int


class SplitModule(nn.Module):
    """A module that holds a share of some of its parameters."""

    def __init__(self, comm: Comm) -> None:
        super().__init__()
        self.comm = comm
        self.cuts: dict[str, Cut] = {}

    def keep(self, name: str, whole: nn.Parameter | None, axis: int, unit: int = 1) -> None:
        if whole is None:
            self.register_parameter(name, None)
            return
        cut = self.cuts[name] = Cut(axis, whole.shape[axis] // unit, unit)
        if cut.units < self.comm.size:
            parts = f"{name} of shape {tuple(whole.shape)} has {cut.units} parts of {unit}"
            raise ValueError(f"{parts} along axis {axis}: take at most {cut.units} ranks")
        mine = own_slice(cut.units, self.comm)
        share = whole.detach().narrow(axis, unit * mine.start, unit * (mine.stop - mine.start))
        self.register_parameter(name, nn.Parameter(share.clone(), whole.requires_grad))

    def full(self, name: str) -> Tensor:
        """The whole of a parameter, on every rank; all of them must ask for it."""
        own, cut = getattr(self, name).detach(), self.cuts.get(name)
        if cut is None:
            return own.clone()
        in_units = own.unflatten(cut.axis, (-1, cut.unit))
        return all_gather(self.comm, in_units, cut.axis, cut.units).flatten(cut.axis, cut.axis + 1)


def full_parameters(network: nn.Module) -> dict[str, Tensor]:
    """Copies of all parameters of a split network, whole, by name, in the host's memory. All ranks
    must call it."""
    full, owners = {}, _owners(network)
    for name, parameter in network.named_parameters():
        owner, own_name = owners[parameter]
        if isinstance(owner, SplitModule):
            full[name] = owner.full(own_name).cpu()
        else:
            full[name] = parameter.detach().to("cpu", copy=True)
    return full


def cut_parameters(network: nn.Module) -> set[nn.Parameter]:
    """The parameters of which this rank holds a share. All ranks hold all others whole."""
    return {
        parameter
        for parameter, (owner, own_name) in _owners(network).items()
        if isinstance(owner, SplitModule) and own_name in owner.cuts
    }


def _owners(network: nn.Module) -> dict[nn.Parameter, tuple[nn.Module, str]]:
    """The module of each parameter, the first of those that share it, and its name there."""
    owners: dict[nn.Parameter, tuple[nn.Module, str]] = {}
    for module in network.modules():
        for name, parameter in module.named_parameters(recurse=False):
            owners.setdefault(parameter, (module, name))
    return owners
