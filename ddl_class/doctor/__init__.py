"""Checks whether a machine is fit for the course; each finding says what to do about it."""
