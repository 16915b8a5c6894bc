"""Distributions: which rank sends to which. One a file, with the handles that it gives to ranks.

    all_reduce        no server: the mean is a collective's work, any of ours
    sparse_all_reduce the same for lists of entries, which turn dense where that is smaller
    requantised_ring  a ring whose partial sums are compressed anew at each hop
    robust            all get all vectors, and a rule that some liars cannot move
    robust_rules      such rules
    server            one parameter server, or shards of the weights on several
    server_state      what such a server does with updates and clocks, without messages
    mean              the mean through servers, by itself
    hierarchical      groups average inside, and only their leaders send to the server
    one_sided         a server that does nothing: its memory is a window that workers write into
    neighbours        no centre at all: each rank mixes with those beside it in a graph
    meetings          pairs of neighbours, whenever one of them asks
    shared_vector     one vector in the memory of a node, and no messages
    distribution      what all of them are

With P workers and n bytes of weights, what comes in at the busiest port in a step:

    one server P n     S servers P n / S     groups of g P n / g     ring 2 n     neighbours d n
"""
