"""Recipes: what is fixed, what may be changed, and the target that has to be reached.

========= ========================================================================================
recipe    plain data and one function: settings in, looks at held-out data out
carry_out one training for each seed, and a report that has every one of them
beside    another person's report and one's own, side by side
========= ========================================================================================
"""
