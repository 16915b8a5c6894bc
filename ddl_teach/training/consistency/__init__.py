"""When ranks agree: level 3.

shares              which samples a worker looks at in which step
rows                which part of a large table a step needs
worker              one worker's weights, its share of the data, and its diary
consistency         what a consistency is: one worker's whole training, and what it needs
states              a training's state as bytes, and back, bit for bit
handles             what a distribution gives a worker, and what a consistency asks of servers

synchronous         all workers wait for all
synchronous_kfac    the same, and curvature travels beside the gradients
backup_workers      for all but the slowest
stale_synchronous   for workers that are too far behind
asynchronous        for none
hogwild             for none, and none takes a lock
served              the loop of those with servers: hand a gradient in, fetch weights
local               for all, but only now and then
post_local          first at every step, later now and then
adaptive_local      the more often, the smaller the loss has become
elastic             none agree: springs hold the workers to a centre
block_momentum      as local, and the agreed step keeps its momentum
diloco              as local, and a second rule steps with what a round came to
streaming_diloco    the same, a part of the weights at a time, while the steps go on
consensus_admm      as local, and each remembers what its own data want otherwise
rounds              the loop of those that agree now and then
gossip              each with its neighbours only, at every step
compressed_gossip   the same, and only what is new travels
noloco              as local, with an outer step among a few neighbours
push_sum            the same where links go one way
asynchronous_gossip with one neighbour at a time, whenever one likes

lost_updates        what common memory forgets where no worker takes a lock

rates               how the rates of update rules grow and fall
gradient_noise      how large a batch is worth its samples, from what ranks have in hand
"""
