# %% [markdown]
# # Server or no server
#
# **Who carries the traffic?**
#
# Ranks that train together must average their gradients. One way is a *parameter server*: it keeps
# the weights, all workers send it gradients and fetch weights from it. It can wait for slow
# workers and go on without dead ones. Another way has no server: each rank sends to its
# neighbours. Both ways can give every rank the same mean, and nearly as many bytes travel in all.
# But they travel through other links.
#
# In this unit you write a parameter server and cut it into shards. You count the bytes that come
# in at the server. Then you do without a server, by gossip. At the end machines without gradients
# help. You need unit 06, where the ring comes from. *Beginners* take sections 1 to 4,
# *intermediate* readers all but sections 9 and 11, *advanced* ones everything. About two hours.
#
# ## 1. The middle of the star · *beginner*
#
# The first cell starts five engines. The second simulates one exchange by each way: first a
# server, rank 0, with four workers; then a ring of five. Press *play* in both. Which rank is busy?

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_teach.collectives import linear, native, ring
from ddl_teach.comm import ANY, Phantom, Uniform
from ddl_teach.theory import servers as theory
from ddl_teach.theory.machine import Link

engines = Engines(5)

# %%
from ddl_class import animate

x, network = np.ones(100_000), Uniform(latency=1e-5, bandwidth=1e9)
display(animate(simulate(linear.allreduce, 5, network=network, x=x)))
animate(simulate(ring.allreduce, 5, network=network, x=x))

# %% [markdown]
# With $P$ workers and $n$ bytes of gradients, $P\,n$ bytes come in at the server, and as many go
# out. With $S$ servers, each with a *shard* (a part) of the weights, $P\,n/S$ bytes come in at
# each. In a ring of $P$ ranks every rank receives
#
# $$n_\text{server} = P\,n,\qquad n_\text{sharded} = \frac{P}{S}\,n,\qquad
# n_\text{ring} = 2\,\frac{P-1}{P}\,n\; <\; 2\,n.$$
#
# The server answers when all workers have sent. So a step through it takes about $2\,(L +
# P\,n/B)$, and through the ring $2(P-1)\,(L + n/(P B))$.
#
# ### Predict
#
# Take 256 workers and 100 MB of gradients. How many bytes come in at one server in each step? And
# how many times as long as by a ring does the exchange take, if latencies are too short to matter?

# %%
predict("15.ingress", ...)
predict("15.slower", ...)

# %% [markdown]
# ## 2. One server · *beginner*
#
# **Exercise.** Rank 0 is the server, the others are workers. Each worker's `x` must become the
# mean over the workers, in place. The server has no gradient of its own: what stands in its `x`
# must not be added. `comm.recv(x, ANY)` receives from the worker that sends first.
#
# The library has a definition of each way on one screen, for reading: a whole training, here with
# a server. When your answer is right, the cell below the check shows it, folded. Click on the line
# to unfold it.


# %% name="15.server" tags=["answer"]
def server(comm, x):
    """Rank 0 takes in all workers' x and sends them the mean: sum / (comm.size - 1)."""
    ### BEGIN SOLUTION
    if comm.rank > 0:
        comm.send(x, 0)
        comm.recv(x, 0)
        return
    arriving = np.empty_like(x)
    x[...] = 0
    for _ in range(comm.size - 1):
        comm.recv(arriving, ANY)
        x += arriving
    x /= comm.size - 1
    for worker in range(1, comm.size):
        comm.send(x, worker)
    ### END SOLUTION


# %% name="15.server" tags=["check"]
check("15.server", server)
### BEGIN HIDDEN TESTS
judge("15.server", server, ranks=(6, 7, 12), seed=151)
### END HIDDEN TESTS

# %%
from ddl_class import definition

definition("parameter_server")

# %% [markdown]
# ## 3. Shards · *beginner*
#
# All bytes pass through one server's link. So use several servers. Now ranks $0$ to $S-1$ are
# servers, and server $s$ averages part $s$ of the vector: `np.array_split(x, servers)[s]`, which
# shares the memory of `x`. A server needs nothing from the others, so it is easy to add more.
#
# **Exercise.** The same again through `servers` servers. All of them should work at the same time.
# If a worker waits for one server's answer before it sends to the next, they work one after the
# other, and nothing is gained.


# %% name="15.sharded" tags=["answer"]
def sharded(comm, x, servers):
    """Server s < servers makes the mean of part s over the workers, ranks servers and up."""
    ### BEGIN SOLUTION
    parts = np.array_split(x, servers)
    workers = range(servers, comm.size)
    if comm.rank in workers:
        for s in range(servers):
            comm.send(parts[s], s)
        for s in range(servers):
            comm.recv(parts[s], s)
        return
    mine = parts[comm.rank]
    arriving = np.empty_like(mine)
    mine[...] = 0
    for _ in workers:
        comm.recv(arriving, ANY)
        mine += arriving
    mine /= len(workers)
    for worker in workers:
        comm.send(mine, worker)
    ### END SOLUTION


# %% name="15.sharded" tags=["check"]
check("15.sharded", sharded)
### BEGIN HIDDEN TESTS
judge("15.sharded", sharded, ranks=(6, 7, 12), seed=152)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. What comes in at the server · *beginner*
#
# Now count. A run's ledger knows every message. So what came in at rank 0 is the sum of what all
# others sent to it. The next cells let your servers run on hundreds of simulated workers, with a
# small vector of 8 kB. How many bytes come in *per byte of the vector* does not depend on its
# size. The second cell takes the time of 256 workers, through one server and round a ring. The
# third draws what comes in at rank 0.

# %%
from ddl_class.plots.gossip import plot_ingress
from ddl_teach.training.distribution.mean import mean_of_workers

my_sharded = yours("15.sharded", sharded, mean_of_workers)


def exchange(comm, servers):
    if servers == 0:  # a phantom has a size and no numbers: 256 ranks take less of your time
        return ring.allreduce(comm, Phantom(8192, itemsize=8))
    my_sharded(comm, np.ones(1024), servers)


# %%
ways = {"one server": 1, "2 servers": 2, "ring": 0}
many = {"network": Uniform(latency=1e-6, bandwidth=1e6), "trace": False}  # bytes rule
grid, nbytes = np.array([2, 3, *2 ** np.arange(2, 11)]), 8192
reveal("15.ingress", 256 * 100e6)
through, around = (simulate(exchange, 256 + s, servers=s, **many).time for s in (1, 0))
formula = theory.server_step(256, nbytes, Link(1e-6, 1e-6))
print(f"256 workers: {through:.2f} s (formula: {formula:.2f} s), by the ring {around:.4f} s")
reveal("15.slower", through / around)


# %%
def ingress(run, counts, **how):
    """What comes in at rank 0, each way, with so many workers."""
    runs = {w: [run(exchange, p + s, servers=s, **how) for p in counts] for w, s in ways.items()}
    return {way: (counts, [each.bytes_to(0) for each in some]) for way, some in runs.items()}


simulated = ingress(simulate, [4, 16, 64], **many)
formulas = zip(ways, (grid, grid / 2, 2 * (grid - 1) / grid), strict=True)
lines = {way: (grid, nbytes * each) for way, each in formulas}
plot_ingress(lines, simulated)

# %% [markdown]
# A line is the formula, a square is the ledger of a simulated run. They agree to the byte. (If the
# library's servers stand in for yours, they receive 72 bytes more for each worker.) With a fixed
# number of servers, what comes in grows with the workers; in a ring it stays below twice the
# vector. And the time? The server must receive from the last worker before it answers the first.
# So everything passes through its link twice, one after the other.
#
# ## 5. On your own ranks · *intermediate*
#
# The same program runs on your engines, real processes with real messages: two and three workers
# through one server, through two, and the ring. The formula, the simulation and your engines count
# the same bytes, because bytes do not depend on the machine.
#
# Times do. In the second cell your server, the ring and the all-reduce of the MPI library take
# turns on four engines, with 4 MB.

# %%
counted = ingress(engines.run, [2, 3])
for way in ("one server", "2 servers"):
    assert np.allclose(counted[way][1], np.interp([2, 3], *lines[way]), rtol=0.05)
plot_ingress(lines, simulated, counted)

# %%
from ddl_class import stopwatch

my_server = yours("15.server", server, mean_of_workers)
three = {"the server": my_server, "our ring": ring.allreduce, "MPI's own": native.allreduce}
turns = {"sizes": [4_000_000], "ways": list(three.values()), "timeout": 100}
turns |= {"trace": False, "strict": False}
took = np.max(engines.run(stopwatch, 4, **turns).results, axis=0)[1:, :, 0]
for name, middle in zip(three, np.median(took, axis=0), strict=True):
    print(f"{name:12} {middle * 1e3:6.2f} ms")

# %% [markdown]
# On one machine all ranks share the memory, so the server's link is as fast as the memory, and
# three workers are few. The ratio is far from that of 256 workers on a network. So say for which
# machine a ratio holds.
#
# ## 6. What a server can do that a ring cannot · *intermediate*
#
# In a ring, if one rank is late all are late, and if one rank dies the ring is broken. A server
# can choose which workers it waits for. Here is a worker's whole training with the library's
# server: fetch weights, compute, push the gradient, fetch again. Worker 1 stops sending in the
# third step. The server waits a second or two, notes it, and goes on with the others. Simulated
# ranks and your engines report the same, the first in virtual seconds, the second in real ones. A
# worker may also begin late: with `Server(late=(2,))` the server waits for worker 2 only after its
# first message. A worker that counted as dead and sends again is back. How *far* ahead fast
# workers may run, `bound=...`, is unit 14.
#
# The third cell has another kind of server: it runs no code. In MPI a rank can open a **window**
# in its memory. Others then read this memory and add to it without asking. But memory alone cannot
# keep a momentum, decode a message, or say which worker was last.


# %%
def training(comm, distribution, falls_silent=None, steps=6):
    weights = np.zeros(4)
    handle = distribution.open(comm, weights, Dense(), Service(SGD(0.1)))
    if handle.worker is None:
        return handle.serve()  # until all workers have left
    while (clock := handle.pull(weights)) < steps:
        if (handle.worker, clock) == falls_silent:
            return None  # without leave(): the server does not know
        handle.push(weights - handle.worker)
    handle.leave()


# %%
from ddl_teach.training.compression.dense import Dense
from ddl_teach.training.consistency.handles import Service
from ddl_teach.training.distribution.server import Server
from ddl_teach.training.optimizers.sgd import SGD

how = {"distribution": Server(patience=1.0), "falls_silent": (1, 2)}
for run in (simulate(training, 5, **how), engines.run(training, **how)):
    shift = run.results[0]
    print(f"{shift.steps} steps; " + "; ".join(shift.events))
    assert shift.steps == 6

# %%
from ddl_teach.training.consistency.asynchronous import Asynchronous
from ddl_teach.training.distribution.one_sided import OneSided
from ddl_teach.training.optimizers.momentum import Momentum

run = engines.run(training, distribution=OneSided(), timeout=60)
kinds = run.ledger[0].by_kind()
print(f"rank 0 added to windows {kinds['add']} times; its own was read {kinds['get']} times")
print(OneSided().objection(Asynchronous(), Dense(), Momentum(0.1, 0.9)))

# %% [markdown]
# **Exercise.** A warm-up of three minutes. A server need not wait for all: with *backup workers*
# it goes on as soon as it has `enough` gradients of a step, and drops those that come later.
# `arrivals[w]` is the second at which the gradient of worker $w$ is there. After how many seconds
# does the server go on?


# %% name="15.enough" tags=["answer"]
def goes_on(arrivals, enough):
    """The second at which the server has `enough` gradients, whichever come first."""
    ### BEGIN SOLUTION
    return sorted(arrivals)[enough - 1]
    ### END SOLUTION


# %% name="15.enough" tags=["check"]
check("15.enough", goes_on)
### BEGIN HIDDEN TESTS
judge("15.enough", goes_on, seed=157)
### END HIDDEN TESTS

# %% [markdown]
# ## 7. No server at all · *intermediate*
#
# In **gossip** a rank sends to a few neighbours only, and takes an average of what it receives and
# what it has:
#
# $$x_i \;\leftarrow\; \sum_j W_{ij}\, x_j .$$
#
# The entry $W_{ij}$ is zero where ranks $i$ and $j$ are no neighbours. No rank needs the mean of
# all. But if the columns of $W$ sum to 1, the mean stays what it was; and if the rows do, ranks
# that agree go on agreeing. A step costs a message for each neighbour, however many ranks there
# are. Here are four graphs of eight ranks. In the last graph the links change: each rank sends to
# the rank 1 place on (blue), in the next step 2 places on (red), then 4 (green).
#
# **Predict.** 64 ranks on a ring average with their two neighbours in each step. All differences
# between ranks shall shrink to a hundredth of what they were at least. After how many steps is
# that so, even in the worst case?

# %%
from ddl_class.plots.gossip import plot_consensus, plot_disagreement, plot_graphs
from ddl_teach.theory.gossip import contraction, graphs, mixing
from ddl_teach.training.consensus import agree
from ddl_teach.training.distribution import neighbours
from ddl_teach.training.tasks.digits import Digits

four = (graphs.ring, graphs.torus, graphs.exponential, graphs.one_peer_exponential)
display(plot_graphs({make(8).name: make(8).rounds for make in four}))
predict("15.steps", ...)

# %% [markdown]
# **Exercise.** A warm-up of three minutes. The smallest gossip: two ranks meet, and after it both
# have the mean of their vectors. The lines stand below, sorted by the alphabet, and two of them
# belong nowhere: put the others in order. *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓*
# move lines.


# %% name="15.meet" tags=["answer"]
def meet(comm, x, partner):
    """This rank meets its partner; in the x of both is then the mean of the two."""
    ### BEGIN SOLUTION
    theirs = np.empty_like(x)
    comm.sendrecv(x, partner, theirs, partner)
    x += theirs
    x /= 2
    ### END SOLUTION


# %% name="15.meet" tags=["check"]
check("15.meet", meet)
### BEGIN HIDDEN TESTS
judge("15.meet", meet, ranks=(2, 8, 16), seed=155)
### END HIDDEN TESTS

# %% [markdown]
# **Exercise.** Which weights? The plain average of all that a rank receives seems natural, and its
# rows sum to 1. But then many ranks receive from a rank with many neighbours, so it counts for
# more than others. The ranks agree on a vector that is not the mean. Metropolis-Hastings weights
# avoid that, and each rank can compute its own from its neighbours' degrees $d$:
#
# $$W_{ij} = \frac{1}{1 + \max(d_i, d_j)} \quad\text{for neighbours,}\qquad
# W_{ii} = 1 - \sum_{j \ne i} W_{ij}.$$
#
# `neighbours[i]` lists rank $i$'s neighbours; links go both ways.


# %% name="15.weights" tags=["answer"]
def weights(neighbours):
    """The matrix W of Metropolis and Hastings: a row and a column for each rank."""
    matrix = np.zeros((len(neighbours), len(neighbours)))
    ### BEGIN SOLUTION
    for i, near in enumerate(neighbours):
        for j in near:
            matrix[i, j] = 1 / (1 + max(len(near), len(neighbours[j])))
        matrix[i, i] = 1 - matrix[i].sum()
    return matrix
    ### END SOLUTION


# %% name="15.weights" tags=["check"]
check("15.weights", weights)
### BEGIN HIDDEN TESTS
judge("15.weights", weights, seed=153)
### END HIDDEN TESTS

# %% [markdown]
# ## 8. How fast they agree · *intermediate*
#
# **Exercise.** One step, on ranks. `matrix[i, j]` is the weight that rank $i$ gives to what it
# receives from rank $j$. Change `x` in place, and send only to ranks that have a weight for it.
# Links may go one way: rank $i$ receives from $j$ where `matrix[i, j]` is not zero, and sends to
# $j$ where `matrix[j, i]` is not. If all ranks send first and then receive, they wait for each
# other for ever. So use `comm.isend(array, to)`: it begins to send, and what it returns has a
# `wait()`. Until then the array must not change. The cell after yours shows your step on a ring of
# five ranks. Press *play*.


# %% name="15.mix" tags=["answer"]
def mix(comm, x, matrix):
    """x becomes the sum over all ranks j of matrix[comm.rank, j] * (x of rank j), in place."""
    me, others = comm.rank, [rank for rank in range(comm.size) if rank != comm.rank]
    ### BEGIN SOLUTION
    mine, heard = x.copy(), np.empty_like(x)
    sent = [comm.isend(mine, other) for other in others if matrix[other, me]]
    x *= matrix[me, me]
    for other in others:
        if matrix[me, other]:
            comm.recv(heard, other)
            x += matrix[me, other] * heard
    for request in sent:
        request.wait()
    ### END SOLUTION


# %%
ring_of_5 = graphs.ring(5)
animate(simulate(mix, 5, x=np.ones(1000), matrix=mixing.mixing_matrix(ring_of_5), network=network))

# %% name="15.mix" tags=["check"]
check("15.mix", mix)
### BEGIN HIDDEN TESTS
judge("15.mix", mix, ranks=(6, 7, 12), seed=154)
### END HIDDEN TESTS

# %% [markdown]
# On one screen, a training by gossip on a ring:

# %%
definition("gossip")

# %% [markdown]
# Each rank begins with a random vector, then they gossip. How far are they from their mean after
# $t$ steps? Theory has one number for that, the **second eigenvalue** of $W$ (the first is 1 and
# belongs to the mean): after $t$ steps a difference is at most $\lambda_2^t$ times what it was.
#
# | graph | messages a step | $\lambda_2$ |
# |---|---|---|
# | ring | 2 | $\frac13 + \frac23\cos\frac{2\pi}{P}$ |
# | torus of side $a$ | 4 | $\frac35 + \frac25\cos\frac{2\pi}{a}$ |
# | exponential | $\log_2 P$ | $(\log_2 P - 1)/(\log_2 P + 1)$ |
# | one-peer exponential | 1 | nothing is left after $\log_2 P$ steps, if $P$ is a power of two |


# %%
my_mix = yours("15.mix", mix, neighbours.mix)


def apart(graph, **how):
    how |= {"mix": my_mix, "matrices": mixing.mixing_matrices(graph), "trace": False}
    return contraction.consensus_errors(simulate(agree, graph.ranks, **how).results)


# %%
graphs_of_64 = [make(64) for make in four]
simulated = {graph.name: apart(graph) for graph in graphs_of_64}
predicted = {graph.name: contraction.expected_errors(graph, 40) for graph in graphs_of_64}
reveal("15.steps", np.ceil(contraction.steps_until(0.01, contraction.ring(64))))
plot_consensus(simulated, predicted, how="simulated")

# %% [markdown]
# On the ring a change needs 32 steps to reach the last rank, and 1,433 to be forgotten: four times
# the ranks take sixteen times the steps. The one-peer exponential graph sends a single message a
# step, and after six steps *no* difference is left (drawn at $10^{-12}$: only rounding is): after
# the first step each rank has the mean of two ranks, after the second of four, and so on. It takes
# $\log_2 P$ steps, as an all-reduce by recursive doubling does; but here a training step lies
# between any two of them.
#
# **Your own ranks.** Five engines on a ring: the formula, the simulation, and your machine.

# %%
lines = contraction.expected_errors(ring_of_5, 12)
given = {"mix": my_mix, "matrices": mixing.mixing_matrices(ring_of_5), "steps": 12}
at_home = contraction.consensus_errors(engines.run(agree, **given).results)
assert at_home == apart(ring_of_5, steps=12)
plot_consensus({"five engines": at_home}, {"five engines": lines})

# %% [markdown]
# Simulated ranks give the same, to the last bit: each rank adds up in the same order.
#
# In training ranks never agree fully. The gradients of each step have noise of their own. What one
# mixing does not remove of it is still there in the next step. For noise of size 1 the ranks stay
# $\sqrt{\frac1P \sum_{k>1} 1/(1-\lambda_k^2)}$ apart. Now with noise, on 4 to 25 ranks:


# %%
def with_noise(graph):
    return np.mean(apart(graph, steps=60, noise=1.0)[30:])


def points(of, sizes=(4, 9, 16, 25)):
    return {make.__name__: [[f(make(p)) for p in sizes] for f in of] for make in four[:3]}


second = contraction.second_eigenvalue
plot_disagreement(points((second, with_noise)), points((second, contraction.disagreement)))

# %% [markdown]
# An eigenvalue close to 1 does less harm than it seems. In the picture the second eigenvalue comes
# closer to 1 from left to right. The dotted line would be right if all eigenvalues were as large
# as it. But the noise is spread over all of them, and most are smaller. So gossip trains even on a
# ring.
#
# ## 9. The surprise · *advanced*
#
# With an all-reduce and plain descent it makes no difference whether ranks average their gradients
# or their weights. So let neighbours average *gradients*, as in data parallelism. The mean over
# all ranks is kept, and each rank's step is less noisy: what could go wrong? Eight ranks on a ring
# learn the digits, averaging weights and averaging gradients, at three rates and from one seed.
# Nothing else is different. The picture shows the rate 0.1.


# %%
def descend(comm, what, rate, steps=120):
    own, seen = digits.initial(), []
    for step in range(steps):
        _, gradient = digits.gradient(own, comm.rank, comm.size, step)
        my_mix(comm, {"weights": own, "gradients": gradient}[what], ring_of_8)
        own -= rate * gradient
        seen.append(own.copy())
    return seen


# %%
digits, ring_of_8 = Digits(batch=8), mixing.mixing_matrix(graphs.ring(8))
tries = [(what, rate) for rate in (0.05, 0.1, 0.2) for what in ("weights", "gradients")]
runs = {(w, r): simulate(descend, 8, what=w, rate=r, trace=False).results for w, r in tries}
weights, gradients = (
    contraction.consensus_errors(runs[what, 0.1]) for what in ("weights", "gradients")
)
assert weights[-1] < weights[0] < gradients[-1]
series = {"averaging weights": weights, "averaging gradients": gradients}
plot_consensus(series, how="simulated")

# %%
for (what, rate), run in runs.items():
    shares = [digits.accuracy(seen[-1]) for seen in run]
    print(f"{what:9} averaged, rate {rate:4}: {min(shares):.0%} to {max(shares):.0%} read right")
    assert min(shares) > 0.8 if what == "weights" else max(shares) < 0.7

# %% [markdown]
# If ranks average gradients, no rank ever receives its neighbours' weights. It takes steps that
# fit the place where its neighbours are, not its own place. In a valley of curvature $a$, with
# rate $r$, each step multiplies a difference in the direction of eigenvalue $\lambda$ by
#
# $$\lambda - r a \;\;\text{(weights averaged)} \qquad 1 - r a \lambda \;\;\text{(gradients
# averaged).}$$
#
# A ring of four or more ranks has negative eigenvalues, down to $-\frac13$. There the second
# factor is above 1, and the difference between ranks grows exponentially. And where $\lambda$ is
# nearly zero, nothing makes it smaller. With an all-reduce this cannot happen, since all ranks
# have the same weights.
#
# Gossip has no server, but in each step a rank still waits for its neighbours, and they wait for
# theirs. So one slow rank slows all, neighbour by neighbour. In **asynchronous** gossip
# (`AsynchronousGossip`, after AD-PSGD) two ranks average when one of them asks, and meanwhile a
# gradient is computed in the background. Of two neighbours always the same one asks: otherwise
# three ranks that ask each other in a circle would wait for ever. On a ring of four real ranks,
# one of them five times slower, the fast ones were done in 0.28 of the time. (Two cores;
# `benchmarks/results/gossip_stragglers.txt`.)
#
# ## 10. What others use · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | `Server()`, `Sharded(servers)` | ps-lite; TensorFlow's `ParameterServerStrategy` |
# | the same, written by hand | your own class over `torch.distributed.rpc`, only maintained now |
# | `Hierarchical(group)` | BytePS: a node's GPUs add up first, spare CPUs are the shards |
# | `OneSided()` | `MPI_Accumulate` and `MPI_Get`; stores over RDMA |
# | `AllReduce("ring")` | NCCL, gloo, Horovod: what dense networks are trained with |
# | `Neighbours(graphs.ring)`, `Gossip()` | BlueFog: `bf.neighbor_allreduce` on any graph |
# | `PushSum()`, `AsynchronousGossip()` | SGP (Assran et al., 2019), AD-PSGD (Lian et al., 2018) |
# | `mix` with MPI's own | `MPI_Dist_graph_create_adjacent`, `MPI_Neighbor_allgather` |
#
# `torch.distributed` itself has no gossip: its ranks agree by collectives. But it has messages,
# and lists of messages that begin together. The next cell gossips with those, over gloo, on a ring
# of three engines, and so does your function. In short (all:
# `ddl_class/notebook/beside_torch.py`):
#
# ```python
# calls = [P2POp(isend, mine, to) for to in targets]
# calls += [P2POp(irecv, into, source) for source, into in heard.items()]
# for call in batch_isend_irecv(calls):
#     call.wait()
# ```

# %%
from ddl_class.notebook import beside_torch

given = {"matrices": mixing.mixing_matrices(graphs.ring(3)), "steps": 12, "timeout": 60}
both = [engines.run(agree, 3, mix=way, **given).results for way in (my_mix, beside_torch.gossip)]
assert np.allclose(*both)

# %% [markdown]
# The same vectors, in every step.
#
# Why did all-reduce win for dense networks, and why are servers still used for recommendation?
# Look at your picture of the bytes that come in. Where every worker sends all numbers, the
# server's link decides. Where a gradient touches a few rows of a giant table, a message to the
# server is small. A ring would send the zeros, too.
#
# ## 11. Spare machines · *advanced*
#
# **A puzzle.** Ranks 0 to 3 are workers, each with a vector of 1 MiB. Ranks 4 to 6 are spare
# machines without a vector of their own. Each rank has one cable to a switch, with 5 µs and 1 GB a
# second in each direction. All its messages share the cable, and each message costs its sender and
# its receiver 0.5 µs. In the end each worker must hold the sum over the four workers.
#
# A ring of the four workers takes 1.63 ms; the spare machines as three servers, with a third of
# the vector each, take 2.81 ms. The goal is **1.5 ms**. How is up to you. You may use the
# functions of `ring`, and `comm.split(colour)`, which gives all ranks of one colour a communicator
# of their own. The check says how long yours takes, and how long the best takes that is known.


# %% name="15.spares" tags=["answer"]
def with_spares(comm, x):
    """x of ranks 0 to 3 becomes their sum, in place; ranks 4 to 6 help, and their x is free."""
    ### BEGIN SOLUTION
    workers, cut = comm.split(int(comm.rank < 4)), int(0.15 * len(x))
    own = np.array_split(x[:cut], 8)  # for the ring; the rest is for the spare machines
    shards = [np.array_split(piece, 3) for piece in np.array_split(x[cut:], 8)]
    if comm.rank >= 4:
        requests = []
        for mine in [piece[comm.rank - 4] for piece in shards]:
            arriving = np.empty((4, len(mine)))
            for request in [comm.irecv(arriving[worker], worker) for worker in range(4)]:
                request.wait()
            mine[...] = arriving.sum(axis=0)
            requests += [comm.isend(mine, worker) for worker in range(4)]
    for turn in range(9 if comm.rank < 4 else 0):
        requests = []
        if turn < 8:
            requests += [comm.isend(shards[turn][s], 4 + s) for s in range(3)]
        if turn > 0:
            requests += [comm.irecv(shards[turn - 1][s], 4 + s) for s in range(3)]
        if turn < 8:
            ring.allreduce(workers, own[turn])
        for request in requests:
            request.wait()
    for request in requests:
        request.wait()
    ### END SOLUTION


# %%
from ddl_class.exercises.unit_15.spares_judges import SWITCH, in_a_ring

mine = yours("15.spares", with_spares, in_a_ring)
run = simulate(mine, 7, network=SWITCH, x=np.ones(2**17))
name = "Your sum" if mine is with_spares else "A ring"
run.timeline.plot(title=f"{name} of four workers, beside three spare machines")

# %% name="15.spares" tags=["check"]
check("15.spares", with_spares)
### BEGIN HIDDEN TESTS
judge("15.spares", with_spares, seed=156)
### END HIDDEN TESTS

# %% [markdown]
# In a ring 1.5 vectors come in at each worker, and nothing at the spare machines. If servers do
# all the work, 4/3 of a vector come in at each of them, and 1 at each worker. So give the ring a
# share $a$ of the vector and the servers the rest. Then $1 + a/2$ come in at a worker and $\frac43
# (1 - a)$ at a server. With $a = 2/11$ both are 1.09: no such mix is faster than 1.14 ms. BytePS
# (below) computes such shares for real clusters.
#
# ## What you said
#
# Your predictions of this unit, beside what was computed and simulated.

# %%
from ddl_class import predictions

predictions("15")

# %% [markdown]
# ## Three questions
#
# **1.** You have 64 workers and may buy servers. With how many servers does none of them receive
# more than a rank in a ring of 64?
#
# <details><summary>An answer</summary>
#
# $P n/S \le 2 n (P-1)/P$ from $S = P^2/(2(P-1)) = 32.5$ on, so with 33 servers. They are half as
# many machines as your workers, and they compute no gradients. So either workers serve as well,
# each with a shard of $n/P$: then each receives $2 n (P-1)/P$, as in a ring. Or the spare machines
# are cheap ones.
#
# </details>
#
# **2.** A worker that counts as dead was only slow, and sends a gradient of an old step. What
# should the server do with it?
#
# <details><summary>An answer</summary>
#
# If the server averages all gradients of a step, that step is over. It drops the gradient, and
# sends the worker the number of the step that the others are at. If it applies every gradient as
# it comes, it applies this one too, perhaps with a smaller factor: it is only a very stale one
# (unit 14). The library does both.
#
# </details>
#
# **3.** Gossip on a ring of 1,024 ranks costs each of them $2n$ a step, as an all-reduce does.
# When is gossip still better?
#
# <details><summary>An answer</summary>
#
# Not on a ring. But on a one-peer exponential graph a step costs $n$ and one latency, and ranks
# agree in $\log_2 P = 10$ steps. In a step a rank waits for one neighbour only, so a delay spreads
# step by step. Where links are slow or come and go there may be no ring at all. And if a rank
# leaves, and links go both ways, its neighbours only give themselves the weight that was the
# leaver's.
#
# </details>
#
# ## Where to read on
#
# - M. Li et al., "Scaling distributed machine learning with the parameter server", *OSDI*, 2014.
# - J. Dean et al., "Large scale distributed deep networks", *NIPS*, 2012: the first servers for
#   deep networks.
# - P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
#   workstations", *JPDC*, 2009: in no all-reduce among ranks does a rank receive less than in the
#   ring.
# - Y. Jiang et al., "A unified architecture for accelerating distributed DNN training in
#   heterogeneous GPU/CPU clusters" (BytePS), *OSDI*, 2020: when servers win again.
# - X. Lian et al., "Can decentralized algorithms outperform centralized algorithms?", *NIPS*,
#   2017; and "Asynchronous decentralized parallel stochastic gradient descent", *ICML*, 2018.
# - B. Ying et al., "Exponential graph is provably efficient for decentralized deep training",
#   *NeurIPS*, 2021.
# - M. Assran et al., "Stochastic gradient push for distributed deep learning", *ICML*, 2019.
# - L. Xiao and S. Boyd, "Fast linear iterations for distributed averaging", 2004.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019, section 7.
# - Y. Takezawa, R. Sato, H. Bao, K. Niwa and M. Yamada, "Beyond exponential graph:
#   communication-efficient topologies for decentralized learning via finite-time convergence",
#   *NeurIPS*, 2023: neighbours that change from step to step, so that all agree exactly after
#   finitely many steps, for any number of ranks.
# - P. Cagnasso, E. Belilovsky and E. Oyallon, "Unifying local communications and local updates for
#   LLM pretraining", *arXiv*, 2026: gossip and local steps together, for language models.
# - J. Kolehmainen et al., "NoLoCo: no-all-reduce low communication training method for large
#   models", arXiv 2506.10911, 2025: many steps alone, and then a mean of two ranks that are drawn
#   at random. Unit 24 has it.
# - `ddl_teach/theory/gossip/contraction.py`: why neighbours average weights and not gradients.
#
# The paths stand in `ddl_teach/training/distribution`, one a file. `progress()` shows how far you
# have come, and `review()` asks short questions. Unit 16 asks what of a gradient may be left out
# before it is sent.
