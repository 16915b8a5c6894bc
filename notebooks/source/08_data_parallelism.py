# %% [markdown]
# # Data parallelism
#
# **When do P ranks make the same steps as one?**
#
# A network learns from a batch of samples, and the batch is too much work for one processor. So
# each rank gets the whole network and a part of the batch. All ranks compute at the same time.
# Then they average their gradients, and all make the same step. It is the simplest way to train on
# many processors.
#
# It looks as if nothing could go wrong. In this unit you show that $P$ ranks make *exactly* the
# steps of one, to the last digits. Then you see two cases in which they do not, and no error is
# raised. And then you choose buckets, so that messages travel while the ranks compute. You need
# unit 06, where ranks add vectors. *Beginners* take sections 1 to 4, *intermediate* readers all. A
# second notebook, `08_overlap`, has a puzzle and the code behind the buckets. About 90 minutes.
#
# ## 1. One step · *beginner*
#
# The first cell starts four engines. The next ones simulate one step of training on four ranks:
# forward and backward, then the sum over all ranks.

# %%
from functools import partial

import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.networks import plot_bucket_sizes
from ddl_teach.comm import Uniform

engines = Engines(4)


# %%
def add_up(comm, x):
    """`x` becomes the sum over all ranks, in place: copies travel once round a ring."""
    rank, size = comm.rank, comm.size
    parts = [x.copy() for _ in range(size)]
    for step in range(size - 1):
        out, into = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(parts[out], (rank + 1) % size, parts[into], (rank - 1) % size)
    x[...] = sum(parts)


# %%
def one_step(comm):
    comm.work(seconds=3e-3)
    add_up(comm, np.ones(40_000))


timeline = simulate(one_step, 4, network=Uniform(1e-5, 1e9)).timeline
timeline.plot(title="A step on 4 simulated ranks: 3 ms of computing, then the sum of gradients")

# %% [markdown]
# And here is the sum alone, as it moves. Press *play*. The colours of a box show whose parts are
# in it. Each rank's vector travels once round the ring.

# %%
from ddl_class import animate

animate(add_up)

# %% [markdown]
# A loss is a mean over samples. If all $P$ ranks have equally many samples, the gradient of the
# whole batch is the plain average of the ranks' gradients:
#
# $$\nabla\,\frac1N\sum_{i=1}^{N} \ell_i \;=\; \frac1P\sum_{r=1}^{P}
# \Big(\nabla\,\frac{P}{N}\!\!\sum_{i \text{ on rank } r}\!\! \ell_i\Big).$$
#
# So ranks that average their gradients before every step make the steps of one process. Weights
# never travel: they are equal at the beginning, and they are all changed in the same way.
#
# **Exercise.** A warm-up of three minutes. Here is a whole step, of a network that is only a
# vector of weights. Its loss is the mean of $(x w - y)^2$. Its gradient stands in the lines below,
# and `add_up` is there. The lines are sorted by the alphabet, and two of them belong nowhere: put
# the others in order. *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓* move lines.


# %% name="08.step" tags=["answer"]
def parallel_step(comm, weights, x, y, rate):
    """A step in place, as one process would make it that has the samples of all ranks."""
    ### BEGIN SOLUTION
    gradient = 2 * x.T @ (x @ weights - y) / len(y)
    add_up(comm, gradient)
    gradient /= comm.size
    weights -= rate * gradient
    ### END SOLUTION


# %% name="08.step" tags=["check"]
check("08.step", parallel_step)
### BEGIN HIDDEN TESTS
judge("08.step", parallel_step, ranks=(6, 7, 12), seed=85)
### END HIDDEN TESTS

# %% [markdown]
# ### Predict
#
# A GPT-2 has 148 arrays of gradients, 498 MB together. Each may travel alone, or many as one
# *bucket*. Take 1,024 ranks, a ring, a latency of 5 µs and 10 GB a second. The backward pass takes
# 200 ms, and full buckets may leave while it runs. How large is the best bucket, in bytes? And how
# many times as long does a step take if every array travels alone?

# %%
predict("08.best", ...)
predict("08.alone", ...)

# %% [markdown]
# ## 2. Averaging · *beginner*
#
# **Exercise.** A second warm-up, in three lines. `gradients` is a list of arrays, with the same
# shapes on all ranks. Afterwards each array must hold the average over all ranks, in place.
# `array[...] = ...` and `array /= ...` change an array; `array = ...` only gives the name to
# another array. `add_up(comm, array)` makes the sum.


# %% name="08.average" tags=["answer"]
def average(comm, gradients):
    """Every array becomes the average over the ranks, in place: sum / P."""
    ### BEGIN SOLUTION
    for gradient in gradients:
        add_up(comm, gradient)
        gradient /= comm.size
    ### END SOLUTION


# %% name="08.average" tags=["check"]
check("08.average", average)
### BEGIN HIDDEN TESTS
judge("08.average", average, ranks=(6, 7, 12), seed=81)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Compared with one process · *beginner*
#
# Does it train? Take real data, handwritten digits of 8 x 8 points, and a network of three layers.
# `ten_steps` is the whole of data parallelism: each rank takes its part of the batch, `after` does
# something with the gradients, and the optimizer makes its step. With one rank, and nothing to do
# after the backward pass, it is ordinary training. We call that the *twin*.
#
# Two things must be shown. First, that the comparison can fail: ranks that do nothing after the
# backward pass must end with other weights. Second, that yours end with the twin's weights, all of
# them, on every rank.

# %%
from torch.nn import Flatten, Sequential

from ddl_teach.networks import twin
from ddl_teach.networks.data_parallel import arrays, batch_normalisation, phantoms, shards
from ddl_teach.networks.models import data, descent, loss, mlp, resnet

images, labels = data.digits()
given = data.batches((images.double(), labels), size=32, steps=10)
start = Sequential(Flatten(), mlp.mlp()).double()
loaded = engines.run(lambda comm, network: None, network=start, timeout=120)  # and torch


# %%
def ten_steps(comm, model, after, part=shards.own_part, before=lambda comm, model: None):
    before(comm, model)
    optimizer = descent.Descent(model.parameters())
    for inputs, answers in (part(comm, batch) for batch in given):
        optimizer.zero_grad()
        loss.mean_loss(model(inputs), answers).backward()
        after(comm, [weights.grad.numpy() for weights in model.parameters()], len(answers))
        optimizer.step()
    return twin.copies(model.named_parameters())


# %%
my_average = yours("08.average", average, arrays.average)
ways = [lambda comm, own, samples: None, lambda comm, own, samples: my_average(comm, own)]
one = simulate(ten_steps, 1, model=start, after=ways[0]).results[0]
silent, mine = (engines.run(ten_steps, model=start, after=way).results for way in ways)
apart, close = ([twin.largest_difference(w, one) for w in run] for run in (silent, mine))
print("without messages:", *(f"{difference:.1e}" for difference in apart))
print("averaged:        ", *(f"{difference:.1e}" for difference in close))
assert min(apart) > 1e-3
assert max(close) < 1e-12

# %% [markdown]
# The last digits differ, because sums are made in another order; a float64 has no more than 16
# digits. In every other respect four ranks are one.
#
# ### The model of this course
#
# Digits are quick. But what clusters train is a GPT, so one comes back in many units from here on:
# two blocks with attention, which read 64 characters of Python's own documentation and guess each
# next one. The matrix that embeds the characters also scores them: it is *tied*. Each rank has it
# on `comm.device`: its GPU if there is one, else the processor. (The digits above stay in the
# host's memory, since your average takes arrays of NumPy.)
#
# **Question.** Each rank now goes through its texts in four pieces, and averages with the last one
# only (*gradient accumulation*). What changes: the losses, the bytes, both, or neither?

# %%
from ddl_measure.experiments import one_model
from ddl_teach.networks.models.gpt import gpt_of

tied, texts = gpt_of("100k").double(), data.batches(data.documentation(64)[0], 8, steps=3)
for way in ("data", "data, in pieces"):
    run = engines.run(one_model.WAYS[way], model=tied, batches=texts, timeout=120, trace=False)
    losses = np.sum(run.results, axis=0)
    print(f"{way}: losses {losses.round(3)}, {run.ledger[0].bytes_sent:,} bytes sent by rank 0")
alone = twin.train(tied, texts, optimizer=one_model.ADAM).losses
assert np.allclose(losses, alone, rtol=0, atol=1e-9)

# %% [markdown]
# Neither changes. A gradient is a sum over texts, and so it may grow piece by piece before it
# travels. The tied matrix travels once: torch adds what comes from both of its places. Unit 12 has
# the same losses by every way of this course.
#
# ## 4. Two cases in which they are not · *beginner*
#
# **Unequal shares.** Ranks do not always have equally many samples. The data may end, files differ
# in length, one machine is slower. Let rank 0 take 20 of 32 samples, and the others 4 each.
# Nothing else changes. Does your average still make the twin's steps?


# %%
def unequal(comm, batch):
    return [part.split([20, 4, 4, 4])[comm.rank] for part in batch]


uneven = engines.run(ten_steps, model=start, part=unequal, after=ways[1]).results
apart, alike = (twin.largest_difference(uneven[3], other) for other in (one, uneven[0]))
print(f"from the twin: {apart:.1e}; from each other: {alike:.1e}")
assert (apart > 1e-3, alike) == (True, 0)

# %% [markdown]
# All ranks agree with each other to the last bit, the loss falls, and no error is raised. Yet it
# is another training: a sample on rank 1 counts five times as much as one on rank 0. The mean of
# means is not the mean.
#
# **Exercise.** Repair it. Each rank knows its own number of `samples`. The average over all
# samples is wanted. A rank may have none at all; then its arrays hold zeros.


# %% name="08.weighted" tags=["answer"]
def weighted(comm, gradients, samples):
    """Every array becomes sum over ranks of samples / all samples * array, in place."""
    ### BEGIN SOLUTION
    total = np.array([float(samples)])
    add_up(comm, total)
    for gradient in gradients:
        gradient *= samples / total[0]
        add_up(comm, gradient)
    ### END SOLUTION


# %% name="08.weighted" tags=["check"]
check("08.weighted", weighted)
### BEGIN HIDDEN TESTS
judge("08.weighted", weighted, ranks=(6, 7, 12), seed=82)
### END HIDDEN TESTS

# %%
my_weighted = yours("08.weighted", weighted, arrays.weighted)
mended = engines.run(ten_steps, model=start, part=unequal, after=my_weighted).results
print(f"{twin.largest_difference(mended[3], one):.1e} from the twin")
assert max(twin.largest_difference(weights, one) for weights in mended) < 1e-12

# %% [markdown]
# **Batch normalisation.** The second case has nothing to do with sizes. A layer of batch
# normalisation subtracts the mean of the *batch* and divides by its standard deviation. A rank
# sees only its part of the batch, so it takes the mean of that part. The library trains a small
# residual network on the pictures, with equal parts and averaged gradients: first with each rank's
# own statistics, then with those of all ranks (`synchronise`).

# %%
residual = {"model": resnet.resnet().double(), "after": ways[1]}
alone = simulate(ten_steps, 1, **residual).results[0]
own = engines.run(ten_steps, **residual).results[0]
whole = engines.run(ten_steps, **residual, before=batch_normalisation.synchronise).results[0]

# %%
own_far, whole_far = (twin.largest_difference(run, alone) for run in (own, whole))
print(f"own statistics: {own_far:.1e} from the twin; those of all ranks: {whole_far:.1e}")
assert own_far > 1e-3
assert whole_far < 1e-10

# %% [markdown]
# In the first case nothing looks wrong: the network trains, and all ranks have the same weights.
# Yet it is another training than that of one process. With a mean and a variance over all ranks it
# is the same again. They cost one small message more in each direction.
#
# ## 5. Buckets · *intermediate*
#
# Now for speed. If each array is averaged on its own, each pays the latency, and some arrays have
# no more than ten numbers. If all gradients are put end to end into one array, they pay it once.
# But then nothing can leave before the backward pass is over. In between are **buckets** of a
# limited size. The backward pass finishes the *last* layer first, so buckets are filled from
# there.
#
# **Exercise.** `sizes[k]` is the bytes of parameter $k$. Return the buckets as lists of such
# numbers, from the last parameter to the first, each bucket as full as the `limit` allows. A
# gradient larger than the limit gets a bucket of its own: `fill([500, 10, 40, 40], 100)` is
# `[[3, 2, 1], [0]]`.


# %% name="08.fill" tags=["answer"]
def fill(sizes, limit):
    """Lists of parameter numbers, last first; no list has more bytes than the limit."""
    groups, used = [], 0
    ### BEGIN SOLUTION
    for index in reversed(range(len(sizes))):
        if not groups or used + sizes[index] > limit:
            groups.append([])
            used = 0
        groups[-1].append(index)
        used += sizes[index]
    return groups
    ### END SOLUTION


# %% name="08.fill" tags=["check"]
check("08.fill", fill)
### BEGIN HIDDEN TESTS
judge("08.fill", fill, seed=83)
### END HIDDEN TESTS

# %% [markdown]
# When is everything over? Bucket $b$ is full at a time $r_b$ of the backward pass, and its
# all-reduce takes $T(n_b)$. If one bucket leaves after the other,
#
# $$e_b = \max(r_b,\; e_{b-1}) + T(n_b),\qquad T_\text{ring}(n) = 2(P-1)\Big(L +
# \frac{n/P}{B}\Big),$$
#
# and the last $e_b$ is the end. Some limit must be best. That is what you have predicted. The next
# cells ask the formula about 1,024 ranks, and the simulator about 64.
#
# ## 6. What nobody has at home · *intermediate*

# %%
from ddl_teach.theory import collectives, machine
from ddl_teach.theory import data_parallel as theory

nbytes = 4 * np.array(theory.gpt2_gradients())  # in the order in which they are ready
seconds, limits = 0.2 * nbytes / nbytes.sum(), 2.0 ** np.arange(10, 31, 0.5)


def predicted(limit, ranks=1024):
    takes = partial(collectives.ring, ranks, link=machine.Link(5e-6, 1e-10))
    return theory.step_time(seconds, nbytes, limit, takes)


# %%
assert (len(nbytes), round(nbytes.sum() / 1e6)) == (148, 498)
times = [predicted(limit) for limit in limits]
reveal("08.best", limits[np.argmin(times)])
reveal("08.alone", times[0] / min(times))

# %%
hidden = (times[-1] - min(times)) / (times[-1] - 0.2)
print(f"the best buckets hide {hidden:.0%} of the time that one giant bucket takes to travel")
plot_bucket_sizes((limits, times), backward=0.2)

# %% [markdown]
# Does the formula hold? On 64 ranks the whole pass can be simulated.

# %%
few, fast = (2.0**27, 2.0**28, 2.0**29), Uniform(5e-6, 1e10)
sizes = {"seconds": seconds, "nbytes": nbytes, "network": fast, "trace": False}
runs = [simulate(phantoms.backward_pass, 64, limit=limit, **sizes) for limit in few]
assert np.allclose([run.time for run in runs], [predicted(limit, 64) for limit in few], rtol=0.01)
groups = theory.bucket_groups(nbytes, few[0])
sent = theory.bytes_sent([sum(nbytes[group]) for group in groups], 64, 0, itemsize=1)
assert runs[0].ledger[0].bytes_sent == sent

# %% [markdown]
# On the left of the picture are many small buckets, each of which pays 2,046 latencies. On the
# right is one giant bucket, which leaves when the backward pass is over, so nothing of it is
# hidden. Between them is the best size: there more than half of the messages' time hides behind
# the backward pass. The rest does not: the largest array, the embedding of all words, is complete
# only at the end, and travels alone. Both ends lose. That is why libraries let you choose the
# size.
#
# The last cell simulates 64 ranks: phantoms in place of arrays, all messages of a ring in virtual
# time, buckets in the background. Several are under way at once, which the formula does not know.
# Both assertions hold all the same: the times agree within one percent, and the bytes that rank 0
# sent agree to the byte.
#
# `08_overlap` goes on from here: a puzzle about the order of the buckets, and the code that sends
# in the middle of a backward pass.
#
# ## 7. Your own ranks · *intermediate*
#
# On your machine all cores compute, and none is free to carry messages meanwhile. So first let the
# ranks *sleep* through the backward pass, as a processor does while its accelerator computes. A
# pass of 16 layers takes 80 ms and makes 8 MB of gradients. The stopwatch of the course measures
# the ring alone, at several sizes. A line through these times is $T(n)$, and with it the formula
# predicts the time for each limit. The simulated network is made so that a ring on it costs what
# yours does. So there are three answers to one question: the formula (line), the simulation
# (squares), your machine (dots, with the middle half of the turns as bars).

# %%
from ddl_class import stopwatch
from ddl_teach.collectives import ring
from ddl_teach.theory.fit import fit

tried, layers = [2**k for k in range(13, 24, 2)], {"seconds": [5e-3] * 16, "nbytes": [2**19] * 16}
plainly = {"trace": False, "strict": False}
took = engines.run(stopwatch, sizes=tried, ways=[ring.allreduce], **plainly).results
took = np.max(took, axis=0)[:, 0]
model = fit(np.tile(tried, len(took)), took.ravel())

# %%
limits = [2**k for k in range(19, 24)]
timed = {"sizes": limits, "ways": [partial(phantoms.asleep, **layers)]} | plainly
slowest = np.max(engines.run(stopwatch, **timed, turns=7, timeout=100).results, axis=0)[1:, 0]
low, middle, high = np.quantile(slowest, [0.25, 0.5, 0.75], axis=0)

# %%
takes = np.poly1d([model.per_byte, model.latency])
here = Uniform(model.latency / 6, 1 / (model.per_byte * 4 / 6))  # six steps of a quarter each
simulated = simulate(stopwatch, 4, network=here, **timed, turns=2).results[0][1, 0]
line = np.array([theory.step_time(*layers.values(), limit, takes) for limit in limits])
assert (simulated <= 1.02 * line).all()

# %% [markdown]
# All three in one picture:

# %%
plot_bucket_sizes((limits, line), (limits, simulated), (limits, middle, low, high), backward=0.08)

# %% [markdown]
# The squares lie on the line or below it. Where messages take longer than the pass, several
# buckets are under way at once and share the latencies; the formula adds these up one after the
# other. Where the dots leave the line, look in which direction. The formula knows nothing of
# cores: with a bucket for each layer, sixteen functions in the background want a share of yours.
#
# ### The surprise
#
# Now let the ranks really compute, one on each of two engines. The library has a ladder of ways,
# from an all-reduce for each parameter to weights in shared memory. They train the same network
# side by side. Beside them runs torch's own `DistributedDataParallel` with its own settings: gloo,
# with buckets and hooks. More overlap should be faster. Is it?

# %%
from ddl_class.notebook.beside_torch import race

make, batch = partial(mlp.mlp, (64, 512, 512, 512, 10)), (images[:16].flatten(1), labels[:16])
raced = engines.run(race, 2, make=make, batch=batch, timeout=120, **plainly).results

# %%
medians = {name: np.median(np.max([run[name] for run in raced], axis=0)) for name in raced[0]}
for name, median in medians.items():
    ratio = median / medians["torch's DDP"]
    print(f"{name:22} {median * 1e3:6.2f} ms, {ratio:.2f} of torch's DDP")

# %% [markdown]
# Look at the ladder from top to bottom. If other programs run on your machine, the order can be
# any. On a quiet one, with a core for each of two ranks, we trained a network like this one, twice
# as wide. It took 0.34 of DDP's time with shared weights, 0.52 with sufficient factors, 0.60 with
# one bucket, and 0.91 with a ring under the pass; DDP itself took 0.89 of that time once its
# gradients were views of its buckets. (Ours were buckets of 4 MiB, DDP's of its own size; neither
# was searched for.) A small AlexNet has a twelfth of the gradients; there one bucket took 0.51,
# shared weights 0.52, a ring under the pass 0.70, and a message for each parameter 0.76
# (`benchmarks/results/data_parallel.txt`).
#
# So a ring in the background gained nothing there. Every core computes, and a core that passes
# messages does not compute meanwhile. The last two ways send no gradients of most layers: with
# few samples the two factors of a gradient are shorter than the gradient (unit 16 names the
# papers). In memory that both ranks see, each also updates its part of the weights only, so fewer
# bytes are touched. Section 6 assumes that messages cost a rank no work;
# network cards are made for that. The same file has ranks that sleep through their layers: from
# 2 ms a layer on the ring under the pass wins. It is the same code; the machine decides.
#
# So another machine may decide otherwise. The next cell shows the ladder as it was recorded with
# its network on a GPU, beside your race. If nothing is recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import recorded_table

print(f"yours, on processors, the fastest: {min(medians.values()) * 1e3:.2f} ms")
print(recorded_table("data-parallel step"))

# %% [markdown]
# ## 8. What production systems do · *intermediate*
#
# You have just raced against one. `DistributedDataParallel` has hooks on all parameters, and
# buckets in about the reverse order (25 MiB each, the first of 1 MiB, in torch 2.13). All ranks
# begin them in the same order, and the average is a sum over `comm.size`. Side by side:
#
# | here | torch |
# |---|---|
# | `average_buckets` | `DistributedDataParallel(network)` |
# | `Overlapped(comm, fill(parameters, nbytes))` | `bucket_cap_mb=...` |
# | passes beside `.backward` only add up | `with network.no_sync():` |
# | `weighted_loss` | nothing: torch takes the mean of means; `join()` only keeps it from hanging |
# | `synchronise(comm, network)` | `SyncBatchNorm.convert_sync_batchnorm(network)`, on GPUs |
# | an all-reduce of your own | `register_comm_hook` |
#
# In the fourth line you are ahead. With unequal shares torch's average is the wrong one of section
# 4.
#
# ### A ring of yours under torch's DDP
#
# torch calls its collectives through a *backend*: gloo, NCCL, or one that carries them out with
# your functions. The backend of the course sends all of torch's messages over `comm`. So torch's
# own programs run on simulated ranks, in virtual time. Here `add_up` from the beginning of this
# unit works under `DistributedDataParallel`; your ring of unit 06 can take its place.

# %%
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ddl_teach import torch_backend


# %%
def under_torch(comm, allreduce):
    torch_backend.use(allreduce=allreduce)
    dist.init_process_group("ddl_teach", rank=comm.rank, world_size=comm.size)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(64, 10))
    x, y = images[:48].flatten(1).chunk(comm.size), labels[:48].chunk(comm.size)
    torch.nn.functional.cross_entropy(model(x[comm.rank]), y[comm.rank]).backward()
    return model.module.weight.grad.numpy()


# %%
own = simulate(under_torch, 4, threads=True, allreduce=add_up)
its = simulate(under_torch, 4, threads=True, allreduce="ring")
np.testing.assert_allclose(own.results, its.results, atol=1e-6)
for name, run in {"add_up": own, "the library's ring": its}.items():
    print(f"{name:20} {run.ledger[0].bytes_sent:6,} bytes sent by rank 0")

# %% [markdown]
# The gradients are equal, but the bytes are not. `add_up` lets whole copies travel, so a rank
# sends $(P-1)\,n$ bytes, where a ring of chunks sends $2\frac{P-1}{P}\,n$. torch does not notice:
# the cost depends on the all-reduce that you give it. (DDP also compares the shapes of the
# parameters and sends them once from rank 0; these messages are in both numbers.)
#
# ### A recorded trace beside a simulation
#
# A *trace* is a file that says what a program did when. torch's *profiler* records one on each
# rank, and on a GPU it records each kernel and each message of NCCL. `read_torch_traces` makes a
# run of these files, with a timeline like that of simulated ranks. Below, one process records one
# backward pass. Lines on red ground that begin with `USDT` are the profiler's notes, no errors.

# %%
from tempfile import TemporaryDirectory

from torch.profiler import profile

from ddl_runtime.interchange.torch_trace import read_torch_traces

# %%
layer = torch.nn.Linear(64, 10)
with profile() as profiler:
    torch.nn.functional.cross_entropy(layer(images[:48].flatten(1)), labels[:48]).backward()
with TemporaryDirectory() as folder:
    profiler.export_chrome_trace(f"{folder}/trace-0.json")
    recorded = read_torch_traces([f"{folder}/trace-0.json"])
recorded.timeline.plot(title="One process, as torch's profiler recorded it")

# %% [markdown]
# With several ranks, each writes a file of its own into one folder. Then `ddl-teach run train.py
# --torch --simulate 4 --beside FOLDER --plot both.png` draws both: the same script on simulated
# ranks, and what was recorded. Compare the times of computing first. If they differ, the
# simulation describes another device.
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("08")

# %% [markdown]
# ## Three questions
#
# **1.** Why average gradients, and not the weights after each rank's own step?
#
# <details><summary>An answer</summary>
#
# For plain gradient descent it is the same, and with momentum too. A step with momentum is a sum
# of old gradients with fixed weights. Each rank has its own gradients there, but the mean of the
# ranks' sums is the sum of the means. Adam divides by the root of squared gradients. Each rank
# would divide by its own squares, and the averaged weights are then not those of any training on
# the whole batch. (It can still be worth doing, now and then instead of every step: unit 14.)
#
# </details>
#
# **2.** A parameter is used in every second step only, and not in the same steps on all ranks.
# What must the hooks do?
#
# <details><summary>An answer</summary>
#
# On ranks that did not use it no hook is called. Its bucket is never full, and the other ranks
# wait for ever. So at the end of the pass the library fills what is missing with zeros, and sends
# it. torch does that with `find_unused_parameters=True`; without it, it raises an error in the
# next step.
#
# </details>
#
# **3.** You double the ranks and keep the batch. By what factor do work and messages of a rank
# shrink? And if you double the batch as well?
#
# <details><summary>An answer</summary>
#
# The work of a rank halves. Its messages do not: $2\frac{P-1}{P}n$ bytes depend on the network,
# not on the batch. So with more ranks on the same batch the messages take most of the time. With
# the batch doubled both stay as they were and throughput doubles. Does the network then learn as
# much from each sample? Unit 13 asks that.
#
# </details>
#
# ## Where to read on
#
# - S. Li et al., "PyTorch distributed: experiences on accelerating data parallel training",
#   *VLDB*, 2020: buckets, hooks and why both.
# - P. Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour", 2017: section 3
#   on errors that stay unnoticed.
# - S. Ioffe and C. Szegedy, "Batch normalization", *ICML*, 2015.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: section 6 on data parallelism.
# - T. Hoefler and R. Belli, "Scientific benchmarking of parallel computing systems", *SC*, 2015:
#   how to say which is faster.
#
# The library's ways stand in `ddl_teach/networks/data_parallel`, one a file. `progress()` shows
# how far you have come. Unit 09 splits what all ranks hold whole here: the layers.
