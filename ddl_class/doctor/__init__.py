"""Is this machine fit for the course? Findings, each with what to do about it."""
