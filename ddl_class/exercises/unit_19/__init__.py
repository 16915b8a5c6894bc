"""Unit 19, validate."""
