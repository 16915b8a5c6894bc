"""Attention on one device: softmax(Q K^T / sqrt(d)) V of (batch, heads, positions, width).

definition   all scores at once: a matrix of N x N for each head
tiled        tile by tile with a softmax that runs: memory grows with N, not with N^2
fused        the same forward as one kernel for a GPU, in Triton
traffic      counts the bytes that a kernel reads and writes, tile by tile
"""
