"""What the decks show: one function a figure or number, from recorded results or computed now."""
