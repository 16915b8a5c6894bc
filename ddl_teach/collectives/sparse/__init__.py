"""Sparse all-reduce: vectors that are nearly all zeros travel as lists of what is not.

================== ==============================================================================
stream             a sparse vector as indices and values, which turns dense when that is smaller
messages           messages whose length only the sender knows
recursive_doubling swap all you have with the rank 1, 2, 4, ... away: for few entries
split_allgather    every rank adds up one part, then all gather the parts: for many entries
dense_second_phase the same where the sum is dense anyway: parts are gathered dense, or quantised
================== ==============================================================================

All three take a rank's `Stream` and return the stream of the sum, the same bits on every rank:

    total = recursive_doubling.allreduce(comm, Stream.of(x))
    x[...] = total.dense()

Renggli et al., "SparCML", 2019. What sizes to expect stands in `theory.sparse`.
"""
