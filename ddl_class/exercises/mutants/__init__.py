"""Planted bugs: parts of this course with one line changed, for learners to find.

A wrong optimizer still trains, a wrong all-reduce is right on two ranks, a server that drops a
gradient still descends: none of these bugs stops a program, and a falling loss proves nothing.
What finds them is a comparison with something that must be the same: another library, one rank
instead of many, a sum, a difference quotient, a law.

What to look at: the tests compare every part and every bug in such a way (`measure.levels`), so
no right part is accused.
"""
