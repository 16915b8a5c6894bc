"""Level 1: the concurrency inside one operator (Ben-Nun & Hoefler 2019, section 4).

An operator is a graph of scalar operations. Its *work* W is how many there are, its *depth* D the
longest chain among them; p processors need at least max(W/p, D) steps, and a greedy schedule at
most W/p + D. The same result can come from graphs of very different work, depth and memory: that
is what the rooms here are about.
"""
