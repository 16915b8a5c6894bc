# %% [markdown]
# # Many nodes
#
# **Does it hold across a real network?**
#
# So far your ranks were processes of one machine, or simulated. A cluster is many machines, called
# *nodes*, and each node has a few ranks. Inside a node ranks share memory, and a message is a
# copy. Between nodes there are cards, cables and switches. A message takes longer there, all ranks
# of a node share one cable, and a cable can be pulled.
#
# In this unit you put together what you have so far: your ring, your model of a message, a
# training, an honest report. You need units 05, 06 and 08; units 18 and 19 help. *Beginners* take
# sections 1 to 5, *intermediate* readers all but section 10, *advanced* ones all. About two hours.
#
# ## 1. Where are my ranks? · *beginner*
#
# The first cell looks for nodes. Have you started engines on a cluster, with `ddl-teach cluster
# start slurm` or `hosts`? Then it takes these. Otherwise it makes a *cluster in a box*: four nodes
# inside this machine. Each has its own name, address and process table, and a cable of 100 Mbit/s.
# They end with this notebook. If no box can be made, the cell says why. Then four ranks of this
# machine *play* nodes, two by two. All cells below run there too, but there are no cables.

# %%
import numpy as np

from ddl_class import animate, check, hint, judge, predict, progress, reveal, yours
from ddl_class.clusters.many_nodes import find_nodes
from ddl_class.notebook import among_nodes
from ddl_class.plots.many_nodes import plot_nodes, plot_share_of_work

ground = find_nodes(nodes=4, each=2, rate="100mbit")
engines, node_of = ground.engines, ground.node_of
plot_nodes(node_of)

# %% [markdown]
# Keep this picture in mind. A rank program does not see it: `comm.send(x, 1)` and `comm.send(x,
# 2)` look alike. But `comm.node` says on which node a rank is. And there are now *two* costs of a
# message of $n$ bytes: $L + nG$ inside a node, and $L' + nG'$ from node to node. As before $L$ is
# the latency; $G$ is the time of one byte, 1 / bandwidth.
#
# **Exercise.** A warm-up of three minutes. Ranks form a ring, in some order. How many hops of the
# ring go from one node to another? A ring has as many hops as ranks. The lines stand below, sorted
# by the alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* makes code of
# comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected lines.


# %% name="20.crossings" tags=["answer"]
def crossings(node_of, order):
    """How many hops from node to node has the ring of the ranks in `order`?"""
    ### BEGIN SOLUTION
    count, before = 0, order[-1]
    for rank in order:
        if node_of[rank] != node_of[before]:
            count += 1
        before = rank
    return count
    ### END SOLUTION


# %% name="20.crossings" tags=["check"]
check("20.crossings", crossings)
### BEGIN HIDDEN TESTS
judge("20.crossings", crossings, seed=206)
### END HIDDEN TESTS

# %% [markdown]
# Now an all-reduce on $N$ nodes of $R$ ranks each. One way is a single ring of all ranks, in the
# order of the nodes. Each chunk of $c = n/NR$ bytes makes $2(NR-1)$ hops. One of $R$ hops goes to
# another node. There it may have to wait, because a cable lets one chunk pass every $c\,G'$
# seconds. So
#
# $$T_\text{one ring} = 2(NR-1)\,\max\!\Big(c\,G',\;
# \frac{(L' + c\,G') + (R-1)(L + c\,G)}{R}\Big).$$
#
# The other way goes *by parts*. First the ranks of a node share the adding: each rank gets one of
# $R$ parts of the node's sum. Then the ranks with the same part make a ring across the nodes, and
# all $R$ rings run at the same time. At the end each rank gets the other parts from its own node.
# With $C$ cards in each node, each with a cable of its own,
#
# $$T_\text{by parts} = 2(R-1)\Big(L + \frac{n}{R}G\Big) + 2(N-1)\Big(L' + \frac{n}{NC}G'\Big).$$
#
# ### Predict
#
# **1.** Take the same ring on the same ranks, but in another order: no rank has its neighbours on
# its own node. Every rank sends as many bytes as before. With 4 nodes of 2 ranks, how many times
# as long does a long vector take?
#
# **2.** One of the four cables becomes ten times as slow. How many times as long does your
# all-reduce take?
#
# **3.** A ResNet-50 has 102 MB of gradients. Take 64 nodes with 8 GPUs and 8 cards each. Inside a
# node there are 2 µs and 300 GB/s, through a card 5 µs and 25 GB/s. One ring of all ranks uses one
# card of each node, parts use all eight. How many times as long does the ring take?

# %%
predict("20.dealt", ...)
predict("20.slow", ...)
predict("20.parts", ...)

# %% [markdown]
# ## 2. Two kinds of messages · *beginner*
#
# A ping-pong, as in unit 05, short and long: once between two ranks of one node, once between two
# nodes.
#
# **Exercise.** `pings` is a list of `(a, b, nbytes, seconds)`: a ping between ranks `a` and `b`.
# There are two sizes, one short and one long, and many pings of each. Return `(latency, per_byte)`
# inside a node, and the same between nodes. The latency is the median time of the short pings. The
# time a byte comes from the difference to the long ones. Why the median? Sometimes a ping is late
# because another program had the processor.


# %% name="20.levels" tags=["answer"]
def levels(node_of, pings):
    """((latency, per_byte) inside a node, (latency, per_byte) between nodes)."""
    short, long = min(ping[2] for ping in pings), max(ping[2] for ping in pings)
    ### BEGIN SOLUTION
    found = []
    for inside in (True, False):
        some = [ping for ping in pings if (node_of[ping[0]] == node_of[ping[1]]) == inside]
        quick, slow = (
            np.median([seconds for _, _, nbytes, seconds in some if nbytes == size])
            for size in (short, long)
        )
        found.append((quick, (slow - quick) / (long - short)))
    return tuple(found)
    ### END SOLUTION


# %% name="20.levels" tags=["check"]
check("20.levels", levels)
### BEGIN HIDDEN TESTS
judge("20.levels", levels, seed=201)
### END HIDDEN TESTS


# %%
from functools import partial

from ddl_teach.theory import many_nodes as theory

my_levels = yours("20.levels", levels, theory.levels)
inside, between = theory.links(my_levels(node_of, among_nodes.pings(engines.run, node_of)))
for where, link in (("inside", inside), ("between", between)):
    print(f"{where}: {link.latency * 1e6:.0f} µs, {1e-6 / link.per_byte:,.1f} MB a second")
print(f"inside, {between.per_byte / inside.per_byte:,.3g} times as many bytes go in a second")

# %% [markdown]
# In a box the cables carry 100 Mbit/s, that is 12.5 MB a second; headers take a part of it. (Ranks
# that only *play* nodes have no cables: there both lines are alike. Is there a line with
# 10,000,000 MB a second? Then other programs were at work, and the long pings took no longer than
# the short ones: run the cell again.)
#
# ## 3. Bring your ring · *beginner*
#
# **Exercise.** This is your all-reduce of unit 06, with one thing more: `ranks` is the list of
# those that take part, in the order of the ring. A rank that is not in it returns at once. In unit
# 06 the list was 0, 1, 2 and so on, and the place of a rank in it was the rank itself. Here its
# place is `ranks.index(comm.rank)`. Copy what you wrote there and change *ranks* to *places*. The
# cell after yours shows four ranks in the order 0, 2, 1, 3. Press *play*.


# %% name="20.ring" tags=["answer"]
from ddl_teach.comm import split_evenly


def ring(comm, x, ranks):
    """Sum `x` over `ranks`, in place, round a ring in the order of that list."""
    ### BEGIN SOLUTION
    if comm.rank not in ranks:
        return
    size, place = len(ranks), ranks.index(comm.rank)
    right, left = ranks[(place + 1) % size], ranks[place - 1]
    chunks, arriving = split_evenly(x, size), split_evenly(np.empty_like(x), size)
    for step in range(1, size):
        outgoing, incoming = (place - step) % size, (place - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, arriving[incoming], left)
        chunks[incoming] += arriving[incoming]
    for step in range(size - 1):
        outgoing, incoming = (place - step) % size, (place - step - 1) % size
        comm.sendrecv(chunks[outgoing], right, chunks[incoming], left)
    ### END SOLUTION


# %%
animate(partial(ring, ranks=[0, 2, 1, 3]))

# %% name="20.ring" tags=["check"]
check("20.ring", ring)
### BEGIN HIDDEN TESTS
judge("20.ring", ring, ranks=(6, 7, 12), seed=202)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. An exchange that knows its nodes · *beginner*
#
# **Exercise.** `node_of[r]` is the node of rank `r`. Each node has the same number of ranks, and
# any rank can be on any node. Your *mates* are the ranks of your node. Your *peers* are the ranks
# with the same place on their nodes. `parts` cuts `x` into as many parts as there are mates.
# First, sum your own part over the mates: send each mate the part with its number. Then do a
# `ring` of the peers. Then give your part to each mate. From node to node, $2(N-1)n$ bytes should
# go in all, and each rank sends its share of them. The cell after yours shows four ranks on two
# nodes: ranks 0 and 2 are mates. Press *play*.


# %% name="20.exchange" tags=["answer"]
def exchange(comm, x, node_of):
    """Sum `x` over all ranks, in place: parts inside the nodes, across them, inside again."""
    place_of = [node_of[:rank].count(node) for rank, node in enumerate(node_of)]
    place = place_of[comm.rank]
    mates = [rank for rank, node in enumerate(node_of) if node == node_of[comm.rank]]
    peers = [rank for rank, other in enumerate(place_of) if other == place]
    parts = split_evenly(x, len(mates))
    ### BEGIN SOLUTION
    mine, arriving = parts[place], np.empty_like(parts[place])
    for away in range(1, len(mates)):
        to, source = (place + away) % len(mates), place - away
        comm.sendrecv(parts[to], mates[to], arriving, mates[source])
        mine += arriving
    ring(comm, mine, peers)
    for away in range(1, len(mates)):
        to, source = (place + away) % len(mates), place - away
        comm.sendrecv(mine, mates[to], parts[source], mates[source])
    ### END SOLUTION


# %%
animate(partial(exchange, node_of=[0, 1, 0, 1]))

# %% name="20.exchange" tags=["check"]
check("20.exchange", exchange)
### BEGIN HIDDEN TESTS
judge("20.exchange", exchange, ranks=(6, 8, 12), seed=203)
### END HIDDEN TESTS

# %% [markdown]
# The next cell sums a vector of 256 KiB on each rank, once, on your nodes.

# %%
my_exchange = partial(yours("20.exchange", exchange, among_nodes.allreduce), node_of=node_of)
by_ledger, by_cards = ground.sent(my_exchange, 2**18)
print("ledger, node by node:", by_ledger, "cards, node by node:", by_cards, sep="\n")
assert sum(by_ledger) == 2 * (len(set(node_of)) - 1) * 2**18
plot_nodes(node_of, by_ledger)

# %% [markdown]
# The ledger equals the formula to the byte. Each card has its own counters, which know nothing
# about our ledger. A card counts more: every packet has headers, packets are acknowledged, and MPI
# sends a few messages of its own. (Without a box the counters say 0, because there are no such
# cards.)
#
# ## 5. Predict a step · *beginner*
#
# A step of training is work, and then an exchange of the gradients.
#
# **Exercise.** The gradients have `nbytes` bytes, and computing takes `work` seconds. Return two
# numbers: the time of a step with one ring of all ranks, and by parts. A `cluster` has `nodes`,
# `ranks_per_node`, `cards` of a node, and two links: `inside`, and `between` through one card. A
# link has a `latency` and a `per_byte`. The formulas stand in section 1. One case is special: with
# one node, all messages of the ring stay inside it.


# %% name="20.step" tags=["answer"]
def step(cluster, nbytes, work):
    """Seconds of a step: (by one ring of all ranks, by parts)."""
    ### BEGIN SOLUTION
    nodes, each, inside, between = (
        cluster.nodes, cluster.ranks_per_node, cluster.inside, cluster.between
    )  # fmt: skip
    chunk = nbytes / (nodes * each)
    near, far = (link.latency + chunk * link.per_byte for link in (inside, between))
    hop = max(chunk * between.per_byte, (far + (each - 1) * near) / each) if nodes > 1 else near
    part = nbytes / (nodes * cluster.cards)
    within = 2 * (each - 1) * (inside.latency + nbytes / each * inside.per_byte)
    across = 2 * (nodes - 1) * (between.latency + part * between.per_byte)
    return work + 2 * (nodes * each - 1) * hop, work + within + across
    ### END SOLUTION


# %% name="20.step" tags=["check"]
check("20.step", step)
### BEGIN HIDDEN TESTS
judge("20.step", step, seed=204)
### END HIDDEN TESTS

# %%
from ddl_teach.theory.machine import Cluster, Link

my_step, nodes = yours("20.step", step, theory.step), len(set(node_of))
ours = Cluster(nodes, len(node_of) // nodes, 1, inside, between)
work, whole = among_nodes.whole_step(engines.run, my_exchange)  # gradients of 240 kB
_, foretold = my_step(ours, among_nodes.STEP_BYTES, work)
print(f"work {work:.3f} s; a step: predicted {foretold:.3f} s, measured {whole:.3f} s")

# %% [markdown]
# That was a perceptron with 60,010 weights on your nodes, which have one card each. First its
# gradients were computed alone, then with the exchange. The first time and your formula gave the
# prediction of the second.
#
# ## 6. More nodes than you have · *intermediate*
#
# Let a step of the ResNet-50 compute for 100 ms, on the network of the third prediction. Lines are
# your formulas. Squares are your own functions on up to 512 simulated ranks. (These get 8 kB, on a
# network where every byte takes proportionally longer. That is the same time, and it fits into
# your memory.)

# %%
my_ring = yours("20.ring", ring, among_nodes.ring)
links, counts = (Link(2e-6, 1 / 300e9), Link(5e-6, 1 / 25e9)), range(1, 2049)
gpus = {n: Cluster(n, 8, 8, *links) for n in counts}
one_ring, by_parts = np.transpose([my_step(gpus[n], 102e6, 0.1) for n in counts])
leaders = 0.1 + np.array([theory.by_leaders(gpus[n], 102e6) for n in counts])
passing = [Cluster(n, 8, 8, links[0].shared(8), links[1]) for n in counts]  # 8 rings pass a GPU
eight = 0.1 + np.array([theory.one_ring(cluster, 102e6 / 8) for cluster in passing])
reveal("20.parts", (one_ring[63] - 0.1) / (by_parts[63] - 0.1))

# %%
large = partial(among_nodes.at_large, nbytes=102e6)
rings = [0.1 + large(my_ring, 1, gpus[n]) for n in (2, 8)]
parts = [0.1 + large(my_exchange.func, 8, gpus[n]) for n in (2, 8, 64)]
assert np.allclose(parts, by_parts[[1, 7, 63]], rtol=0.01)
assert 400 < 1 + np.argmax(leaders < one_ring) < 410
fewer = 1 + np.flatnonzero(eight < by_parts)[-1]
print(f"eight rings are ahead of parts up to {fewer} nodes")
assert 8 < fewer < 64
steps = {"one ring": one_ring, "eight rings": eight, "leaders": leaders, "by parts": by_parts}
lines = {name: (counts, 0.1 / seconds) for name, seconds in steps.items()}

# %%
squares = {"one ring": ([2, 8], 0.1 / np.array(rings))}
squares["by parts"] = [2, 8, 64], 0.1 / np.array(parts)
plot_share_of_work(lines, squares)

# %% [markdown]
# One ring has one card of eight, so its race against parts is not fair. *Eight rings* are fair: a
# ring through each card with an eighth of the vector, which NCCL can do. On few nodes they are
# ahead. Inside and across the nodes, parts wait for each other; in rings these steps overlap. On
# many nodes parts are ahead, because they need fewer hops. (The line of the rings is a lower
# bound, so the true crossing is at fewer nodes.) *Leaders* are the old way. They collect whole
# vectors inside their nodes and send them through one card each (Karonis et al., 2000). By these
# formulas one ring is ahead of them up to some four hundred nodes. By parts, all cards carry, no
# whole vector travels, and there are only as many hops as nodes. But thousands of hops are still
# many. For such numbers NCCL has trees, whose hops grow like a logarithm (Jeaugey, 2019).
#
# All-reduces are often compared by *bus bandwidth*, as `nccl-tests` prints it: bytes over seconds,
# times $2(P-1)/P$, which is the least that each rank must send. So it can be compared with what a
# link carries, for any number of ranks.

# %%
from ddl_teach.theory.bounds import bus_bandwidth

for name, seconds in steps.items():
    rate = bus_bandwidth("allreduce", 64 * 8, 102e6, seconds[63] - 0.1)
    print(f"64 nodes, {name:11}{rate / 1e9:6.1f} GB/s of bus bandwidth")

# %% [markdown]
# ### A GPT over nodes
#
# Which grid of unit 12 suits nodes? Take eight nodes of eight ranks, with one card each. Batches
# of 256 texts are split along data, layers along tensor. Ranks along tensor are neighbours, so up
# to eight of them are on one node. Two GPTs: one with the sizes of the smallest GPT-2 (Radford et
# al., 2019), and one eight times as wide, with six billion weights.
#
# **Question.** How many ranks along tensor are best for each? And what if there are more than
# eight?

# %%
from ddl_teach.theory.grids.grid import Grid
from ddl_teach.theory.grids.layers import transformer
from ddl_teach.theory.grids.search import search, why

sizes, eight_nodes = {"blocks": 12, "length": 1024, "vocabulary": 50257}, Cluster(nodes=8)
gpts = transformer(width=768, heads=12, **sizes), transformer(width=6144, heads=48, **sizes)
grids = [Grid(64 // tensor, 1, tensor) for tensor in (1, 2, 4, 8, 16)]
for gpt in gpts:
    tried = [way for way in search(gpt, eight_nodes, batch=256) if way.grid in grids]
    print(*(why(way, tried[0]) for way in tried), sep="\n", end="\n\n")

# %%
from ddl_class.plots.networks import PARTS, plot_shares
from ddl_measure.experiments.grids import simulated_seconds
from ddl_teach.theory.grids.seconds import seconds as predicted

way, split = [grids[n] for n in (1, 3, 4)], {"batch": 256, "micro_batches": 1}
formula = [predicted(gpts[1], grid, eight_nodes, **split) for grid in way]
spent = {part: [getattr(each, part) for each in formula] for part in PARTS}
virtual = [simulated_seconds(gpts[1], grid, eight_nodes, **split) for grid in way]
assert virtual[2] > 1.8 * max(virtual[:2])
plot_shares([*map(str, way)], spent, also={"simulated": virtual}, title="A GPT on eight nodes")

# %% [markdown]
# The small GPT fits on a rank, and data alone is first: tensor only adds sums. The large one does
# not fit, so tensor must be 2 or more. Up to 8 it costs little, because its sums stay inside the
# node, and each rank has fewer weights to average. With 16 the sums of every layer cross the card,
# and the step takes about twice as long. So *tensor stays inside a node, data goes between nodes*.
# (That is along data and tensor alone. With a pipeline and context some grids are faster still.)
#
# ## 7. Your own nodes · *intermediate*
#
# Now all three together: the formulas with the numbers of section 2, simulated ranks that share
# cables, and your nodes. And here is the ring of the first prediction, *dealt out* like cards:
# ranks 0, 2, 4, 6, 1, 3, 5, 7, so that no neighbours are on one node.

# %%
in_order = list(range(len(node_of)))
dealt = sorted(in_order, key=lambda rank: (node_of[:rank].count(node_of[rank]), rank))
ways = [partial(my_ring, ranks=in_order), partial(my_ring, ranks=dealt), my_exchange]
sizes = np.array([2**14, 2**16, 2**18, 2**20])
low, measured, high = ground.times(ways, sizes)
reveal("20.dealt", measured[1, -1] / measured[0, -1])
kept, dealt_out = (sum(ground.sent(way, 2**18)[0]) for way in ways[:2])
print(f"{dealt_out / kept:.0f} times as many bytes from node to node")
assert dealt_out / kept == len(node_of) // nodes

# %%
three = theory.one_ring, theory.dealt_ring, theory.by_parts
formulas = [formula(ours, sizes) for formula in three]
simulated = among_nodes.simulated_times(ways, sizes, ours)
assert np.allclose(simulated[1:], formulas[1:])
assert np.allclose(simulated[0], formulas[0], rtol=0.2)

# %%
from ddl_class.plots.messages import plot_times

names = "one ring", "dealt ring", "by parts"
lines, squares = ({w: (sizes, t[k]) for k, w in enumerate(names)} for t in (formulas, simulated))
dots = {w: (sizes, measured[k], (low[k], high[k])) for k, w in enumerate(names)}
display(plot_times(lines, squares, dots))
print("measured over formula:")
for name, quotients in zip(names, measured / formulas, strict=True):
    print(name.ljust(12), *(f"{quotient:6.2f}" for quotient in quotients))

# %% [markdown]
# Read the quotients from left to right, from short vectors to long ones. Where they are far above
# 1, ask what two numbers leave out. A ping was measured while the other ranks slept. Now all ranks
# work, and if you have fewer cores than ranks they take turns. Where they are near 1, the two
# numbers predicted everything.
#
# **The surprise.** The dealt ring is the same program on the same ranks, and every rank sends as
# many bytes to its right as before. So what a rank sends does not show the difference. But with
# $R$ ranks in a node, $R$ times as many bytes go over the cables. For long vectors the formula
# says that it takes nearly $R$ times as long. Compare this with your measurement.
#
# So *where a rank is* belongs to an algorithm. Batch systems deal ranks out or keep them together,
# as they are told; `mpiexec --map-by` is such an option. A job that was fast on Monday may come
# back on Tuesday in another order.
#
# ## 8. One slow cable · *intermediate*
#
# Not every fault breaks a network. A bad plug, or a port that agreed on a tenth of its rate, only
# makes it slow. The next cell does this to one cable of your box while your ring runs. What would
# you see on each rank?


# %%
from dataclasses import replace

[usual] = ground.times(ways[:1], [2**18])[1, 0]
with ground.slowed("10mbit") as really:
    [slow] = ground.times(ways[:1], [2**18])[1, 0]
clusters = ours, replace(ours, between=between.shared(10))
was, is_now = (theory.one_ring(cluster, 2**18) for cluster in clusters)
print(f"predicted: {is_now / was:.1f} times as long")
found = (slow / usual, "measured") if really else (is_now / was, "computed")  # without a box
reveal("20.slow", *found)

# %% [markdown]
# The prediction is for a ring with four slow cables, and only one cable was slow. If your
# measurement is near it, one slow cable cost as much as four. A ring goes at the pace of its
# slowest link, and so does every exchange that needs all ranks equally. No rank stands out,
# because all of them wait. To find the slow cable, measure the cables one by one, as in section 2.
# In the notebook `20_one_slow_cable`, a puzzle, you make an all-reduce that is faster.
#
# ## 9. An entry for the competition · *intermediate*
#
# Now train. The competition of `labs/9_competition` asks: which team reaches 95% on handwritten
# digits first, on given nodes? An entry is a function like the one below, and a *form* that says
# how its settings were chosen. All trainings count, also those without a result. They are tried in
# one process, which (by unit 08) makes the steps of all ranks, and on validation data.
#
# The second cell races with the best rate and makes a report. Is it honest? The third cell asks
# the reviewer of unit 18, which looks for the twelve ways to fool. It asks twice: about the report
# as it is, and then about one that claims the fastest of your times in place of their median.


# %%
def train(comm, make_task, look, rate=1.0):
    task = make_task(32)
    weights = task.initial()
    for step in range(1, 10_000):
        _, gradient = task.gradient(weights, comm.rank, comm.size, step)
        my_exchange(comm, gradient)
        weights -= rate * gradient / comm.size
        if step % 10 == 0 and look(weights, 32 * comm.size * step):
            return


# %%
from ddl_class.competition.entry import EntryForm, compete, tried
from ddl_class.competition.race import DISCIPLINES

best, trials = tried((0.1, 0.3, 1.0), batch=32 * len(node_of))
form = EntryForm("my team", {"rule": "SGD", "rate": best}, 32, trials)
race = form, partial(train, rate=best), DISCIPLINES["digits"], len(node_of)
patient = partial(engines.run, timeout=120, strict=False)
again = f"ddl-teach competition run yours.py --ranks {len(node_of)} --out yours.json"
report = compete(patient, *race, again)

# %%
from dataclasses import replace

from ddl_measure.reports.review import review, told

fastest = replace(report.claims[0], number=min(report.entries[0].series[0].values))
print(told(review(report)))
print(told(found := review(replace(report, claims=(fastest,)))))
new = {finding.fault for finding in found} - {finding.fault for finding in review(report)}
assert new == {"best of n"} or np.isinf(report.claims[0].number)

# %% [markdown]
# (If your copy of the course has changes of your own, the reviewer says that nobody else has them.
# It is right.) To hand the entry in, write `train` and the form into a file; `labs/9_competition`
# says how.
#
# ## 10. The cable comes out · *advanced*
#
# Long trainings outlive their nodes. So each rank writes a *checkpoint* from time to time:
# everything that the next step needs. When a node is lost, all ranks go on from a checkpoint. But
# from which one? A rank that died early has not written its last one. The disk of another rank was
# full. A rank that goes on from its own newest checkpoint goes on alone.
#
# **Exercise.** `whole` lists the steps, from 1 to `steps`, of which *this* rank has a whole
# checkpoint. Return the newest step that *all* ranks have, the same on every rank. Return 0 if
# there is none. An all-reduce is enough, and your `ring` among all ranks is one. Which vector do
# you sum?


# %% name="20.agree" tags=["answer"]
def agree(comm, whole, steps):
    """The newest step of which every rank has a whole checkpoint; 0 if there is none."""
    ### BEGIN SOLUTION
    have = np.zeros(steps + 1)
    have[whole] = 1
    have[0] = 1
    ring(comm, have, list(range(comm.size)))
    return int(np.flatnonzero(have == comm.size)[-1])
    ### END SOLUTION


# %% name="20.agree" tags=["check"]
check("20.agree", agree)
### BEGIN HIDDEN TESTS
judge("20.agree", agree, ranks=(6, 7, 12), seed=205)
### END HIDDEN TESTS

# %% [markdown]
# The library's `Checkpoints` writes files that are whole or not there, each with a checksum. The
# next cells train with them, for far too many steps. As soon as a tenth step is on a disk, *the
# cable of the last node is pulled*. (Without a box, a rank is killed instead.) What you read then
# is all that one learns about a lost node.

# %%
from ddl_teach.fault_tolerance import checkpoints
from ddl_teach.training.tasks.digits import Digits

my_agree = yours("20.agree", agree, among_nodes.agree)


# %%
def training(comm, folder, end):
    kept, task = checkpoints.Checkpoints(comm, folder), Digits(16)
    done = my_agree(comm, checkpoints.steps(kept.own), 10_000)
    weights = checkpoints.read(kept.own, done).state["weights"] if done else task.initial()
    for step in range(done, end):
        my_exchange(comm, gradient := task.gradient(weights, comm.rank, comm.size, step)[1])
        weights -= 0.3 * gradient / comm.size
        if step % 5 == 4:
            kept.save(step + 1, {"weights": weights})
    return done, weights


# %%
from ddl_teach.comm import DiagnosedError

folder, quiet = ground.folder / "interrupted", {"trace": False}
try:
    with ground.accident(folder, step=10):
        engines.run(training, folder=folder, end=10_000, timeout=3, **quiet)
except DiagnosedError as story:
    print(story)

# %% [markdown]
# A pulled cable sends no message: a rank that waits cannot tell a lost node from a slow one. So
# waiting needs a limit, and a person has to look at the cables. (A killed process is noticed at
# once, because its connections close.) The cell has already mended what was broken, with new
# engines: you need not do it. (Is no cable named? Then the 3 s were over before the tenth step,
# because other programs were at work.)
#
# Now the training continues. The same function in the same folder first finds out where all ranks
# can go on; then it goes on. Beside it runs a training without any accident.

# %%
where = engines.run(training, folder=folder, end=0, **quiet).results[0][0]
resumed = engines.run(training, folder=folder, end=where + 20, **quiet).results
calm = engines.run(training, folder=ground.folder / "calm", end=where + 20, **quiet).results
print(f"all ranks went on from step {where}")
assert all(np.array_equal(mine[1], other[1]) for mine, other in zip(resumed, calm, strict=True))

# %% [markdown]
# The weights are the same, bit for bit, on every rank, as if nothing had happened.
#
# ### The report
#
# A median is no report. Here is your entry of section 9 as a report, made only from the data of
# that run: what ran, on what, how often, how sure its numbers are, and what may not be concluded.

# %%
from ddl_measure.reports.in_words import in_words

print(in_words(report))

# %% [markdown]
# If you publish one thing of this course, let it have these lines. The last ones are not modesty:
# they say what the next measurement should be.
#
# ## 11. What production systems do · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | a box of four nodes | containers with `tc`; Mininet; a testbed such as Grid'5000 or CloudLab |
# | `find_nodes`, `launch(..., on=box)` | `srun`, `mpiexec --hostfile`, `torchrun --nnodes` |
# | `exchange` by parts | HCCL on Ascend's servers; Open MPI's `han` goes by leaders |
# | `ring` in the order of the nodes | NCCL searches its rings itself; MPI: `--map-by`, rankfiles |
# | `Checkpoints`, `agree` | `torch.distributed.checkpoint`; Slurm's `--requeue` |
# | shrinking and going on (lab 8) | MPI's ULFM; `torchrun --nnodes 3:4` restarts all workers |
#
# On the same nodes, with one rank each: the ring (yours, if it is right), MPI's own, gloo's, and a
# backward pass of torch's DistributedDataParallel, all with 256 KiB. (Four processes load torch
# now, and this takes a while.)


# %%
given = {"node_of": node_of, "ring": my_ring, "folder": ground.folder, "nbytes": 2**18}
plainly = {"timeout": 60, "trace": False, "strict": False}
times = engines.run(among_nodes.in_production, **(given | plainly)).results
slowest = np.median(np.max([took for took in times if took is not None], axis=0), axis=0)
for name, seconds in zip(("the ring", "MPI", "gloo", "torch's DDP"), slowest, strict=True):
    print(f"{name:12}{seconds * 1e3:7.1f} ms")
ground.close()  # its engines and its box; the first cell makes new ones

# %% [markdown]
# These are medians of five turns of one run on one machine, without intervals and without tuning:
# no winner can be named. Labs 2 and 3 measure them with intervals.
#
# ## What you said
#
# Your predictions of this unit, beside the results.

# %%
from ddl_class import predictions

predictions("20")

# %% [markdown]
# ## Three questions
#
# **1.** Why not use recursive doubling on nodes? It needs only $\log_2 P$ steps.
#
# <details><summary>An answer</summary>
#
# All its steps over distances of $R$ and more go between nodes, with the whole vector of every
# rank: $R \log_2 N\, n$ bytes over each cable, where the ring needs less than $2n$. On your box,
# with $R = 2$ and $N = 4$: $4n$ against $1.75\,n$. For short vectors only latencies count. There
# it is right all the same, across the nodes of an exchange by parts.
#
# </details>
#
# **2.** One ring uses one card of a node. What if eight rings run at the same time, each through
# another card and with an eighth of the vector?
#
# <details><summary>An answer</summary>
#
# Then each card carries as few bytes as by parts, about $2n/8$: this is how NCCL uses all cards of
# a node with rings. The number of hops in a row stays: $2(NR-1)$ instead of $2(N-1) + 2(R-1)$. On
# 64 nodes of 8 that is 1,022 hops against 140. For long vectors this matters little, for short
# ones it is everything.
#
# </details>
#
# **3.** Llama 3 was trained on 16,384 GPUs, 8 in a node: 2,048 nodes. In 54 days 419 interruptions
# came that nobody had planned, one every three hours (Dubey et al., 2024). How often should such a
# training write checkpoints?
#
# <details><summary>An answer</summary>
#
# With a checkpoint every $T$ seconds that takes $C$, and a failure every $M$, the share $C/T$ is
# lost by writing and $T/2M$ by doing things twice. The sum is least at $T = \sqrt{2CM}$ (Young,
# 1974): for $C = 1$ minute and $M = 3$ hours that is every 19 minutes, and a tenth of the time is
# lost.
#
# </details>
#
# ## Where to read on
#
# - N. Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective
#   operation performance", *IPDPS*, 2000: by leaders, for cards that a node's ranks share.
# - M. Cho et al., "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network
#   hierarchy", *MLSys*, 2019: by parts.
# - P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
#   reduction and scan", *Parallel Computing*, 2009: two trees at a time.
# - S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA developer blog,
#   2019: the same trees in NCCL.
# - J. W. Young, "A first order approximation to the optimum checkpoint interval", *Communications
#   of the ACM*, 1974.
# - A. Dubey et al., "The Llama 3 herd of models", 2024: section 3.3.4 on what fails.
# - W. Bland et al., "Post-failure recovery of MPI communication capability", *International
#   Journal of High Performance Computing Applications*, 2013: ULFM, with which lab 8 goes on
#   without restarting.
# - T. Hoefler and R. Belli, "Scientific benchmarking of parallel computing systems", *SC*, 2015.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: the whole field, now that you have built it.
# - M. Si et al., "Collective communication for 100k+ GPUs", *arXiv*, 2025: the same questions on a
#   hundred thousand.
#
# That was the course. `progress()` shows how far you have come. `labs/` goes on, with an
# instructor and on a cluster, and the competition waits for your entry.
