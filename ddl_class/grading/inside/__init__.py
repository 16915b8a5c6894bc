"""What runs inside the sandbox. Nothing here knows of judges, solutions, data or scores."""
