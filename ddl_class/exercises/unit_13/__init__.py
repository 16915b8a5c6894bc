"""Unit 13, large batches."""
