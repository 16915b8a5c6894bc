"""Measurements, each a table printed by one command and kept as a file in `results/`."""
