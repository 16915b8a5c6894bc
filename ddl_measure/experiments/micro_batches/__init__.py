"""What divided convolutions took on this machine."""
