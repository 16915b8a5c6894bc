"""Cells of searched architectures, and what they cost."""
