"""Unit 07, who copies the bytes."""
