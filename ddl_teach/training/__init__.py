"""Training on many ranks: when they agree, on which links, what is sent; and the trainer.

trainer        consistency x distribution x compressor: one of each, and a rule, train a task
refusals       which combinations make no sense, and why
product        one of each, and all combinations that make sense
consistency    when ranks agree: level 3
distribution   all-reduce, servers, one-sided windows, neighbours: the links between ranks; level 4
compression    dense, half, quantised, sparse, low-rank: what is sent
optimizers     update rules as plain functions
tasks          what is trained: digits, bowls, networks, code
stability      the largest stable step, measured
consensus      how far apart ranks are that do nothing but mix
"""
