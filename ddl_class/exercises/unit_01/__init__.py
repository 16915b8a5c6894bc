"""Unit 01, work and depth."""
