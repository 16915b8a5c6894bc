"""The labs' paper: what a learner hands in, and how it is marked.

hand_in    a lab's program on whatever ranks there are; the file that it writes, the answers' form
marking    marks, and why points were lost
folders    the labs that there are, and what somebody has handed in
command    `ddl-teach labs`
"""
