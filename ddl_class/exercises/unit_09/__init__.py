"""Unit 09, splitting layers."""
