"""Pruned networks: dense products, compressed everything else.

kept       which weights are kept, and vectors of those alone
training   training them on many ranks, with compressed gradients, states and messages
"""
