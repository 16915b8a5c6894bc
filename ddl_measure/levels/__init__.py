"""Deep500's four levels as one harness: what is measured is a plain function.

============ =====================================================================================
operators    level 0: errors against a reference, a map of them, gradients checked
networks     level 1: forward and backward time and memory of each part
training     level 2: accuracy and loss on held-out data, input pipeline, update rules compared
distributed  level 3: volumes, scaling, whether ranks agree
torch_parts  torch's networks and optimizers as plain functions
events       how long what took, by name
============ =====================================================================================

Ours, the learner's and torch's go in as functions of arrays and come out as plain data. Ben-Nun,
Besta, Huber, Ziogas, Peter and Hoefler, "A modular benchmarking infrastructure for
high-performance and reproducible deep learning", IPDPS 2019. What to look at: what the harness
itself costs, in benchmarks/harness.py.
"""
