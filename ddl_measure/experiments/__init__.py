"""Experiments: what the rooms of `ddl_teach` promise by formula, timed and counted.

A file is one subject: on real ranks its programs are measured, on simulated ones the same messages
go without their numbers. The first line of every file says what it asks, and the book's index of
the code lists them all.
"""
