"""Networks that sleep in place of computing."""
