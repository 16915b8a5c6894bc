"""Recurrent layers on ranks, timed."""
