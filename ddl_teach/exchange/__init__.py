"""Along which paths updates travel, and in what form: level 4; and the trainer of all products.

========= ========================================================================================
trainer   WHEN x PATH x FORM: one of each, and a rule, train a task
refusals  which combinations make no sense, and why
product   one of each, and all combinations that make sense
paths     all-reduce, servers, one-sided windows, neighbours: who sends to whom
forms     dense, half, quantised, sparse, low-rank: what is sent
stability the largest stable step, measured
consensus how far apart ranks are that do nothing but mix
========= ========================================================================================
"""
