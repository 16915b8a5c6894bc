"""Training on a grid of ranks, simulated without numbers and measured."""
