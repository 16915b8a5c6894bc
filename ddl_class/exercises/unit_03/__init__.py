"""Unit 03, micro-batches."""
