"""Unit 16, fewer bytes."""
