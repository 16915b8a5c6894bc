"""Planted bugs: parts of this course with one line changed, for learners to find.

A wrong optimizer still trains, a wrong all-reduce is right on two ranks, a server that drops a
gradient still descends: none of these bugs stops a program, and a falling loss proves nothing.
What finds them is a comparison with something that must be the same: another library, one rank
instead of many, a sum, a difference quotient, a law.

======== =======================================================================================
bug      one changed line, and the part it is planted in; all of them
suspects the right part among its wrong twins, and what a check of the learner's own finds
======== =======================================================================================

What to look at: the tests compare every part and every bug in such a way (`measure.levels`), so
no right part is accused.
"""
