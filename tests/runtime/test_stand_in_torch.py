"""Torch on the stand-in device: the same programs, the same bits, and no way round the device."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from ddl_teach.networks.models.descent import Descent

DEVICE = pytest.importorskip("ddl_runtime.devices.stand_in_torch", exc_type=ImportError).DEVICE
SCHEDULES = ("late", "early", 5)


@pytest.fixture(autouse=True)
def late():
    yield
    DEVICE.schedule("late")


def images():
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*layers, nn.Dropout(0.5), nn.Linear(36, 3)), torch.randn(5, 1, 8, 8)


def texts():
    block = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    layers = nn.Embedding(5, 4), nn.LayerNorm(4), block, nn.Linear(4, 3)
    return nn.Sequential(*layers), torch.randint(5, (5, 6))


def trained(make, device):
    """Three steps; everything that is left, on the host."""
    torch.manual_seed(0)
    model, inputs = make()
    model = model.to(device)
    steps = Descent(model.parameters())
    for _ in range(3):
        steps.zero_grad()
        scores = model(inputs.to(device)).flatten(0, -2)
        targets = torch.arange(len(scores), device=device) % 3
        error = functional.cross_entropy(scores, targets)
        error.backward()
        steps.step()
    left = [*model.state_dict().values(), *(one.grad for one in model.parameters())]
    return [error.item(), *(one.detach().cpu() for one in left)]


@pytest.mark.parametrize(
    ("make", "schedule"), [(images, "late"), (texts, "late"), (images, "early"), (texts, 5)]
)
def test_unchanged_programs_end_with_the_bits_of_the_host(make, schedule):
    DEVICE.schedule(schedule)
    here, there = (trained(make, device) for device in ("cpu", "standin"))
    assert here[0] == there[0]
    assert all(torch.equal(a, b) for a, b in zip(here[1:], there[1:], strict=True))


# What each does with a tensor, on whichever device that is.
QUESTIONS = {
    "views": lambda x: x.view(2, 3)[1].mul_(2) is not None and x,
    "split and stack": lambda x: torch.stack(x.split(3)).t().contiguous(),
    "a copy, then both change": lambda x: x.clone().add_(1) + x.mul_(3),
    "made beside it": lambda x: torch.full((2, 2), 3.0, device=x.device) @ x.new_ones(2),
    "counted": lambda x: torch.arange(1, 9, 2, device=x.device),
    "into room": lambda x: torch.div(x, 7, out=torch.empty_like(x)),
    "several at once": lambda x: torch._foreach_mul_([x], 2) and x,
    "how many is for the device to say": lambda x: x[x > 2],
    "two results": lambda x: x.view(2, 3).max(1).indices,
    "a host's number joins": lambda x: x + torch.tensor(1.5),
    "a slice from the host": lambda x: x.__setitem__(slice(2), torch.ones(2)) or x,
    "an index from the host": lambda x: x[torch.tensor([4, 1])],
    "another type": lambda x: x.to(torch.float64).to(torch.int32),
    "numbers as numbers": lambda x: torch.tensor([x.sum().item(), float(x[1]), *x.tolist()]),
    "in words": lambda x: torch.tensor([torch.equal(x, x + 0), bool((x > 4).any())]),
    "to the host's own": lambda x: torch.zeros(6).copy_(x),
    "whole numbers divided": lambda x: x.to(torch.int64) // (x.to(torch.int64) + 2),
    "random numbers": lambda x: torch.rand(4, device=x.device) + x.clone().normal_()[:4],
    "where data is put": lambda x: _data_set(x),
}


def _data_set(x):
    weight = nn.Parameter(torch.zeros(6, device=x.device))
    weight.data = x
    weight.data.add_(1)
    return weight * 2


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_has_the_hosts_answer(name, schedule):
    def answer(device):
        torch.manual_seed(0)
        return QUESTIONS[name](torch.arange(6.0).to(device)).detach().cpu()

    expected = answer("cpu")
    DEVICE.schedule(schedule)
    found = answer("standin")
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)


def test_nothing_is_computed_before_it_is_needed():
    x = torch.zeros(3, device="standin")
    held = DEVICE.hold()
    x += 1
    with pytest.raises(RuntimeError, match="held back"):
        x.sum().item()
    held.release()
    assert x.sum().item() == 3
    assert torch.empty(2, device="standin").isnan().all(), "what nobody wrote must not look right"
    assert x.new_empty(2).isnan().all()


def test_only_copies_between_host_and_device_are_counted():
    model = nn.Linear(4, 2).to("standin")
    x = torch.randn(3, 4).to("standin")
    DEVICE.synchronise()
    before = copy.copy(DEVICE.traffic)
    model(x).sum().backward()
    assert DEVICE.traffic == before, "forward and backward stay on the device"
    error = model(x).sum().item()
    assert DEVICE.traffic.copies_to_host == before.copies_to_host + 1
    assert DEVICE.traffic.bytes_to_host == before.bytes_to_host + 4
    assert isinstance(error, float)


def test_host_code_cannot_touch_the_numbers():
    x, host = torch.arange(6.0, device="standin"), torch.ones(6)
    touches = {
        "as an array": lambda: x.numpy(),
        "by NumPy": lambda: np.square(x),
        "by dlpack": lambda: np.from_dlpack(x),
        "by address": lambda: x.data_ptr(),
        "by pickle": lambda: pickle.dumps(x),
        "beside a host tensor": lambda: x + host,
        "into a host tensor": lambda: host.add_(x),
        "into a host number": lambda: torch.tensor(0.0).add_(x[0]),
        "into host room": lambda: torch.add(x, x, out=host),
    }
    for name, touch in touches.items():
        with pytest.raises((TypeError, RuntimeError), match="Who copies the bytes"):
            raise AssertionError(f"{name} gave {touch()!r}")
    with pytest.raises(RuntimeError, match="keeps its shape"):
        x.resize_(3)
    assert host.tolist() == [1] * 6


def test_a_copied_network_has_weights_of_its_own():
    first = nn.Linear(2, 2).to("standin")
    second = copy.deepcopy(first)
    with torch.no_grad():
        second.weight.zero_()
    assert isinstance(second.weight, nn.Parameter)
    assert first.weight.abs().sum().item() > 0 == second.weight.abs().sum().item()


def test_parameters_that_are_tied_stay_so_on_the_device():
    first, last = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    last.weight = first.weight
    network = nn.Sequential(first, last).to("standin")
    assert network[0].weight is network[1].weight
    assert network[0].weight.device.type == "standin"
