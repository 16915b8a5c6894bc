"""What a rank program sees, whatever runs it: the communicator, arrays, windows."""
