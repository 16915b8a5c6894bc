"""Unit 15, server or no server."""
