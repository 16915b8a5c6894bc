"""What should happen, before anything runs: one formula, one function.

A message of n bytes costs ``latency + n * per_byte``. Its sender's out-port is busy for
``n * per_byte``, its head arrives ``latency`` after it began, and then the receiver's in-port is
busy for ``n * per_byte``: LogGP with ports (Alexandrov, Ionescu, Schauser & Scheiman 1995),
written L and G in the survey of Ben-Nun & Hoefler (2019). ``per_byte_reduced`` is what it costs to
combine two arrays, per byte of one of them; ``overhead`` is what a processor spends on each send
and on each receive.

================= ==========================================================================
collectives       time of an all-reduce, one function per algorithm
rooted            broadcast, reduce, gather, scatter: one rank differs from the others
symmetric         reduce-scatter, all-gather, all-to-all, scan, barrier: no rank is special
bounds            what no algorithm can beat
crossover         the size at which one algorithm begins to beat another, and who wins where
compression       the bandwidth below which fewer bytes are faster
context           what ring attention sends, and who has how much to do under a causal mask
convolution_cost  operations and memory of a convolution by each method
convolution_tiles how an image is cut for Winograd's transform and for Fourier's
convolution_time  how long it takes at three rates of a processor, and where two methods meet
elastic           where springs hold workers that would end apart
fit               latency, per_byte and per_byte_reduced out of measurements, with intervals
gossip            averages among a few neighbours: graphs, weights, how fast all agree
grids             data x pipeline x tensor x context: bytes, seconds, memory, and the best grid
halo              what a tile of an image must know of its neighbours, and its bytes
large_batches     what a step gains from more samples, and the wall in time to a target
median            which of the ordered times enclose it, however they are distributed
many_nodes        an all-reduce on nodes: inside and between, and a cable that ranks share
roofline          whether arithmetic or memory limits a layer, from two numbers of a machine
ring_bytes        what one rank sends round a ring, to the byte, also where P does not divide
robust_line       how fit lays a line through times of which some are far too long
split_layers      what tensor-parallel layers send in a step, layer by layer
staging           messages between devices: direct, staged, in chunks; the best chunk
staleness         how old a gradient may be before training blows up, and the stable step size
stragglers        what waiting costs: for delays that pass, and for one worker that stays slow
ensembles         what a majority would gain if its members erred independently
wavefront         how parallel layers by steps of a recurrent network are, and their time on ranks
work_depth        operations of a layer and their longest chain, of every operator and pass
================= ==========================================================================

Every function takes ``nbytes`` as a number or as a NumPy array, and answers in seconds, likewise.
"""
