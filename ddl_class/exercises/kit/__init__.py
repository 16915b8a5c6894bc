"""What judges of several units use."""
