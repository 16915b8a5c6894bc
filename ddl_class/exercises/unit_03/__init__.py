"""Unit 03, micro-batched convolution."""
