"""Unit 18, twelve ways to fool."""
