"""Where the memory goes, and how to have less of it on each rank.

sharded_states       stage 1: each rank keeps the optimizer states of its own part
sharded_gradients    stage 2: also the gradients, summed layer by layer during the backward pass
sharded_parameters   stage 3: also the weights; a layer is whole only while it is computed
offload              states on the host, fetched bucket by bucket
checkpointing        activations forgotten and computed again, by a plan
keeping              what it needs of an update rule, and where the states stand
measured             the ledger: bytes that are really there
"""
