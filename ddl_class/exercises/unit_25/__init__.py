"""Unit 25, sixteen thousand GPUs."""
