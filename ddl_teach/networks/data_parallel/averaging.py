"""Averaging gradients, the plain way: one all-reduce for each parameter.

Cost: K all-reduces for K parameters, so K times the latency, and nothing travels before the whole
backward pass is done. By the ring each rank sends 2 (P-1)/P of the gradients' bytes. Dean et al.,
"Large scale distributed deep networks", NIPS 2012, for splitting the data; Goyal et al.,
"Accurate, large minibatch SGD", 2017, for this form. What to look at: gradients are averaged,
never weights: else ranks drift apart in what an optimizer remembers.
"""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from ddl_teach.collectives.ring import allreduce as ring_allreduce
from ddl_teach.comm import Comm

AllReduce = Callable[[Comm, torch.Tensor], None]


def average_gradients(
    comm: Comm, parameters: Iterable[nn.Parameter], allreduce: AllReduce = ring_allreduce
) -> None:
    """Every `.grad` becomes the average over the ranks; one that is missing here counts as zero.
    Give all ranks the same parameters in the same order; a frozen one is passed over, and a tied
    one is one parameter."""
    for parameter in trainable(parameters):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        gradient = parameter.grad.contiguous()
        allreduce(comm, gradient)
        parameter.grad = gradient.div_(comm.size)


def trainable(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    """The parameters that training changes, each once."""
    return [parameter for parameter in dict.fromkeys(parameters) if parameter.requires_grad]
