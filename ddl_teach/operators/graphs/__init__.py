"""Operators as explicit graphs of scalar operations, at sizes that can be counted.

========== =====================================================================================
graph      what a graph is: plain arrays; its work, its depth, its levels, its value on numbers
builder    writes graphs: arrays of nodes that are added and multiplied like arrays of numbers
sums       trees of additions that take what is ready first
schedule   the greedy scheduler: who does which operation when, on p processors
execute    runs a graph of real tasks on threads, greedily, and says who did what when
========== =====================================================================================

Every other module is one operator with `forward`, `input_gradient` and, where there is something
to learn, `parameter_gradient`, each of which builds the graph of that pass for the sizes that
`ddl_teach.theory.work_depth` takes. A graph computes what torch computes, and counting it gives
the formula to the digit; a test holds both for random sizes.
"""
