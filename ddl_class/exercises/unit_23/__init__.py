"""Unit 23, collectives as they are."""
