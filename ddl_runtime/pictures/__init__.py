"""Pictures of a run: timelines, waits, traces, and the one style of all pictures."""
