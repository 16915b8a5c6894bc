"""Divided convolution: cut its batch, and a faster method fits into less workspace.

A convolution by FFT or Winograd needs room for what it transforms, and that room grows with the
number of examples. Where it does not fit, libraries fall back on a slower method. So cut the batch
of that one layer into pieces, which use the same room one after another. The result stays the
same, and the faster method fits (Oyama, Ben-Nun, Hoefler & Matsuoka 2018, "mu-cuDNN").

    offers          what one piece costs by one method; a job; its division
    dynamic         the best division of one job under a limit: dynamic programming
    integer         the same, and a room shared among many jobs: integer programs
    front           which divisions can be best under any limit: few
    predicted       offers by formula, for processors that are only described
    planning        a division for every convolution, with reasons
    divided         a convolution carried out in pieces, also as an operator of torch
    transform       a network whose convolutions are divided, its result the same
"""
