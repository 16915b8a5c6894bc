"""Many trained networks made one, in every way."""
