"""A bias for experts that are chosen too seldom, and against those chosen too often.

After each step, by one fixed `speed`,

    b_e = b_e + speed sign(mean load - load_e),    load_e = rows that expert e took.

The bias counts in the choice of experts and not in their weights: it has no gradient, and disturbs
none. All ranks know all loads already, so no message is needed. Where experts have little room
(`factor`), loads are those after the limit.
Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts", arXiv 2024;
DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2024.
What to look at: a step is as large for a load just above the mean as for ten times the mean.
"""

from torch import nn

from ddl_teach.networks.experts.layer import MixtureOfExperts
from ddl_teach.networks.experts.spread import SpreadExperts


def update_bias(network: nn.Module, speed: float) -> None:
    """Move the bias of all mixtures of the network, by what they routed last."""
    for module in network.modules():
        if isinstance(module, MixtureOfExperts | SpreadExperts) and module.routing is not None:
            loads = module.routing.rows.sum(0).to(module.gate.weight.dtype)
            step = speed * (loads.mean() - loads).sign()
            module.bias = step if module.bias is None else module.bias + step
