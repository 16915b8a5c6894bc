"""The small teaching library: the definition of each algorithm, one file each, on one screen.

A file needs NumPy, SciPy, torch, the communicator and at most other files of this room. It takes
arrays in the host's memory and checks nothing. The other rooms hold the same algorithms for use:
any type of number, any device, overlap, speed, and errors that help.

====================== ============================================================================
ring_allreduce         sum a vector over all ranks, with the fewest bytes
recursive_doubling     the same, with the fewest messages one after another
rabenseifner           the same, with few of both
tree_broadcast         one rank's vector to all ranks, and all ranks' sum to one
two_level_allreduce    first inside each node, then between nodes
double_binary_tree     two pipelined trees, each for half of the vector
pat                    all ranks' trees at once, their chunks together in few messages
sparse_allreduce       only entries that are not zero travel
direct_convolution     the definition: seven loops
im2col                 a convolution as one matrix product
fft_convolution        a convolution as one product for each frequency
winograd               a convolution with fewer multiplications
micro_batches          the best division of a batch under a memory limit
wavefront              the cells of a recurrent network, diagonal by diagonal
data_parallel          every rank takes a part of each batch
buckets                many gradients travel in one message, during the backward pass
tensor_parallel        a pair of layers, one split by columns and one by rows
product_3d             a matrix product on a three-dimensional grid of ranks
halo                   strips of images, with the neighbours' edges
gpipe                  a pipeline: all micro-batches forward, then all backward
one_f_one_b            a pipeline: one forward, one backward, and few activations kept
message_driven         a pipeline without an order: a stage runs what has arrived
sharded_optimizer      each rank keeps the optimizer states of a part of the weights
ring_attention         attention over a long text: keys and values travel from rank to rank
flash_attention        attention in tiles: no matrix of all scores, forward or backward
ulysses                attention over a long text: ranks change from positions to heads
experts                each rank has an expert, and tokens travel to the experts they choose
balanced_experts       experts loaded alike: a bias on their choice, copies on spare places
synchronous_sgd        all workers wait for each other in every step
parameter_server       the same with a server that keeps the weights
asynchronous_server    every gradient is a step of its own, and no worker waits
stale_synchronous      no worker is more than a few steps ahead of the slowest
backup_workers         the slowest few gradients of a step are not waited for
hogwild                all workers update one vector in shared memory without a lock
local_sgd              the mean of all workers' weights every few steps
diloco                 rounds of many steps, and a second rule for what they came to
elastic_averaging      springs between the workers and a centre
gossip                 each worker averages with its neighbours
robust_aggregation     means that a few liars cannot move
top_k_error_feedback   only the largest entries travel; what is left is sent later
one_bit                only the signs travel, and two means
qsgd                   entries are rounded at random, so that their expectation stays
quantised_allreduce    the mean of vectors in bytes, rounded at every hop or only twice
successive_halving     many trials for few steps, the best of them for more
population_based       the worst of a population go on from the best
distillation           one network learns to answer as an ensemble does
fp8_scaling            eight bits a number, with one scale for all ranks
speculative_decoding   a small model guesses tokens, and a large one checks them in one step
checkpoint_agreement   all ranks go on from the newest step that all have
silent_corruption      four checks for a bit that flipped without a word
====================== ============================================================================
"""
