"""Schedules that only take time."""
