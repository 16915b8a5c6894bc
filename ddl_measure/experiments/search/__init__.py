"""Searches whose trainings only take time."""
