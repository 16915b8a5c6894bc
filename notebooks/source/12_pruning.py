# %% [markdown]
# # Pruning
#
# **What need not be trained?**
#
# Of a trained network's weights nine in ten can often go, if the rest is trained on. Han et al.
# (2015) left AlexNet a ninth of its weights, and it was as accurate. What does a network with 90%
# zeros save? In this notebook you measure that a sparse product may save no time at all. Then you
# write a training step that saves memory and messages instead.
#
# *Beginners* can leave out what is marked *intermediate*. You need unit 06; of `12_grids`, the
# first notebook of this unit, section 5 helps. It takes about forty minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.networks import PARTS

engines = Engines(4)

# %% [markdown]
# ## 1. What need not be trained · *beginner*
#
# A matrix of which 90% are zeros needs a tenth of the operations.
#
# **Predict.** Take a product of two matrices of 1,024 x 1,024. Nine in ten numbers of one of them
# are zero, and are left out. How many times as fast as the dense product is it? Then measure it.

# %%
predict("12.sparse", ...)

# %%
from warnings import filterwarnings

from torch import rand, randn
from torch.nn.functional import linear

from ddl_measure.repetitions import side_by_side

filterwarnings("ignore", "Sparse CSR")  # torch calls its sparse matrices a beta

# %%
x, weights = randn(1024, 1024), randn(1024, 1024) * (rand(1024, 1024) < 0.1)
sparse = weights.to_sparse_csr()
took = side_by_side({"dense": lambda: linear(x, weights), "sparse": lambda: linear(x, sparse)})
reveal("12.sparse", took["dense"].min() / took["sparse"].min())
assert np.allclose(linear(x, sparse), linear(x, weights), atol=1e-3)

# %% [markdown]
# Where this was written, the layer with a tenth of the operations took **5 to 7 times as long** as
# the dense one. (See `benchmarks/results/pruned_products.txt`.) A dense product reads long rows
# into wide registers and uses each number many times. A sparse one has to look up where each
# number belongs.
#
# Here are more cases: how many times as long as the dense product did the sparse one take? *Layer*
# is the product of the cell above, $x\,W^T$. *Matrix first* is $W x$, with the sparse matrix on
# the left: this order suits a sparse product best.
#
# | zeros | order | 1,024 x 1,024 weights | 512 x 512 weights |
# |---|---|---|---|
# | 90% | matrix first | 1.08 (0.83 to 1.90) | 0.62 |
# | 99% | matrix first | 0.18 | 0.25 |
# | 99% | layer | 1.07 (0.98 to 1.16) | 0.70 |
#
# So with a tenth of the operations it is at best 1.6 times as fast. (These are medians on one
# thread. In brackets are two 95% intervals: both hold 1, so there nothing is lost and nothing
# gained. The larger matrix met 512 samples and the smaller one 64; GPUs and other libraries were
# not tried.)
#
# So Singh and Bhatele (2023) keep the products dense and save elsewhere. The weights that are gone
# need no gradient, no momentum and no message. Only what is *around* the products is compressed.
#
# ## 2. Which weights stay · *beginner*
#
# The simplest rule keeps the weights with the largest magnitudes. A pruned array is then two
# vectors: the places of the kept weights, counted in the flat array, and their values.
#
# **Exercise.** A warm-up of three minutes: the places of the weights to keep. The lines stand
# below, sorted by the alphabet, and two of them belong nowhere: put the others in order. *Ctrl+/*
# makes code of comments, *Alt+↑* and *Alt+↓* move lines.


# %% name="12.kept" tags=["answer"]
def kept_places(weights, share):
    """The places, in rising order, of this share of the weights: of the largest magnitudes."""
    ### BEGIN SOLUTION
    sizes = np.abs(weights).reshape(-1)
    count = round(share * sizes.size)
    order = np.argsort(sizes)
    largest = order[sizes.size - count :]
    return np.sort(largest)
    ### END SOLUTION


# %% name="12.kept" tags=["check"]
check("12.kept", kept_places)
### BEGIN HIDDEN TESTS
judge("12.kept", kept_places, seed=124)
### END HIDDEN TESTS

# %% [markdown]
# With these places, `compress` takes the values out of an array. It is one line:


# %%
def compress(dense, places):
    """The values at these places of the flat array, as a vector."""
    return dense.reshape(-1)[places]


some = np.array([[0.1, -3.0], [2.0, 0.2]])
print(compress(some, np.array([1, 2])))

# %% [markdown]
# **Exercise.** Now back: zeros everywhere else, in the given shape, of the values' type.


# %% name="12.expand" tags=["answer"]
def expand(values, places, shape):
    """Return an array of this shape with the values at their places and zeros elsewhere."""
    ### BEGIN SOLUTION
    dense = np.zeros(int(np.prod(shape)), values.dtype)
    dense[places] = values
    return dense.reshape(shape)
    ### END SOLUTION


# %% name="12.expand" tags=["check"]
check("12.expand", expand)
### BEGIN HIDDEN TESTS
judge("12.expand", expand, seed=125)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Prune, and train on · *beginner*
#
# Does a network still work when most of its weights are gone? The library has the same three
# functions for torch's tensors. A small network learns handwritten digits. A fifth of the pictures
# is held out.

# %%
from ddl_teach.networks.memory.keeping import resident
from ddl_teach.networks.models.data import batches, digits
from ddl_teach.networks.models.loss import beside, mean_loss
from ddl_teach.networks.models.mlp import mlp
from ddl_teach.networks.pruning.kept import largest_of
from ddl_teach.networks.pruning.train_pruned import Pruned
from ddl_teach.training.optimizers.momentum import Momentum

# %%
images, labels = digits(flat=True)
learn, test = (images[360:], labels[360:]), (images[:360], labels[:360])


# %%
def train_pruned(comm, network, share, steps):
    """Keep this share of the weights, and train them on so many batches."""
    kept = largest_of(network.to(comm.device), share)
    trainer = Pruned(comm, network, kept, resident(Momentum(0.1)))
    for batch in batches(learn, 64, steps):
        (x, y), mine = beside(network, batch), slice(comm.rank, None, comm.size)
        (mean_loss(network(x[mine]), y[mine]) * len(y[mine]) / len(y)).backward()
        trainer.step()
    return network.cpu(), comm.ledger.bytes_sent


# %% [markdown]
# `Pruned` is what you write in the next section, for a whole network. As soon as autograd has a
# gradient, the kept part of it is taken out, and the rest is given back. First the whole network
# learns, then it is pruned and trained on. The table shows how many of the held-out digits are
# right before and after that. Its first row keeps all weights, and trains on as the others do.


# %%
def right(network):
    return (network(test[0]).argmax(1) == test[1]).float().mean().item()


# %%
given = {"timeout": 100, "trace": False}
whole = engines.run(train_pruned, network=mlp((64, 128, 128, 10)), share=1.0, steps=200, **given)
trained, sent = whole.results[0]
print(f"all weights: {right(trained):.1%} right, {sent:,} bytes sent")

# %%
shares, table = (1.0, 0.3, 0.1, 0.03, 0.01), {}
for share in shares:
    cut = engines.run(train_pruned, network=trained, share=share, steps=0, **given).results[0]
    more = engines.run(train_pruned, network=trained, share=share, steps=200, **given).results[0]
    table[share] = right(cut[0]), right(more[0]), more[1]
    before, after, sent = table[share]
    print(f"{share:.0%} kept: {before:.1%} right, {after:.1%} after 200 steps; {sent:,} bytes")

assert table[0.3][1] > table[1.0][1] - 0.02
assert table[0.1][2] < 0.11 * table[1.0][2]

# %% [markdown]
# With three tenths of the weights, and after training on, the network is about as
# accurate as with all of them. With a tenth it is a little less accurate, and its ranks send a
# tenth of the bytes. Without training on both are worse. (One network, one rate that was not
# searched for, and the order of one seed. The network is small, and so are the digits: 8 x 8
# points. It is an example and no comparison of methods.)
#
# How much may go depends on the network and its task. A larger one was recorded: the GPT of unit
# 08, of 100 thousand weights, guesses the next character of Python's documentation. (The command
# is `python -m benchmarks.pruned_text`; again one rate and one seed.) After 400 steps it guessed
# 39.4% of the held-out characters rightly. Then each share was trained on for 200 steps:
#
# | kept | right, just pruned | right, trained on |
# |---|---|---|
# | 100% | 39.4% | 48.0% |
# | 30% | 18.6% | 39.5% |
# | 10% | 5.6% | 28.6% |
# | 3% | 3.9% | 22.4% |
#
# There three tenths of the weights are *not* as good as all of them after as many steps. So what
# the digits show does not say how much of a large network may go.
#
# ## 4. A step that only knows the kept weights · *intermediate*
#
# Now write that training step for many ranks, with momentum. Each rank has a dense gradient, as
# the dense backward pass leaves it. The velocity has as many numbers as weights are kept. It is
# never dense. `add_up` is the ring of unit 06.
#
# **Exercise.** Average the gradient of the kept weights over all ranks. The velocity becomes 0.9
# times itself plus that average. The kept weights go down by `rate` times the velocity. Change
# `weights` and `velocity` in place. A rank may send no more than the ring sends of the *kept*
# values.


# %%
def add_up(comm, x):
    chunks = np.array_split(x, comm.size)
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    for step in range(1, 2 * comm.size - 1):  # once round to add, once to hand out
        mine, coming = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        arriving = np.empty_like(chunks[coming])
        comm.sendrecv(chunks[mine], right, arriving, left)
        chunks[coming][:] = arriving + (chunks[coming] if step < comm.size else 0)


# %% name="12.pruned_step" tags=["answer"]
def pruned_step(comm, weights, gradient, velocity, places, rate):
    """velocity = 0.9 velocity + mean kept gradient; kept weights -= rate * velocity; in place."""
    ### BEGIN SOLUTION
    kept = compress(gradient, places)
    add_up(comm, kept)
    velocity[:] = 0.9 * velocity + kept / comm.size
    weights.reshape(-1)[places] -= rate * velocity
    ### END SOLUTION


# %% name="12.pruned_step" tags=["check"]
check("12.pruned_step", pruned_step)
### BEGIN HIDDEN TESTS
judge("12.pruned_step", pruned_step, ranks=(2, 5, 6), seed=126)
### END HIDDEN TESTS

# %% [markdown]
# What does it save? The first cell below counts messages: a tenth of the weights, a tenth of the
# bytes. The second counts memory, for a network of a billion weights in half precision, with
# Adam. The weights stay dense, for the dense products. The rest is a tenth. New are a copy of the
# kept values, and their places of four bytes each.


# %%
def library_step(comm, gradient, places, **_):
    add_up(comm, gradient[places])


my_step = yours("12.pruned_step", pruned_step, library_step)

# %%
for every_so_many in (1, 10):
    places = np.arange(0, 100_000, every_so_many)
    given = {"weights": np.zeros(100_000), "gradient": np.ones(100_000), "places": places}
    run = simulate(my_step, 8, **given, velocity=np.zeros(len(places)), rate=0.1)
    print(f"kept 1 of {every_so_many:2}: {run.ledger[0].bytes_sent:9,} bytes a rank")

# %%
from ddl_teach.theory.memory import held, pruned

full, thin = held(0, [10**9], 1, weight=2, state=12), pruned(10**9, 10**8, weight=2, state=12)
print(" " * 10, "all kept   10% kept")
for part in ("weights", "gradients", "states", "total"):
    print(f"{part:10}{getattr(full, part) / 1e9:6.1f} GB  {getattr(thin, part) / 1e9:6.1f} GB")
assert (full.total, thin.total) == (16e9, 4e9)

# %% [markdown]
# How much is kept depends on what is counted. Here each weight keeps its 2 bytes. For each that is
# trained there are a copy (2), a gradient (2) and its place (4). Adam keeps the weight and two
# moments in single precision (12): 20 bytes. So there are $2 + 20 \cdot 0.1 = 4.0$ bytes for each
# of all weights. AxoNN's published code, into which Singh and Bhatele (2023) built theirs, also
# keeps each gradient in single precision for the optimizer. These are 4 bytes more: 20 in place of
# 16 before pruning, and $2 + 24 \cdot 0.1 = 4.4$ after it.
#
# ## 5. Which grid comes first now? · *intermediate*
#
# `12_grids` asked for the best grid for GPT-3 on 512 ranks. Then a copy of the network did not fit
# on a node. With so much less to hold, which grid comes first?

# %%
from ddl_teach.theory.grids import layers
from ddl_teach.theory.grids.search import search
from ddl_teach.theory.machine import Cluster

fast = Cluster(nodes=64, cards=8)
large = layers.transformer(blocks=96, width=12288, heads=96, length=2048, vocabulary=51200)
dense = search(large, fast, batch=512, recompute=True)[0]
freer = search(large, fast, batch=512, recompute=True, state=18, kept=0.1)[0]

# %%
for name, best in (("all weights trained", dense), ("10% kept", freer)):
    seconds, gigabytes = best.seconds.total, best.held.total / 1e9
    print(f"{name}: {seconds:.1f} s, {gigabytes:.0f} GB a rank")
    print(f"    {best.grid}")

# %%
saved = {part: getattr(dense.seconds, part) - getattr(freer.seconds, part) for part in PARTS}
assert max(saved, key=saved.get) == "bubble"
assert freer.grid.data > dense.grid.data
assert freer.grid.pipeline < dense.grid.pipeline
cut, now = (best.grid.pipeline * best.grid.tensor for best in (dense, freer))
assert cut == 4 * now
assert np.isclose(dense.held.total, freer.held.total, rtol=0.05)

# %% [markdown]
# **The surprise**: 90% of zeros made the layer slower, and yet they save three
# quarters of the memory and nine tenths of the gradients' messages. Tensor and pipeline are there
# because a copy of the network did not fit. With less to hold, the first grid by this model has
# more copies and a shorter pipeline, and the bubble shrinks most. A rank's memory is as full as
# before, but now it holds a part of the network that is four times as large.
#
# ## What you said
#
# Your predictions of this unit, beside what was found. Three of them belong to `12_grids`.

# %%
from ddl_class import predictions

predictions("12")
progress()

# %% [markdown]
# ## Three questions
#
# Think first, then unfold.
#
# 1. Only 1% of the weights are kept. Does the memory of weights, gradients and states shrink by
#    another factor of ten?
# 2. Why must all ranks keep the same places?
# 3. Which weights would you keep if you may choose only before the training?
#
# <details><summary>Answers</summary>
#
# 1. No. The dense weights stay, two bytes each. From 16 bytes a weight at the start it went to 4.0
#    with 10% kept. With 1% it goes to 2.2, counted as in section 4: the products need their
#    zeros.
# 2. The all-reduce adds vectors number by number. If ranks kept other places, the k-th numbers
#    would belong to different weights. (Unit 16 adds vectors with different places: that is
#    harder, and the places travel too.)
# 3. It is not known before the training which will be large. The usual way is that of section 3:
#    train for a while, prune, and train on.
#
# </details>
#
# ## Where to read on
#
# - Singh and Bhatele, "Exploiting sparsity in pruned neural networks to optimize large model
#   training" (IPDPS 2023): what this notebook is made of.
# - Hoefler, Alistarh, Ben-Nun, Dryden and Peste, "Sparsity in deep learning: pruning and growth
#   for efficient inference and training in neural networks" (JMLR 2021): what to prune, when,
#   and what of it becomes faster, from more than 300 papers.
# - `ddl_teach/networks/pruning/train_pruned.py`: the training of section 3, on one screen.
#
# Stop your engines when you are done: `engines.stop()`. If you forget, they end with the notebook.
