"""No hang without a story: who waits for whom, where, and what to try."""
