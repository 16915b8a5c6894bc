"""Unit 08, data parallelism."""
