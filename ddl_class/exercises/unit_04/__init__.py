"""Unit 04, recurrences and precision."""
