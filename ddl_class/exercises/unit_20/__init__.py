"""Unit 20, many nodes."""
