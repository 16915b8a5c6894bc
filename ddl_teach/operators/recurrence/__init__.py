"""Recurrent networks: what must stay sequential, and what only looks so.

A layer's state at a step needs its state one step before. Nothing else about a recurrent network
is a chain: a step's gates come from one product, the inputs of all steps are multiplied at once
(`layer_by_layer`; `packed` is its fast path). So are the gradients of the weights
(`through_time`). And L layers of T steps take L+T-1 wavefronts (`wavefront`, `on_ranks`). Even
the chain falls to log T where the recurrence is linear (`scan`), and to a few scans where it is
not, by Newton's method (Lim et al. 2024).
"""
