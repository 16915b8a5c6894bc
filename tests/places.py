"""Where arrays can be: on the stand-in device, as arrays or as tensors, and on a GPU.

Tests that take a place from `PLACES` run on the stand-in everywhere, and with `-m gpu` on a GPU.
"""

from contextlib import suppress
from importlib import import_module

import numpy as np
import pytest
import torch

from ddl_runtime.devices import device_of
from ddl_runtime.devices.choice import Reach
from ddl_runtime.devices.stand_in import StandInDevice

with suppress(ImportError):  # registered before the first backward pass, or too late for torch
    import_module("ddl_runtime.devices.stand_in_torch")

NO_GPU = "torch finds no GPU here (torch.cuda.is_available() is False): run this where one is"
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)]
PLACES = ("stand-in", "stand-in tensors", pytest.param("cuda", marks=on_gpu))
TENSORS = ("standin", pytest.param("cuda", marks=on_gpu))  # as torch calls them


def on_device(where, schedule):
    """The device that torch calls so; the stand-in moves on in the manner of `schedule`."""
    if where == "standin":
        pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError)
        torch.empty(0, device=where).comm_device.schedule(schedule)
    return device_of(torch.empty(0, device=where))


class Place:
    """A device, as tests use it: arrays go there with kernels still queued, and come back."""

    def __init__(self, name, schedule="late"):
        self.name = name
        if name == "stand-in":
            self.device = StandInDevice(schedule)
        else:
            self.device = on_device("cuda" if name == "cuda" else "standin", schedule)

    def put(self, host):
        """A copy there, which kernels are still busy with when this returns."""
        if self.name == "stand-in":
            x = self.device.array(host)
        else:
            where = "cuda" if self.name == "cuda" else "standin"
            x = torch.from_numpy(np.array(host)).to(where)
        x *= 2
        x /= 2  # twice a number and half of that: the same bits
        return x

    def back(self, x):
        """What it holds, on the host."""
        return x.to_host() if self.name == "stand-in" else x.cpu().numpy()


def path_of(comm, path, place):
    """Send by this path from now on: "direct", "staged", or "pipelined" in small chunks."""
    comm.device_table = {"message": (Reach(0, path, 1000 if path == "pipelined" else 0),)}
    if place.name != "cuda":
        place.device.direct = path == "direct"  # real MPI can read the stand-in's memory
