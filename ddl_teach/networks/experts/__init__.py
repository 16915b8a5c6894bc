"""Mixtures of experts: many layers side by side, of which each token takes a few.

routing    which experts a token takes, and which tokens are left out when an expert is full
layer      the layer on one process: the twin
exchange   an all-to-all of pieces of any size; backwards the same the other way round
spread     the experts spread over ranks: tokens travel to them and come back
"""
