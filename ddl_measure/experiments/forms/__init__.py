"""Averages in compressed forms, simulated without numbers and measured."""
