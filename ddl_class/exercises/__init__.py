"""Exercises: what the learner writes, how it is judged, and what helps."""
