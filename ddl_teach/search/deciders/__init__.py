"""Which trial is worth how many steps: each decider a file, knowing nothing of workers.

===================== ==================================================== ==================
decider               what it does                                         a worker waits
===================== ==================================================== ==================
RandomSearch          all trials alike                                     only at the end
SuccessiveHalving     the best 1/eta of each rung go on, eta times as long  at the end of rungs
AsynchronousHalving   who is in the best 1/eta so far goes on at once       never
Hyperband             halvings that begin with many short or few long       at the end of rungs
===================== ==================================================== ==================

What to look at: `schedule` of a halving, its rungs as (trials, steps) before anything has run.
"""
