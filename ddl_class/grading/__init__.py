"""Grading what strangers wrote: their code in a sandbox, everything that counts outside of it."""
