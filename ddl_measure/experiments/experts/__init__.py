"""Mixtures of experts, without their numbers."""
