"""Grids of ranks: data x pipeline x tensor x context, and what each of them costs.

======== =========================================================================================
grid     the grid itself, a rank's place in it, all grids of some ranks, links along an axis
layers   what a grid must know of a network's layers: transformers and perceptrons
sent     the bytes that each rank sends along each axis, to the byte
seconds  the time of a step, and what it is spent on
memory   the bytes that a rank holds: weights, gradients, states, activations
search   all grids in order, with the reason for each
======== =========================================================================================

    axis       splits               a step sends, per rank                       price
    data       the batch            all gradients, once                          all weights on all
    pipeline   the layers           an activation per cut and micro-batch        a bubble
    tensor     every layer          four activations per block and micro-batch   it must be fast
    context    the text             all keys and values, three times             attention only

Narayanan et al. 2021; Singh and Bhatele, "AxoNN", 2022.
"""
