"""Unit 14, when ranks agree."""
