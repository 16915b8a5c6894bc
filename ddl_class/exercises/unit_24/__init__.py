"""Unit 24, slow links."""
