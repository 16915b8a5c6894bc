"""Unit 21, attention."""
