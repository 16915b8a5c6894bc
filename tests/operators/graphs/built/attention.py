"""Graphs of attention; arrays have the shape (batch, heads, places, features)."""

from __future__ import annotations

import math

from operators.graphs.built.softmax import backwards, shares

from ddl_teach.operators.graphs.builder import Builder
from ddl_teach.operators.graphs.graph import OperationGraph


def forward(
    batch: int, heads: int, queries: int, keys: int, features: int, masked: bool = False
) -> OperationGraph:
    """query, key, value, mask -> y, and what the gradient needs: `shares`."""
    build = Builder()
    query = build.input("query", batch, heads, queries, features)
    key, value = (build.input(name, batch, heads, keys, features) for name in ("key", "value"))
    scores = build.matrix_product(query, key.swapaxes(-1, -2))
    scores = build.scale(scores, 1 / math.sqrt(features))
    if masked:
        scores = build.add(scores, build.input("mask", queries, keys))
    parts = shares(build, scores)
    return build.graph(y=build.matrix_product(parts, value), shares=parts)


def input_gradient(
    batch: int, heads: int, queries: int, keys: int, features: int, masked: bool = False
) -> OperationGraph:
    """gradient, shares, query, key, value -> dquery, dkey, dvalue."""
    build = Builder()
    gradient = build.input("gradient", batch, heads, queries, features)
    parts = build.input("shares", batch, heads, queries, keys)
    query = build.input("query", batch, heads, queries, features)
    key, value = (build.input(name, batch, heads, keys, features) for name in ("key", "value"))
    dvalue = build.matrix_product(parts.swapaxes(-1, -2), gradient)
    dshares = build.matrix_product(gradient, value.swapaxes(-1, -2))
    dscores = build.scale(backwards(build, parts, dshares), 1 / math.sqrt(features))
    dquery = build.matrix_product(dscores, key)
    dkey = build.matrix_product(dscores.swapaxes(-1, -2), query)
    return build.graph(dquery=dquery, dkey=dkey, dvalue=dvalue)
