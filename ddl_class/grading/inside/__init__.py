"""What runs inside the sandbox: it has no judges, solutions, hidden data or scores."""
