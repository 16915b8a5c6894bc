"""Unit 12, four dimensions and pruning."""
