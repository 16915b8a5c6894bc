"""Data parallelism: every rank holds the whole network and a part of every batch.

    shards              a rank's part of a batch, and what its loss then counts
    averaging           one all-reduce for each parameter
    buckets             many gradients end to end in one flat array, one all-reduce for each
    overlapped          buckets leave from gradient hooks while the backward pass goes on
    sufficient_factors  of a linear layer the two factors of its gradient travel
    shared_weights      one copy of the weights on a node, of which each rank updates a part
    batch_normalisation the statistics of the whole batch, not of a rank's part
    arrays              the averages themselves, of plain arrays
    training            the loop that all ranks run, with any of these
    ladder              all of them side by side
    phantoms            the same on thousands of simulated ranks, without a network

The whole batch's gradient is the average of the parts' gradients, each weighted by its size. So P
ranks that average before every step make the steps of one: as long as nothing in the network looks
at the whole batch.
"""
