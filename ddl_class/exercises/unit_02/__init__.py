"""Unit 02, four convolutions."""
