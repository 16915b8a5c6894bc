"""Unit 26, serving, and learning from it."""
