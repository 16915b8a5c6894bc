"""Split layers, without their numbers."""
