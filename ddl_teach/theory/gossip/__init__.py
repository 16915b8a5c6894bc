"""Gossip: ranks average with a few neighbours only, and what comes of it.

=========== =====================================================================================
graphs      links between ranks: ring, torus, exponential, one-peer exponential, random, directed
mixing      the weights of the averages: Metropolis-Hastings, equal shares; and their check
contraction the second eigenvalue, how fast ranks agree, how far apart noise keeps them;
            and what happens when neighbours average gradients instead of weights: they part
=========== =====================================================================================

In a step, rank i replaces its vector by an average of its neighbours' and its own:

    x_i  <-  sum over j of W_ij x_j        W: rows and columns sum to 1

Columns that sum to 1 keep the mean over all ranks; rows that sum to 1 leave it alone once all
agree. How fast they come to agree is one number, the second eigenvalue of W:

    graph                 neighbours     second eigenvalue              sent per step, n bytes
    ring                  2              1/3 + 2/3 cos(2 pi / P)        2 n
    torus, a x a          4              (3 + 2 cos(2 pi / a)) / 5      4 n
    exponential           log2 P         (log2 P - 1) / (log2 P + 1)    n log2 P     (P even)
    one-peer exponential  1              0 after log2 P steps           n            (P = 2^k)
    all-reduce (a ring)   --             0                              2 (P-1)/P n

Xiao and Boyd, "Fast linear iterations for distributed averaging", 2004; Lian et al. 2017; Ying et
al., "Exponential graph is provably efficient for decentralized deep training", NeurIPS 2021.
"""
