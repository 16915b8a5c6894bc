"""Unit 03, divided convolution."""
