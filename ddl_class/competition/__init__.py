"""A competition of teams: who trains to an accuracy first, on hardware that is given.

disciplines.py says what must be reached, lap.py runs one training against the clock, ground.py
says on which nodes, entry.py makes a report of several, judge.py says what is wrong with an entry,
board.py puts those without fault in order, page.py makes the page, command.py is what people type;
tried.py chooses settings, and tells all that it tried.
"""
