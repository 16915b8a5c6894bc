"""Learning to choose: from measured times, predict which way is the fastest where none was tried.

============== ====================================================================================
points         what was measured, as plain rows in a file: questions, choices, seconds
cost_model     formulas, with constants measured apart, or fitted to the points
decision_tree  halves of the questions, again and again: scikit-learn's
small_network  a perceptron that knows near ties
most_frequent  what has won most often, whatever the question: the least to beat
============== ====================================================================================

A *learner* is a function of points that returns a *chooser*, a function of questions that returns
a number for each choice: the least one is chosen, of those that are allowed. What to look at:
accuracy counts a near tie as a mistake; regret counts what it costs.
"""
