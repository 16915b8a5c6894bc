"""Sharded states, without their numbers."""
