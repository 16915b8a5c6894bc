"""Commands of the command line that have no room of their own, and what they read."""
