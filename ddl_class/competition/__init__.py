"""A competition of teams: which trains to an accuracy first, on hardware that is given.

race.py says what must be reached, and runs one training against the clock; entry.py
makes a report of several; board.py says what is wrong with an entry, and puts the others in order.
"""
