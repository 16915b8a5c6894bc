"""Measured points for programs that learn to choose, and how these are judged."""
