"""Tensor parallelism: every rank holds a share of each layer, and all work on the same examples.

    split            parameters in shares, under the whole network's names, and whole again
    linear           a column layer and a row layer: one sum for both
    attention        heads to ranks
    vocabulary       words to ranks: embedding and loss
    mlp              layers in pairs
    gpt              all of them in a transformer; sequence-parallel between them, if wanted
    one_weird_trick  AlexNet: convolutions by data, classifier by neurons

What travels, and when, stands one floor up: in `networks.autograd_collectives` and
`networks.partitions`.
"""
