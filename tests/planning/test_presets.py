"""Presets against what vendors print of their devices."""

import pytest

from ddl_teach import simulate
from ddl_teach.planning.presets import ACCELERATORS

# TFLOP/s in 16 bits with sparsity, GB/s of the memory, GB, GB/s to the others both ways together:
# NVIDIA's data sheets of A100 80GB SXM, H100 SXM, H200 SXM; AMD's of the MI300X, which has seven
# links of 128 GB/s; of the DGX B200 an eighth, whose 72 PFLOP/s are in 8 bits.
PRINTED = {
    "A100": (624, 2039, 80, 600),
    "H100": (1979, 3350, 80, 900),
    "H800": (1979, 3350, 80, 400),
    "H200": (1979, 4800, 141, 900),
    "B200": (72_000 / 2 / 8, 64_000 / 8, 1440 / 8, 14_400 / 8),
    "MI300X": (2614.9, 5300, 192, 7 * 128),
}


@pytest.mark.parametrize("name", ACCELERATORS)
def test_a_preset_has_the_numbers_of_its_data_sheet(name):
    here = ACCELERATORS[name]
    ours = (
        here.peak * 2 / 1e12,
        here.memory_rate / 1e9,
        here.memory / 1e9,
        here.inside_rate * 2 / 1e9,
    )
    assert ours == pytest.approx(PRINTED[name], rel=3e-4)  # as they are rounded


def busy(comm, flops, nbytes):
    comm.work(flops=flops, nbytes=nbytes)


@pytest.mark.parametrize("name", ACCELERATORS)
def test_simulated_ranks_compute_and_read_as_fast_as_a_preset(name):
    here = ACCELERATORS[name]
    machine = here.device(launch=1e-3, share=0.5).machine
    computing = simulate(busy, 2, machine=machine, flops=here.peak, nbytes=here.memory_rate / 2)
    reading = simulate(busy, 2, machine=machine, flops=here.peak, nbytes=here.memory_rate * 3)
    assert (computing.time, reading.time) == pytest.approx((2.001, 6.001))
