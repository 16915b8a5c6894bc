"""The peak of what was allocated: results, temporaries, and what was given back."""

import torch

from ddl_measure.allocations import peak_allocation

MEGA = 2**20


def block():
    return torch.empty(MEGA, dtype=torch.uint8)


def test_what_lives_at_the_same_time_adds_up_and_what_was_freed_does_not():
    def two_of_five():
        for _ in range(4):
            one = block()  # noqa: F841 -- the last one lives while the next is made
        return block()

    assert peak_allocation(block) == MEGA
    assert peak_allocation(lambda: None) == 0
    assert peak_allocation(lambda: [block() for _ in range(5)]) == 5 * MEGA
    assert peak_allocation(two_of_five) == 2 * MEGA


def test_what_stood_before_does_not_count_even_if_it_is_freed():
    old = [block(), block()]

    def work():
        old.clear()
        return block()

    assert peak_allocation(work) <= MEGA


def test_temporaries_inside_of_operators_count():
    x = torch.ones(MEGA // 8, dtype=torch.float64)
    few = 64  # bytes: the numbers 1 and 2 become tensors too
    assert 2 * MEGA <= peak_allocation(lambda: (x + 1) * 2) < 2 * MEGA + few
    # A frequency is two numbers for about half as many of them.
    assert peak_allocation(lambda: torch.fft.irfft(torch.fft.rfft(x))) >= 2 * MEGA
    y = x.reshape(256, 512).clone().requires_grad_()
    assert peak_allocation(lambda: (y**2).sum().backward()) >= 2 * MEGA
