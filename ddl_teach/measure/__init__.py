"""Honest numbers: how long things take, and how sure one can be of it."""
