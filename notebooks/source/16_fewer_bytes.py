# %% [markdown]
# # Fewer bytes
#
# **What may be left out?**
#
# In every step of a training each rank sends its whole gradient: millions of numbers with 32 bits
# each. Do the others need all of that? A gradient from a few samples is a rough guess, and the
# next step makes a new one. So a rank could send only the signs, or only the largest entries. Then
# the message is a hundred times shorter.
#
# That works. But it is easy to do it wrongly in a way that looks right for a while. In this unit
# you write three *forms* in which a gradient can travel, see one of them fail, and repair it with
# one line. Then you add up vectors that are nearly empty. At last you find out when all this pays.
# You need unit 06 (all-reduce); unit 08 (data parallelism) helps. *Beginners* take sections 1 to
# 4, *intermediate* readers all. *Advanced* readers find what to read next at the end. About 100
# minutes.
#
# ## 1. What a gradient is made of · *beginner*
#
# The first cell starts four engines. It takes one gradient of a small network, which learns to
# read handwritten digits, and sorts its 2,410 entries by magnitude.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, yours
from ddl_class.plots import forms as plots
from ddl_teach.training.tasks.digits import Digits

engines, task = Engines(4), Digits()
_, gradient = task.gradient(task.initial(), part=0, parts=1, step=0)
plots.plot_kept(gradient)

# %% [markdown]
# A few entries hold much of it. There are two ways to send less. For each way a formula says how
# good it is. Call $Q(x)$ what arrives in place of $x$.
#
# - **Leave out** the small entries. Then $Q(x)$ is wrong in the same way every time, but only by a
#   bounded amount: if the $k$ largest of the $n$ entries are kept,
#
# $$\lVert x - Q(x)\rVert^2 \;\le\; \Big(1 - \frac kn\Big)\lVert x\rVert^2 .$$
#
# - **Round at random.** Then $Q(x)$ is wrong in another way each time, and right on average:
#   $\mathrm E\,Q(x) = x$. How far it is from $x$ on average is what counts.
#
# Hardly any form does both. A form that leaves out needs a memory. A form that rounds at random
# needs an average of many messages.
#
# ### Predict
#
# Three questions, each with a number for an answer. Four workers train this network. Each sends
# only the **2** largest of its 2,410 entries, 11 bytes in place of 9,640, and forgets the others.
# How many percent of the digits are read rightly after 200 steps, at the best learning rate? (With
# whole gradients: 97.) Next: each of 64 ranks sends 1% of its entries. At how many percent of the
# places does their sum have an entry? And: each of the 64 ranks has 4 MB of gradients. To pack
# them to one bit for each number takes 10 ms, to unpack 5 ms. Below which bandwidth, in MB a
# second, do fewer bytes pay?

# %%
predict("16.two", ...)
predict("16.fill", ...)
predict("16.bandwidth", ...)

# %% [markdown]
# ## 2. Only the largest · *beginner*
#
# **Exercise.** A warm-up of three minutes. Return the places of the `k` entries of largest
# magnitude, in ascending order, and the entries at these places, with their signs:
# `top_k(np.array([1., -5, 0, 3]), 2)` is `[1, 3]` and `[-5, 3]`.


# %% name="16.top_k" tags=["answer"]
def top_k(vector, k):
    """The indices of the k largest magnitudes, ascending, and the entries at these places."""
    ### BEGIN SOLUTION
    indices = np.sort(np.argsort(np.abs(vector))[len(vector) - k :])
    return indices, vector[indices]
    ### END SOLUTION


# %% name="16.top_k" tags=["check"]
check("16.top_k", top_k)
### BEGIN HIDDEN TESTS
judge("16.top_k", top_k, seed=161)
### END HIDDEN TESTS

# %% [markdown]
# Now train with it. In every step of `descend` four workers compute a gradient each. `send(worker,
# gradient)` says what arrives of it, and all make a step along the mean of that. A message of 2
# entries arrives as a vector with 2,408 zeros. Three things come back: the losses, the share of
# the digits that is read rightly, and the share of the weights that ever moved.


# %%
def descend(send, rate, seed, steps=200):
    digits, losses = Digits(seed=seed), []
    weights = digits.initial()
    for step in range(steps):
        own = [digits.gradient(weights, worker, 4, step)[1] for worker in range(4)]
        arrived = [send(worker, gradient) for worker, gradient in enumerate(own)]
        weights -= rate * np.mean(arrived, axis=0, dtype=np.float32)
        losses.append(digits.loss(weights))
    return losses, digits.accuracy(weights), np.mean(weights != digits.initial())


# %% [markdown]
# Which learning rate is fair? A form that changes gradients may need another rate than the whole
# gradients do. So every form gets the same three rates and the same three seeds. It is judged at
# the rate with which it reads most on average.


# %%
RATES = (0.5, 1.0, 2.0)


def at_best(make_send, steps=200):
    """The losses, accuracies and shares of moved weights of three trainings at the best rate."""
    columns = [
        [*zip(*(descend(make_send(), rate, seed, steps) for seed in range(3)), strict=True)]
        for rate in RATES
    ]
    return max(columns, key=lambda column: np.mean(column[1]))


# %%
from ddl_class.exercises.unit_16 import judges
from ddl_teach.training.compression import top_k as library

my_top_k = yours("16.top_k", top_k, library.largest)


def two_of(vector):
    return np.bincount(*my_top_k(vector, 2), minlength=len(vector))


# %% [markdown]
# `make_send` makes a new `send` for each training. The two here keep nothing from one step to the
# next; the one of section 3 will. A cell that trains nine times or more takes some seconds, and
# the longest about a minute.

# %%
everything, right, _ = at_best(lambda: lambda worker, vector: vector)
forgetful, wrong, moved = at_best(lambda: lambda worker, vector: two_of(vector))
reveal("16.two", 100 * np.mean(wrong))
read = {"everything": right, "the largest 2": wrong}
curves = dict(zip(read, np.mean([everything, forgetful], axis=1), strict=True))
plots.plot_descents(curves, plots.read_at_best(read))

# %% [markdown]
# Both are shown at their best rates, the mean of three trainings. Two entries a step bring most of
# what the digits need, but not all of it. Do more steps bring the rest?

# %%
_, later, moved_later = at_best(lambda: lambda worker, vector: two_of(vector), steps=600)
for steps, accuracies, shares in ((200, wrong, moved), (600, later, moved_later)):
    print(f"{steps} steps: {np.mean(accuracies):.0%} read, {np.mean(shares):.0%} moved")
assert np.mean(moved_later) < 0.3
assert np.mean(later) < np.mean(right)

# %% [markdown]
# Three times the steps do not reach what whole gradients reach after 200. Look at the weights:
# **nine of ten never moved at all.** Take an entry that is small and always has the same sign. In
# a whole training it would move its weight a long way. Here it is never among the largest two, so
# it never travels. In every step it is the same, and in every step it is left out.
#
# ## 3. Keep what was not sent · *beginner*
#
# So remember it. Each worker keeps a **residual**: all that it has not sent so far.
#
# $$\text{total} = \text{residual} + x,\qquad \text{send } Q(\text{total}),\qquad
# \text{residual} = \text{total} - Q(\text{total}).$$
#
# A small entry grows in the residual until it is among the largest. Then it travels with all that
# has come together. Add up both sides over all steps: what was sent, plus the last residual, is
# exactly the sum of all gradients. Nothing is lost, it is only late. This is **error feedback**.
#
# **Exercise.** Write it for any form: `compress(x)` is what arrives in place of `x`. Unless
# another form is given, it rounds to whole numbers.


# %% name="16.feedback" tags=["answer"]
def feedback(vector, residual, compress=np.round):
    """What arrives of vector + residual, and the residual that stays: `return sent, residual`."""
    ### BEGIN SOLUTION
    total = vector + residual
    sent = compress(total)
    return sent, total - sent
    ### END SOLUTION


# %% name="16.feedback" tags=["check"]
check("16.feedback", feedback)
### BEGIN HIDDEN TESTS
judge("16.feedback", feedback, seed=162)
### END HIDDEN TESTS

# %% [markdown]
# In a training every worker has a residual of its own; here they are the rows of an array. Compare
# with the two curves from before.

# %%
from functools import partial

my_feedback = yours("16.feedback", feedback, judges.remembered)


def remember(residuals, compress, worker, vector):
    sent, residuals[worker] = my_feedback(vector, residuals[worker], compress)
    return sent


# %%
def with_memory(compress):
    return lambda: partial(remember, np.zeros((4, len(gradient))), compress)


# %%
mindful, again, moved = at_best(with_memory(two_of))
print(f"{np.mean(moved):.0%} of the weights moved")
assert np.mean(wrong) + 0.05 < np.mean(again) > 0.9
read["2, memory"], curves["2, memory"] = again, np.mean(mindful, axis=0)
plots.plot_descents(curves, plots.read_at_best(read))

# %% [markdown]
# ### The surprise
#
# With one line more, messages of 11 bytes do nearly what messages of 9,640 bytes do. They need
# more steps, but nothing is lost. This is not luck with a small network. If $Q$ keeps the bound of
# section 1, the residual can never become larger than a constant times one step. And steps that
# come a little late are still steps in the right direction (Stich and others, 2018).
#
# ## 4. One bit · *beginner*
#
# The first use of error feedback, in 2014 for speech recognition, kept *all* entries, but only
# their signs. All entries that are not negative become their mean, and all negative entries become
# theirs: two numbers and $n$ bits. A bit must then really be a bit. An array of truth values takes
# a byte for each; `np.packbits` puts eight into one byte.
#
# **Exercise.** Return the packed bits, the upper mean and the lower one. Where there is no entry
# of a sign, its mean is 0.


# %% name="16.one_bit" tags=["answer"]
def one_bit(vector):
    """(bits, upper, lower): a 1 for each entry >= 0, eight to a byte; the mean of either sign."""
    ### BEGIN SOLUTION
    above = vector >= 0
    upper = vector[above].mean() if above.any() else 0.0
    lower = vector[~above].mean() if not above.all() else 0.0
    return np.packbits(above), upper, lower
    ### END SOLUTION


# %% name="16.one_bit" tags=["check"]
check("16.one_bit", one_bit)
### BEGIN HIDDEN TESTS
judge("16.one_bit", one_bit, seed=163)
### END HIDDEN TESTS

# %%
my_one_bit = yours("16.one_bit", one_bit, judges.packed_signs)


def as_bits(vector):
    return judges.from_signs(*my_one_bit(vector), len(vector))


# %% [markdown]
# Without memory and with it, each at its best rate, beside whole numbers at theirs:

# %%
bare, bare_right, _ = at_best(lambda: lambda worker, vector: as_bits(vector))
mindful, right_again, _ = at_best(with_memory(as_bits))
read = {"32 bits": right, "1 bit": bare_right, "1 bit, memory": right_again}
curves = dict(zip(read, np.mean([everything, bare, mindful], axis=1), strict=True))
plots.plot_descents(curves, plots.read_at_best(read))

# %% [markdown]
# Signs alone come close here, at their best rate. But their loss stops falling earlier: the error
# of the signs does not shrink when the gradients do. With the memory one bit reads as many digits
# as 32 bits do. Its loss jumps, but it comes lower than that of the signs alone.
#
# ### A larger task, recorded
#
# The digits are small: 8 x 8 points, and a network of 2,410 weights. Does the same hold for a
# larger task? The GPT of unit 08 has 100 thousand weights and guesses the next character of
# Python's documentation. Two workers trained it with the library's forms. (The command is `python
# -m benchmarks.compressed_text`. It took one seed, and only the rate was searched for.) "Right" is
# the share of 4,096 held-out characters that are guessed. After 200 steps of plain descent, each
# way at the best of the rates 0.125, 0.25, 0.5 and 1.0:
#
# | sent | bytes a step | right | weights that moved |
# |---|---|---|---|
# | 32 bits | 442,368 | 24.9% | 98.0% |
# | 1 bit | 15,552 | 25.1% | 98.6% |
# | top 1% | 6,775 | 18.2% | 21.4% |
# | top 0.1% | 680 | 15.6% | 3.2% |
# | 1 bit, memory | 15,552 | 26.7% | 98.6% |
# | top 1%, memory | 6,775 | 26.4% | 67.2% |
# | top 0.1%, memory | 680 | 25.7% | 19.2% |
#
# Top-k fails here as it failed at digits, and one line repairs it here as well. With the memory
# even 680 bytes a step reach what 442,368 reach, though four of five weights have not moved by
# then. The rows around a quarter do not rank the forms: this is one seed, and a GPT that has only
# begun to learn. Some best rates are the largest that did not diverge, or that were tried. One bit
# does well here without a memory, too.
#
# ## 5. Rounding at random · *intermediate*
#
# The other way needs no memory. Divide the length of the vector into $s$ levels. An entry between
# two levels goes to the upper or to the lower level at random, more often to the nearer. So it is
# right on average: this is QSGD. With $u$ drawn from $[0, 1)$,
#
# $$q_i = \operatorname{sign}(x_i)\,\Big\lfloor s\,\frac{|x_i|}{\lVert x\rVert} + u_i\Big\rfloor,
# \qquad Q(x)_i = \frac{\lVert x\rVert}{s}\,q_i .$$
#
# **Exercise.** Return the length $\lVert x\rVert$ and the whole numbers $q$. `draws` are the
# $u_i$. A vector of zeros has the length 0 and all $q_i = 0$.


# %% name="16.quantise" tags=["answer"]
def quantise(vector, levels, draws):
    """(length, numbers): sign(x) * floor(levels |x| / length + draws)."""
    ### BEGIN SOLUTION
    length = np.linalg.norm(vector)
    scaled = levels * np.abs(vector) / (length or 1)
    return length, np.sign(vector) * np.floor(scaled + draws)
    ### END SOLUTION


# %% name="16.quantise" tags=["check"]
check("16.quantise", quantise)
### BEGIN HIDDEN TESTS
judge("16.quantise", quantise, seed=164)
### END HIDDEN TESTS

# %% [markdown]
# Average many messages for the same vector, the first 256 entries of the gradient. How far from it
# is the mean?

# %%
assert curves["1 bit"][-1] > curves["1 bit, memory"][-1]  # as section 4 says
my_quantise = yours("16.quantise", quantise, judges.drawn_levels)
lots, few = np.random.default_rng(1), gradient[:256]


def drawn(levels):
    length, numbers = my_quantise(few, levels, lots.random(256))
    return length / levels * numbers


# %%
apart, forms = {}, {"1 bit": lambda: as_bits(few), "1 level": lambda: drawn(1)}
for name, form in (forms | {"7 levels": lambda: drawn(7)}).items():
    means = np.cumsum([form() for _ in range(400)], axis=0) / np.arange(1, 401)[:, None]
    apart[name] = np.linalg.norm(means - few, axis=1) / np.linalg.norm(few)
title = "Random levels go to the vector when many are averaged; signs stay as wrong as they were"
plots.plot_descents(
    apart, title, unit="messages averaged", of="distance, in lengths of the vector"
)

# %% [markdown]
# The mean of many random messages goes to the vector like $1/\sqrt{\text{messages}}$; signs stay
# as wrong as they were. But look where one level begins: *above* 1. So a single message is further
# from the vector than a message of zeros. The error of QSGD can be
#
# $$\mathrm E\,\lVert Q(x)-x\rVert^2 \;\le\; \min\Big(\frac{d}{s^2}, \frac{\sqrt d}{s}\Big)
# \lVert x\rVert^2$$
#
# for $d$ entries. Such a form must not get a memory: its residual would grow without end. More
# levels help, or *buckets*: short pieces with a length of their own. The library refuses a memory
# where this bound is above 1, and says so.
#
# ## 6. A matrix of rank 1 · *intermediate*
#
# So far messages do not add up: the sum of two lists of $k$ entries is no list of $k$ entries, and
# the sum of two signs is no sign. **PowerSGD** (Vogels and others, 2019) sends what adds up. The
# gradient of a layer is a matrix $G$ of $m \times n$ numbers. In its place travel the $m + n$
# numbers of an outer product $u v^T$ that is near it. With the gradients $G_i$ of $P$ ranks, and a
# guess $q$,
#
# $$u = \frac1P \sum_i G_i\, q,\qquad u \leftarrow \frac{u}{\lVert u\rVert},\qquad
# v = \frac1P \sum_i G_i^T u .$$
#
# Both are means of vectors, and an all-reduce makes them. The $v$ of one step is the guess $q$ of
# the next.


# %%
from ddl_teach.collectives import ring


def average(comm, vector):
    ring.allreduce(comm, vector)
    vector /= comm.size


# %% [markdown]
# **Exercise.** A warm-up: six lines to order. Return the outer product, the same on every rank.
# `average` makes a vector the mean over the ranks, in place. The lines stand below, sorted by the
# alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* makes code of
# comments, *Alt+↑* and *Alt+↓* move lines.


# %% name="16.low_rank" tags=["answer"]
def low_rank(comm, matrix, guess):
    """The mean of all ranks' matrices, about: the outer product of two vectors."""
    ### BEGIN SOLUTION
    left = matrix @ guess
    average(comm, left)
    left /= np.linalg.norm(left)
    right = matrix.T @ left
    average(comm, right)
    return np.outer(left, right)
    ### END SOLUTION


# %% name="16.low_rank" tags=["check"]
check("16.low_rank", low_rank)
### BEGIN HIDDEN TESTS
judge("16.low_rank", low_rank, ranks=(6, 7, 12), seed=166)
### END HIDDEN TESTS

# %% [markdown]
# How much of the mean of four workers' gradients arrives? Here is the first layer's, a matrix of
# 64 x 32 numbers. Each step begins with the last step's $v$. The best matrix of rank 1 comes from
# a singular value decomposition, which would need all numbers in one place.

# %%
from ddl_class import animate, simulate

my_low_rank = yours("16.low_rank", low_rank, judges.outer_product)
layers = [task.gradient(task.initial(), worker, 4, 0)[1] for worker in range(4)]
layers = [layer[: 64 * 32].reshape(64, 32).astype(float) for layer in layers]


def lost(comm, guess):
    return my_low_rank(comm, layers[comm.rank], guess)


# %%
mean, guess = np.mean(layers, axis=0), np.ones(32)
for step in range(1, 5):
    arrived = simulate(lost, 4, guess=guess, trace=False).results[0]
    guess = arrived[0] / np.linalg.norm(arrived[0])
    missing = np.linalg.norm(mean - arrived) / np.linalg.norm(mean)
    print(f"step {step}: 96 numbers in place of 2,048; {missing:.0%} of the length is missing")
best = np.sqrt(1 - np.linalg.norm(mean, 2) ** 2 / np.linalg.norm(mean) ** 2)
assert best < missing < best + 0.05

# %% [markdown]
# After a few steps no other matrix of rank 1 is nearer. But even the nearest misses most of the
# length here. So PowerSGD needs a residual (section 3), or a few outer products instead of one.
#
# ## 7. Sums that fill in · *intermediate*
#
# Top-k has another problem. The ranks' messages must be added up, and every rank has chosen
# entries of its own. A list of $k$ indices and values is short. But the sum of two such lists has
# up to $2k$ entries, the sum of four up to $4k$: the messages grow on their way. If each rank
# chooses $k$ of $N$ places at random, a place stays empty on all $P$ ranks with the probability
# $(1-k/N)^P$. So the sum is expected to have
#
# $$K(P) = N\,\Big(1 - \big(1 - \tfrac kN\big)^P\Big)$$
#
# entries. When they are more than half of a float32 vector, the indices cost more than the zeros.
# Then the list should turn into a plain vector.
#
# **Exercise.** Add up the lists of all ranks by recursive doubling: exchange with the rank 1, 2,
# 4, ... away, and `merge` two lists into one; `merge` is given. Return the indices and the values
# of the sum, on every rank. Each rank has another number of entries, and a rank does not know how
# many will come. The number of ranks is a power of two; indices are `int64`, values `float64`. The
# cell after yours shows eight ranks, each with one entry at another place. How many bytes do the
# messages of each step have?


# %% name="16.sparse_sum" tags=["answer"]
def merge(indices, values, others, more):
    union, places = np.unique(np.concatenate([indices, others]), return_inverse=True)
    total = np.bincount(places, np.concatenate([values, more]), len(union))
    return union, total.astype(float)


def sparse_sum(comm, indices, values):
    """(indices, values) of the sum over all ranks, in log2 P steps."""
    ### BEGIN SOLUTION
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        count = np.empty(1, int)
        comm.sendrecv(np.array([len(indices)]), partner, count, partner)
        others, more = np.empty(count[0], int), np.empty(count[0])
        comm.sendrecv(indices, partner, others, partner)
        comm.sendrecv(values, partner, more, partner)
        indices, values = merge(indices, values, others, more)
        distance *= 2
    return indices, values
    ### END SOLUTION


# %%
animate(simulate(lambda comm: sparse_sum(comm, np.array([comm.rank]), np.ones(1)), 8))

# %% name="16.sparse_sum" tags=["check"]
check("16.sparse_sum", sparse_sum)
### BEGIN HIDDEN TESTS
judge("16.sparse_sum", sparse_sum, ranks=(16,), seed=165)
### END HIDDEN TESTS

# %% [markdown]
# Let 2 to 256 ranks do it, each with entries at 1% of 4,000 places, and count.

# %%
my_sum = yours("16.sparse_sum", sparse_sum, judges.swapped)


def filled(comm):
    own = np.random.default_rng(comm.rank).choice(4_000, 40, replace=False)
    return len(my_sum(comm, np.sort(own), np.ones(40))[0]) / 4_000


# %%
from ddl_class.plots.forms import plot_fill_in
from ddl_teach.theory import sparse

ranks, counts = range(1, 257), [2, 4, 8, 16, 32, 64, 128, 256]
line = [sparse.union(4_000, 40, count) / 4_000 for count in ranks]
held = [simulate(filled, count, trace=False).results[0] for count in counts]
assert np.allclose(held, [line[count - 1] for count in counts], atol=0.02)
reveal("16.fill", 100 * line[63])
plot_fill_in({"1% a rank": (ranks, line)}, {"1% a rank": (counts, held)})

# %% [markdown]
# From 69 ranks on the sum has entries at more than half of the places. SparCML (Renggli and
# others, 2019) is built on this picture: its *streams* are lists that turn into vectors in the
# middle of an all-reduce, as soon as that is smaller. And it can first send part $r$ of all lists
# to rank $r$, which adds it up. Then each entry travels once before the sum and once after it.
#
# ## 8. When does it pay? · *intermediate*
#
# Fewer bytes cost work: packing takes time, unpacking too. Compare a ring of all bytes with an
# exchange of one-bit messages. There each rank *owns* a part of the vector. It unpacks what all
# others send of it, adds up, packs the mean and sends it to all. Both send $2\frac{P-1}{P}$ times
# their bytes. If packing adds $\Delta t$ seconds and saves $\Delta n$ bytes, it pays below
#
# $$B^* = \frac{\Delta n}{\Delta t} .$$
#
# The length of the vector drops out: what counts is how fast your processor packs. Here are the 64
# ranks of your prediction: computed (lines), and simulated with phantoms (squares).

# %%
from ddl_measure.experiments import compression as only_time
from ddl_teach.theory import compression
from ddl_teach.training.compression import dense
from ddl_teach.training.compression import one_bit as bits

packing = {"message": bits.OneBit().nbytes(1_000_000), "encode": 10e-3, "decode": 5e-3}
ways = {"32 bits": compression.dense(64, 4e6), "1 bit": compression.owners(64, **packing)}
even = compression.break_even(*ways.values(), latency=5e-6)
fine, few = np.geomspace(1e7, 2e10, 60), np.geomspace(2e7, 2e10, 6)
reveal("16.bandwidth", even / 1e6)

# %%
computed = {name: (fine, way.seconds(5e-6, fine)) for name, way in ways.items()}
plain = only_time.sweep(only_time.dense, 64, few, latency=5e-6, nbytes=4_000_000)
packed = only_time.sweep(only_time.owners, 64, few, latency=5e-6, **packing)
assert np.allclose(packed, ways["1 bit"].seconds(5e-6, few), rtol=0.01)
plots.plot_bandwidths(computed, {"32 bits": (few, plain), "1 bit": (few, packed)}, even=even)

# %% [markdown]
# On the left the network is slow, and bytes are all that counts. On the right packing is. Between
# accelerators inside one machine, far on the right, few forms pay. Between two computing centres,
# or for a telephone, nearly all do.
#
# ## 9. Your own ranks · *intermediate*
#
# The ranks on your machine send through memory, which is far too fast for this question. So they
# get **injected delay**: after each exchange a rank sleeps as long as a slower link would have
# taken. Packing and unpacking are real. The first bandwidth is infinite, so there is no delay: its
# time is what remains when bytes cost nothing. The formula adds the bytes.


# %%
from ddl_measure.experiments.compression import averages

size, rates = 250_000, [1e7, 5e7, 2e8, 1e9]
asked = {"size": size, "bandwidths": [np.inf, *rates], "timeout": 100}
asked |= {"trace": False, "strict": False}


# %%
def slowest(form):
    return np.median(np.max(engines.run(averages, compressor=form, **asked).results, 0), 0)


took = {"32 bits": slowest(dense.Dense()), "1 bit": slowest(bits.OneBit())}

# %%
sent = {"32 bits": 1.5 * 4 * size, "1 bit": 1.5 * bits.OneBit().nbytes(size)}
here = {name: compression.AveragingCost(0, sent[name], took[name][0]) for name in took}
computed = {name: (fine, way.seconds(0, fine)) for name, way in here.items()}
measured = {name: (rates, times[1:]) for name, times in took.items()}

even = compression.break_even(*here.values())
plots.plot_bandwidths(computed, measured=measured, even=even)

# %% [markdown]
# What packing costs depends on how many ranks share your cores at the moment. Run the three cells
# again, and the crossing moves; the shape of the curves stays. On a busy machine the dots lie far
# above the lines.
#
# The notebook `16_on_a_slow_link` goes on from here: a whole training with four forms and every
# byte counted, gossip that sends only changes, and a puzzle, a training against time.
#
# ## 10. What others use · *intermediate*
#
# In torch a form is a *communication hook* of `DistributedDataParallel`. Side by side:
#
# | here | torch, and others |
# |---|---|
# | `Half()` | `default_hooks.fp16_compress_hook` |
# | `Feedback(PowerSGD(rank))` | `powerSGD_hook`, with a memory unless you say no |
# | `QSGD(levels, bucket)` | `quantization_hooks`: 8 bits, rounded, not at random |
# | `Feedback(OneBit())` | DeepSpeed's 1-bit Adam, 1-bit LAMB |
# | `Feedback(TopK(density))`, `DeepGradientCompression` | none in torch; research code |
# | sparse all-reduce | gradients of `nn.Embedding(sparse=True)` are gathered by gloo |
#
# NCCL and MPI know none of them. They add numbers of the types that they know, and a packed
# message is no such type. So the forms in wide use are those whose messages add up: float16 and
# PowerSGD. The notebook `16_sparse_by_nature` sends the same gradients through torch's two hooks
# and through our forms, on your engines, and adds up sparse tensors by gloo.
#
# ## What you said
#
# Your predictions of this unit, beside what was computed and measured.

# %%
from ddl_class import predictions

predictions("16")

# %% [markdown]
# ## Three questions
#
# **1.** A colleague sends the top-k of the *weights* in each step, and each rank takes the mean of
# what arrives. Why is that not the same as top-k of gradients?
#
# <details><summary>An answer</summary>
#
# What is left out of a gradient only makes the step smaller. What is left out of the weights is a
# part of the network: entries that do not travel arrive as zeros. Send the *changes* of the
# weights since the ranks last agreed, with a memory. (The library refuses the combination with
# this reason.)
#
# </details>
#
# **2.** Momentum is applied where the mean has arrived. With top-k and a memory, what goes wrong,
# and how does deep gradient compression avoid it?
#
# <details><summary>An answer</summary>
#
# An entry that has waited for a hundred steps arrives at once. Momentum then repeats this one
# large push for many steps, where a hundred small pushes would have blended. So each rank applies
# momentum *before* it puts entries aside, and the residual holds velocities. What has been sent is
# taken out of the velocity as well, or old pushes would go on.
#
# </details>
#
# **3.** You have a link of 100 Gbit/s and a processor that packs 2 GB a second. Does one bit pay?
#
# <details><summary>An answer</summary>
#
# Per byte of gradient 31/32 of a byte is saved, sent twice around a ring (about 1.9 bytes).
# Packing and unpacking take about 1/2 ns and more each. So $B^*$ is near 1.9 / 1.5 ns, 1.3 GB/s or
# 10 Gbit/s. At 100 Gbit/s it does not pay. On an accelerator that packs 500 GB a second it may.
#
# </details>
#
# ## Where to read on
#
# - F. Seide et al., "1-bit stochastic gradient descent and its application to data-parallel
#   distributed training of speech DNNs", *Interspeech*, 2014.
# - D. Alistarh et al., "QSGD: communication-efficient SGD via gradient quantization and encoding",
#   *NIPS*, 2017.
# - S. Stich, J.-B. Cordonnier and M. Jaggi, "Sparsified SGD with memory", *NeurIPS*, 2018.
# - Y. Lin et al., "Deep gradient compression", *ICLR*, 2018.
# - T. Vogels et al., "PowerSGD: practical low-rank gradient compression for distributed
#   optimization", *NeurIPS*, 2019.
# - C. Renggli et al., "SparCML: high-performance sparse communication for machine learning",
#   *SC*, 2019.
# - S. Agarwal et al., "On the utility of gradient compression in distributed training systems",
#   *MLSys*, 2022: when it does not pay.
# - P. Xie, J. K. Kim, Y. Zhou, Q. Ho, A. Kumar, Y. Yu and E. P. Xing, "Lighter-communication
#   distributed machine learning via sufficient factor broadcasting", *UAI*, 2016: of few samples
#   the gradient of a linear layer is a product of two thin matrices. They travel in its place, and
#   nothing is lost. With more samples than 2 M N / (P (M + N)) on each rank they are longer. Unit
#   08 races them. H. Zhang et al., "Poseidon: an efficient communication architecture for
#   distributed deep learning on GPU clusters", *USENIX ATC*, 2017, chooses layer by layer.
# - T. Ben-Nun and T. Hoefler, "Demystifying parallel and distributed deep learning", *ACM
#   Computing Surveys*, 2019: section 7.
# - P. Richtárik, I. Sokolov and I. Fatkhullin, "EF21: a new, simpler, theoretically better, and
#   practically faster error feedback", *NeurIPS*, 2021: each worker compresses how its gradient
#   differs from the estimate that the server has of it. That this works is proved without a
#   bound on the gradients.
# - S. Li and T. Hoefler, "Near-optimal sparse allreduce for distributed deep learning", *PPoPP*,
#   2022: each rank adds up one range of places, and the ranges are chosen so that all have as
#   much to do. A rank then moves less than 6k entries, for any number of ranks.
# - C. Chen, C. Ma, Z. Li, Y. He, Y. Dong and K. Yuan, "An all-reduce compatible top-K compressor
#   for communication-efficient distributed learning", *arXiv*, 2025: all ranks choose the same
#   places, so the sum does not fill in.
# - B. Peng, J. Quesnelle and D. P. Kingma, "DeMo: decoupled momentum optimization", *arXiv*,
#   2024: each rank keeps its momentum to itself, and sends a few numbers of it.
#
# All forms stand in `ddl_teach/training/compression`, one a file, and the sparse all-reduces in
# `ddl_teach/collectives/sparse`. *Advanced*: the notebook `16_sparse_by_nature` trains on real
# data whose gradients are sparse by themselves. `progress()` shows how far you have come, and
# `review()` asks short questions.
