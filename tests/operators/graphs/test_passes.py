"""Every formula equals its count, and every counted graph computes what torch computes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from passes import CASES

pytestmark = pytest.mark.slow

each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.sampled(4)
def test_formula_is_count_and_graph_is_torch(case, data):
    sizes = data.draw(case.sizes)
    right = case.reference(np.random.default_rng(0), **sizes)
    # What a layer over a sequence hands out is one state longer than what its gradients take.
    longer = {"states": right.get("every state"), "cells": right.get("every cell")}
    for way, formula, build in case.passes():
        graph = build(**sizes)
        assert graph.counted == formula(**sizes), way
        found = graph.evaluate(**{name: right[name] for name in graph.inputs})
        assert found, way
        for name, array in found.items():
            wanted = longer.get(name) if way == "forward" and name in longer else right[name]
            np.testing.assert_allclose(
                array, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{way} {name}"
            )
