"""Unit 11, memory."""
