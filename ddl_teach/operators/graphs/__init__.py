"""Operators as explicit graphs of scalar operations, at sizes that can be counted.

    graph            what a graph is: plain arrays; its work, its depth, its levels, its value
    builder          writes graphs: arrays of nodes that are computed with like numbers, also by
                     trees of additions that take what is ready first
    fully_connected  the graphs of one layer: forward pass and gradients
    schedule         the greedy scheduler: when and on which of p processors each operation runs
    execute          runs a graph of real tasks on threads, greedily, and reports when each ran

`tests/operators/graphs/built` has the graphs of all operators of `ddl_teach.theory.work_depth`,
each pass for the same sizes. A graph computes what torch computes, and counting it gives the
formula to the digit; a test holds both for random sizes.
"""
