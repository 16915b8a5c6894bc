"""Which trial is worth how many steps: each decider a file, knowing nothing of workers.

=================== =================================================== ====================
decider             what it does                                        a worker waits
=================== =================================================== ====================
RandomSearch        all trials alike                                    at the end
SuccessiveHalving   the best 1/eta of a rung go on, eta times as long   at the end of rungs
AsynchronousHalving a trial in the best 1/eta so far goes on at once    at the end
in_turn             proposals that learn from results, as `architectures` has two
=================== =================================================== ====================

What to look at: `schedule` of a halving, its rungs as (trials, steps) before anything has run.
"""
