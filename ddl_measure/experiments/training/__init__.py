"""Trainings that are looked at afterwards."""
