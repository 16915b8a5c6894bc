"""Unit 10, pipelines."""
