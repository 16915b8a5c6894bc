"""Level 2: concurrency across the network.

Every way of splitting a network is a few plain lines over the communicator and gives the same
training as one process: the twin in `twin`.
"""
