"""What a message costs on a network: without congestion, over shared links, in a topology."""
