"""Unit 22, eight bits."""
