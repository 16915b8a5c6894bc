"""Experiments: what the rooms promise by formula, timed and counted, simulated or measured.

========================== ========================================================================
convolution.sweep          each method over a row of problems: counted, predicted, measured
convolution.errors         how many digits each method loses
precision.sums             how far each way to sum is off, over the number of terms
precision.small_network    a training in half precision whose gradients vanish
recurrence.timing          a wavefront on real ranks, and what its prediction needs to know
micro_batches.measured     offers of this machine's convolutions, and the plan of a whole network
micro_batches.rooms        the workspace that each divided convolution of a network really took
pipelines.phantom_stage    a stage that only takes time
models.asleep              layers that sleep as long as an accelerator would compute
experts.only_time          spread experts without their numbers, for thousands of simulated ranks
grid.only_time             a step on a grid without its numbers
grid.measured              what a step on a grid sends and takes on real ranks
memory.only_time           a step with sharded states without its numbers
spatial.only_time          a convolution on tiles without its numbers
tensor.only_time           a column-row pair without its numbers
forms.only_time            an average in a compressed form without its numbers
forms.measured             seconds of an average, in several forms or at several bandwidths
architectures.costs        work, depth and bytes of a genotype, and what they come to on many ranks
choosing.allreduces        points of all-reduces: questions of ranks, bytes and networks
choosing.convolutions      points of convolutions: questions of shapes and room for a workspace
choosing.judge             accuracy and regret of choosers, on whole groups that are held out
consolidation.consolidated all ways to make one network of many, side by side
search.waits               what waiting costs a search, by any number of workers
training.watched           how good weights were when, of a training that never stopped for a look
========================== ========================================================================
"""
