"""Spatial parallelism: every rank holds a tile of each image, and all of the weights.

tiles        ranks as a grid over the image, and the points of each
halo         the edges of the neighbours' tiles, forwards and backwards
overlapped   the inner part of a tile, computed while those edges travel
network      convolutions and poolings of a network, changed to run on a tile
"""
