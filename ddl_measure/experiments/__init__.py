"""Experiments: what the rooms of `ddl_teach` promise by formula, timed and counted.

A folder here is named after the room that it examines. A file that is called `only_time` runs the
room's messages on simulated ranks without their numbers, `measured` its programs on real ones; the
first line of every file says what it asks, and the book's index of the code lists them all.
"""
