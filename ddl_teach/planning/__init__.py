"""A run planned before it starts: grid, memory, time, failures, cost."""
