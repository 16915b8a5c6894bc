"""Small networks of links, and what max-min fair rates on them are by definition."""

from hypothesis import strategies as st

CLOSE = 1e-9


@st.composite
def networks(draw, most_flows=14):
    """A few links, a few paths over them."""
    capacities = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    links = st.integers(0, len(capacities) - 1)
    path = st.lists(links, min_size=1, max_size=4, unique=True).map(tuple)
    return capacities, draw(st.lists(path, min_size=1, max_size=most_flows))


def assert_max_min_fair(capacities, paths, rates):
    """No link above its capacity, and for every flow a full link on which none is faster."""
    load = [0.0] * len(capacities)
    fastest = [0.0] * len(capacities)
    for path, rate in zip(paths, rates, strict=True):
        for link in path:
            load[link] += rate
            fastest[link] = max(fastest[link], rate)
    for link, capacity in enumerate(capacities):
        assert load[link] <= capacity * (1 + CLOSE), f"link {link} is overloaded"
    for path, rate in zip(paths, rates, strict=True):
        assert any(
            load[link] >= capacities[link] * (1 - CLOSE) and fastest[link] <= rate * (1 + CLOSE)
            for link in path
        ), f"the flow over {path} has no bottleneck: {rates}"


def brute_force_rates(capacities, paths):
    """By the definition alone: raise the lowest rate as far as any rates are feasible at all, fix
    the flows that cannot have more, and go on with the others."""

    def feasible(rates):
        load = [0.0] * len(capacities)
        for path, rate in zip(paths, rates, strict=True):
            for link in path:
                load[link] += rate
        return all(used <= limit + 1e-9 for used, limit in zip(load, capacities, strict=True))

    fixed = {}
    while len(fixed) < len(paths):
        low, high = 0.0, float(max(capacities))
        for _ in range(60):
            middle = (low + high) / 2
            if feasible([fixed.get(flow, middle) for flow in range(len(paths))]):
                low = middle
            else:
                high = middle
        level = [fixed.get(flow, low) for flow in range(len(paths))]
        for flow in set(range(len(paths))) - fixed.keys():
            if not feasible([*level[:flow], low + 1e-6, *level[flow + 1 :]]):
                fixed[flow] = low
    return [fixed[flow] for flow in range(len(paths))]
