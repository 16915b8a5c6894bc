"""Every picture of the course, from plain data.

========== ====================================================================
style      one look: the style sheet, what each colour means, units, alt text
timeline   what each rank did when: bars for a few ranks, an image for 65,536
trace      the same as a file for a trace viewer
algorithms predicted, simulated and measured times laid over each other
activity   how the spans of a rank become one thing it does at a time
========== ====================================================================

A title states what there is to see; every axis names its unit; a picture carries a sentence for
those who cannot see it.
"""
