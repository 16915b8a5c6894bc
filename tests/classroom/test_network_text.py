"""Networks and quantities in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddl_class.commands.mistake import Mistake
from ddl_class.commands.network_text import (
    NETWORKS,
    listing,
    read_network,
    read_quantity,
    write_quantity,
)
from ddl_runtime.topologies.point_to_point import HostLink, TwoLevel, Uniform
from ddl_runtime.topologies.torus import Torus


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("uniform", Uniform()),
        ("uniform:latency=2us,bandwidth=100Gbit/s", Uniform(latency=2e-6, bandwidth=12.5e9)),
        ("uniform:latency=1e-5", Uniform(latency=1e-5)),
        (
            "two-level:ranks_per_node=8,inside.latency=100ns",
            TwoLevel(8, inside=Uniform(latency=1e-7, bandwidth=20e9)),
        ),
        (
            "uniform:host_link.start=5us,host_link.bandwidth=8GB/s",
            Uniform(host_link=HostLink(5e-6, 8e9)),
        ),
        ("torus:sizes=4x4x2,base_latency=1ms", Torus(sizes=(4, 4, 2), base_latency=1e-3)),
    ],
)
def test_networks_are_what_they_say(text, network):
    assert read_network(text) == network


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ring", "There is no network 'ring'"),
        ("uniform:speed=3", "uniform has no setting 'speed'"),
        ("uniform:latency", "field=value, not 'latency'"),
        ("uniform:latency=3GB/s", "one of s, ms, us"),
        ("uniform:bandwidth=3us", "GB/s"),
        ("uniform:bandwidth=0", "bandwidth must be positive"),
        ("two-level", "two-level needs ranks_per_node"),
        ("two-level:ranks_per_node=2.5", "write a whole number"),
        ("two-level:ranks_per_node=2,inside=1", "no setting 'inside'"),
        ("two-level:ranks_per_node=2,inside.speed=1", "no setting 'speed'"),
        ("uniform:host_link=1", "no setting 'host_link'"),
        ("two-level:ranks_per_node=2,inside.host_link.start=1us", "give it to the TwoLevel"),
        ("torus:sizes=4,4", "field=value, not '4'"),
        ("torus:sizes=4xx4", "whole numbers like 4x4x4"),
        ("dragonfly:groups=2,routers=2,hosts_per_router=1,valiant=maybe", "true or false"),
    ],
)
def test_what_is_wrong_is_told(text, told):
    with pytest.raises(Mistake, match="(?s)" + told):
        read_network(text)


def test_every_network_is_listed():
    assert all(f"  {name}: " in listing() for name in NETWORKS)


@pytest.mark.parametrize("name", ["latency", "bandwidth"])
@given(amount=st.floats(min_value=1e-9, max_value=1e12))
def test_a_written_quantity_reads_back(name, amount):
    assert read_quantity(name, write_quantity(name, amount)) == pytest.approx(amount, rel=1e-5)
