"""Measured points, for those who learn to choose, and how they are judged."""
