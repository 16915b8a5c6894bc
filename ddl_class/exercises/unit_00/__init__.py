"""Unit 00, the machine."""
