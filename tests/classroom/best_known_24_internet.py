"""The puzzle of unit 24 with slow links: how the house reached the best that it knows.

From the solution on, a search changed the five numbers a little, all at once and at random, and
kept what was faster and still reached the loss.
"""

BEST = {"24.plan": lambda: (143, 40, 1, 16, 3)}
