"""Unit 17, searching in parallel."""
