"""Ranks as stacks of one process, in virtual time."""
