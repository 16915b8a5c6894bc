"""Tiles of images, without their numbers."""
