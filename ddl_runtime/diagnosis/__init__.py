"""Diagnosis of hangs and failures: which rank waits for which, at which line, and what to try."""
