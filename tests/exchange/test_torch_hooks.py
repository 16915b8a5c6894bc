"""Beside torch: the same gradients through its communication hooks and through our forms."""

import numpy as np

from ddl_teach.collectives import ring
from ddl_teach.exchange.forms.averaging import averager
from ddl_teach.exchange.forms.half import Half
from ddl_teach.exchange.forms.powersgd import PowerSGD

RANKS, SHAPE = 2, (10, 64)


def through_both(comm):
    """Gradients of one layer and one sample a rank: exact, by torch's hooks, by our forms."""
    import torch
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    from ddl_teach.course import gloo

    samples = [np.random.default_rng(rank).standard_normal((1, 64)) for rank in range(comm.size)]
    inputs = torch.from_numpy(samples[comm.rank]).float()

    def gradient(hook=None, state=None, passes=1):
        torch.manual_seed(0)
        layer = torch.nn.Linear(64, 10, bias=False)
        network, backward = (
            gloo.data_parallel(comm, layer) if hook else (layer, torch.Tensor.backward)
        )
        if hook:
            network.register_comm_hook(state, hook)
        for _ in range(passes):
            layer.zero_grad()
            backward(network(inputs).square().sum())
        return layer.weight.grad.numpy().ravel().copy()

    own = gradient()
    power = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    found = {
        "torch, float16": gradient(default_hooks.fp16_compress_hook),
        "torch, PowerSGD": gradient(powerSGD_hook.powerSGD_hook, power, passes=4),
    }
    for name, form in (("float16", Half()), ("PowerSGD", PowerSGD(2, shapes=(SHAPE,)))):
        found[name] = own.copy()
        averager(comm, form, own.size, ring.allreduce)(found[name])
    return own, found


def test_torchs_hooks_and_our_forms_give_the_same_mean(real):
    runs = real(through_both, RANKS, timeout=400).results
    exact = np.mean([own for own, _ in runs], axis=0)
    largest = np.abs(exact).max()
    for _, found in runs:
        for name, mean in found.items():
            # One sample a rank: the mean of two has rank 2, which PowerSGD finds exactly.
            assert np.abs(mean - exact).max() < 2e-3 * largest, name
        assert np.abs(runs[0][0] - exact).max() > 0.1 * largest
