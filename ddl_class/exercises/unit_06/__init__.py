"""Unit 06, all-reduce from scratch."""
