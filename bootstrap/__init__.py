"""What start.py does before the course's own packages exist: standard library only."""
