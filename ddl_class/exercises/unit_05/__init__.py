"""Unit 05, what a message costs."""
