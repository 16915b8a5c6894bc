"""Architectures as what is searched for: small convolutional cells on the digits.

=============== =================================================================================
cells           a cell as plain data: the space of all genotypes
network         from a genotype to its network; and the one that holds all of them
train_cells     the honest score: train a genotype's own network; and an error that pays for time
shared          the cheap score: train one network for all, then only look
evolution       tournaments and ageing
reinforce       a controller that learns what to propose
front           what no other dominates
agreement       whether two scores put architectures in the same order
=============== =================================================================================

Evolution and controller are deciders, scores are trainings: any of them with any other, and with
random search and halving, on ranks or engines. What to look at: random search at the same budget.
"""
