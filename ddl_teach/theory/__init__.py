"""What should happen, before anything runs: one formula, one function.

A message of n bytes costs ``latency + n * per_byte``. Its sender's out-port is busy for
``n * per_byte``, its head arrives ``latency`` after it began, and then the receiver's in-port is
busy for ``n * per_byte``: LogGP with ports (Alexandrov, Ionescu, Schauser & Scheiman 1995),
written L and G in the survey of Ben-Nun & Hoefler (2019). ``per_byte_reduced`` is what it costs to
combine two arrays, per byte of one of them; ``overhead`` is what a processor spends on each send
and on each receive.

=========== ================================================================================
machine     what a message costs, and nodes of ranks: a `Link`, a `Cluster`
collectives collectives, bounds, crossover, many_nodes, ring_bytes, staging (from device to
            device), compression and sparse (fewer bytes)
measuring   fit and robust_line (the three costs out of times), median
one layer   work_depth, rounding; of convolutions convolution_sizes, _cost, _tiles, _time
on ranks    data_parallel, split_layers, product_3d, pipelines, context, experts, halo,
            wavefront, grids (all at once); memory and checkpointing for what must be held
training    large_batches, staleness, stragglers, servers, elastic, gossip, failures
=========== ================================================================================

Every function takes ``nbytes`` as a number or as a NumPy array, and answers in seconds, likewise.
"""
