"""Update rules: what a step does with a gradient, as plain functions on flat vectors.

======== ==================================================================== ====== ============
rule     step                                                                 states elementwise
======== ==================================================================== ====== ============
sgd      w -= rate g                                                             0   yes
momentum m = mu m + g; w -= rate m                                               1   yes
nesterov the same, looking one step ahead                                        1   yes
adagrad  w -= rate g / sqrt(sum of g^2)                                          1   yes
rmsprop  w -= rate g / sqrt(running mean of g^2)                                 1   yes
adam     w -= rate (running mean of g) / sqrt(running mean of g^2)               2   yes
adamw    the same, and the weights decay beside it                               2   yes
lars     momentum, each layer at a rate of its own                               1   whole layers
lamb     AdamW, each layer at a rate of its own                                  2   whole layers
adam_8bit Adam, whose states take a byte a number and a scale a block             2   a block
muon     a matrix's momentum, with all singular values made about 1              1-2  a matrix
kfac     a layer's gradient, undone what inputs and derivatives stretch          0   a layer
admm     no gradient travels: all pull at a common point                         2   yes
======== ==================================================================== ====== ============

All but the last two are called alike, `rule(weights, gradient, states, step)`: in place, on NumPy
arrays and torch tensors, with steps counted from 1 and states that are zeros before the first. The
last two need more than a gradient, so they take part in the product of `ddl_teach.training` as
consistencies: `training.consistency.synchronous_kfac` and `training.consistency.consensus_admm`.
"""
