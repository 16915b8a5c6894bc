# %% [markdown]
# # Few bits, many ranks
#
# **How few bits can travel, and be kept, until a training notices?**
#
# Ranks add up gradients in bytes, and you count how often each number is rounded. Adam keeps its
# states in bytes. *Muon* steps by whole matrices, which must not be cut. And *muP* finds a rate on
# a small network that fits a large one. You need units 06 and 16. Section 1 is for *beginners*,
# sections 2 to 4 are for *intermediate* readers, sections 5 and 6 are for *advanced* ones. About
# 90 minutes.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots.frame import plane
from ddl_teach.collectives import ring
from ddl_teach.plain import quantised_allreduce
from ddl_teach.theory import quantised

engines = Engines(4)

# %% [markdown]
# ## 1. A sum in bytes · *beginner*
#
# A gradient is a vector of numbers with four bytes each. Unit 16 sent fewer. Here each number
# travels as *one* byte, a whole number from -127 to 127. A **block** of numbers has one scale: its
# largest magnitude becomes 127. So a step is
#
# $$\Delta = \max_{i \in \text{block}} |x_i| \, / \, 127, \qquad
# x_i \approx \Delta \cdot \mathrm{round}(x_i / \Delta).$$
#
# Why blocks? One large number makes the step of its block large. It should spoil few others.
#
# **Exercise.** Put these lines in order: two of them belong nowhere. They send the blocks of `x`
# through bytes, and return what arrives.


# %% name="22.bytes" tags=["answer"]
def through_bytes(x, block):
    """What arrives of x, if each block of numbers has one scale and each number one byte."""
    ### BEGIN SOLUTION
    rows = x.reshape(-1, block)
    scale = np.abs(rows).max(axis=1, keepdims=True)
    step = scale / 127
    codes = np.rint(rows / step)
    return (codes * step).ravel()
    ### END SOLUTION


# %% name="22.bytes" tags=["check"]
check("22.bytes", through_bytes)
### BEGIN HIDDEN TESTS
judge("22.bytes", through_bytes, seed=221)
### END HIDDEN TESTS

# %% [markdown]
# A byte plus a byte is no byte. So a sum that travels must be rounded again. Two ways to the sum
# round differently:
#
# - **The ring** of unit 06. A chunk's sum goes from rank to rank. Each rank adds its own numbers,
#   and rounds the new sum before it sends it on.
# - **The all-to-all.** Rank r owns chunk r. All ranks round *their own* numbers of the chunk, and
#   send them to the owner. The owner adds all, and rounds once. Then the finished chunks go to all
#   ranks. ZeRO++ sums gradients in this way (Wang et al., 2023).
#
# Both send 2 (P-1)/P times the bytes of the vector. Follow a chunk whose owner is rank 0. A `~>`
# is a message that was rounded before it was sent.
#
# ```
# ring           1 ~> 2 ~> 3 ~> 0 ~> all ranks
#
# all-to-all     1 ~>
#                2 ~>  0 ~> all ranks
#                3 ~>
# ```
#
# **Exercise.** How often is a number rounded on its way, at most? Count for a given number of
# ranks: in the ring, and in the all-to-all. The finished sum travels in bytes too. Return both
# numbers.


# %% name="22.hops" tags=["answer"]
def hops(ranks):
    """How often a number is rounded: (in the ring, in the all-to-all)."""
    ### BEGIN SOLUTION
    return ranks, 2
    ### END SOLUTION


# %% name="22.hops" tags=["check"]
check("22.hops", hops)
### BEGIN HIDDEN TESTS
judge("22.hops", hops, seed=222)
### END HIDDEN TESTS

# %% [markdown]
# What do these roundings cost? Say that all numbers are independent and normal, with variance 1.
# Rounding adds an error with a share $q$ of the variance. A partial sum of $k$ ranks has variance
# $k$, and its rounding an error of $k q$. Relative to the variance $P$ of the sum:
#
# $$\text{ring: } \frac{(1 + 2 + \dots + P)\, q}{P} = \frac{P + 1}{2}\, q, \qquad
# \text{all-to-all: } \frac{(P + P)\, q}{P} = 2 q.$$
#
# An error is the root of that. On 1,024 ranks, how many times as large is the ring's? And a
# question for section 5: how much does the best rate of a GPT fall if its width grows eightfold?
# A cell after the next exercise asks for both.
#
# **Exercise.** Write the all-to-all. To keep it short, all ranks know one `step`: a number is sent
# as `np.rint(x / step)` of type `np.int8`. The owner adds these codes. Their sum is up to
# `comm.size` times as large, so a finished code is worth `step * comm.size`. The length of `x` is
# a multiple of `comm.size`. Round your own part as well. For the second half you may call
# `ring.allgather(comm, codes)`, on a vector of bytes in which rank r has filled part r. At the end
# `x` holds the sum, and *all ranks have the same bits*.


# %% name="22.all_to_all" tags=["answer"]
def all_to_all(comm, x, step):
    """Replace x by the sum of all ranks' x, in bytes: rounded once here and once by the owner."""
    ### BEGIN SOLUTION
    codes = np.split(np.rint(x / step).astype(np.int8), comm.size)
    total = codes[comm.rank].astype(int)
    for shift in range(1, comm.size):
        arriving, to = np.empty_like(codes[0]), (comm.rank + shift) % comm.size
        comm.sendrecv(codes[to], to, arriving, (comm.rank - shift) % comm.size)
        total += arriving
    means = np.empty(len(x), np.int8)
    np.split(means, comm.size)[comm.rank][:] = np.rint(total / comm.size)
    ring.allgather(comm, means)
    x[:] = means * (step * comm.size)
    ### END SOLUTION


# %% name="22.all_to_all" tags=["check"]
check("22.all_to_all", all_to_all)
### BEGIN HIDDEN TESTS
judge("22.all_to_all", all_to_all, ranks=(3, 6), seed=223)
### END HIDDEN TESTS

# %%
predict("22.ring", ...)
predict("22.rate", ...)

# %% [markdown]
# ## 2. The error over ranks · *intermediate*
#
# Now with blocks and their scales, as in `ddl_teach/plain/quantised_allreduce.py`. `error_of`
# returns how far the mean is from the exact one, relative to its size, and the bytes that this
# rank has sent. First it runs on up to 64 simulated ranks, and then on your own ranks.


# %%
def error_of(comm, way, size=4096):
    x = np.random.default_rng(comm.rank).standard_normal(size)
    exact = x.copy()
    ring.allreduce(comm, exact)
    before = comm.ledger.bytes_sent
    getattr(quantised_allreduce, way)(comm, x)
    sent = comm.ledger.bytes_sent - before
    return np.linalg.norm(comm.size * x - exact) / np.linalg.norm(exact), sent, x.tobytes()


# %%
names = {"ring": "ring", "all_to_all": "all-to-all"}
small, real = (2, 4, 8, 16, 32, 64), (2, 3, 4)


def mean_error(run, way, ranks):
    return run(error_of, ranks, way=way).results[0][0]


simulated = {names[w]: (small, [mean_error(simulate, w, p) for p in small]) for w in names}
measured = {names[w]: (real, [mean_error(engines.run, w, p) for p in real]) for w in names}

# %%
for way, name in names.items():
    results = simulate(error_of, 16, way=way).results
    assert len({bits for _, _, bits in results}) == 1
    predicted = quantised.sent_bytes(name, 16, 4096 + 4 * 64)  # and 4 bytes for each block
    print(f"{name:10} rank 0 sends {results[0][1]:,} bytes, by the formula {predicted:,.0f}")

# %% [markdown]
# All ranks have the same bits, because the owner too takes what its bytes say. Both ways send the
# same bytes. For thousands of ranks it is enough to follow *one* chunk on its way: the next cell
# rounds a sum after each of thousands of ranks, without messages. In the picture lines are
# computed, hollow squares simulated, and dots measured on your ranks.

# %%
encode, decode = quantised_allreduce.encode, quantised_allreduce.decode


def one_chunk(ranks, size=640):
    random, exact, total = np.random.default_rng(0), 0, np.zeros(size)
    for _ in range(ranks):
        part = random.standard_normal(size)
        total, exact = decode(encode(total)) + part, exact + part
    return np.linalg.norm(decode(encode(total)) - exact) / np.linalg.norm(exact)


# %%
many, ranks = (256, 1024, 4096), 2 ** np.arange(1, 13)
far = {"ring, one chunk": (many, [one_chunk(count) for count in many])}
error = quantised.relative_error
line = {name: (ranks, [error(name, int(count)) for count in ranks]) for name in names.values()}

# %%
reveal("22.ring", line["ring"][1][9] / line["all-to-all"][1][9])
picture = plane("ranks", "error / size of the mean")
picture.draw_all({"computed": line, "simulated": simulated | far, "measured": measured})
picture.log_scale("x", base=2)
picture.set_yscale("log")
most = line["ring"][1][-1] / line["all-to-all"][1][-1]
found = f"By the formula the ring's error on 4,096 ranks is {most:.0f} times the all-to-all's"
picture.finish("Error of a mean in bytes over ranks", found, legend="best")

# %% [markdown]
# The ring's error grows with the root of the ranks. The all-to-all's does not grow at all.
#
# *What production does.* ZeRO++ goes further, in two levels: an all-to-all inside each node, then
# one between nodes. In the course's product it is a compressor, `Blocks`, with `AllReduce` (an
# all-to-all) or with `RequantisedRing`. The next cell trains the digits with 4 bits on eight ranks
# in both ways, at one rate and one seed: it shows that both run, and not which is better.

# %%
from ddl_teach.training.compression.blocks import Blocks
from ddl_teach.training.consistency.synchronous import Synchronous
from ddl_teach.training.distribution.all_reduce import AllReduce
from ddl_teach.training.distribution.requantised_ring import RequantisedRing
from ddl_teach.training.optimizers import adam_8bit
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.sgd import SGD
from ddl_teach.training.tasks.digits import Digits
from ddl_teach.training.trainer import train

# %%
given = {"task": Digits(), "consistency": Synchronous(), "steps": 100, "trace": False}
four_bits = given | {"compressor": Blocks(levels=7), "update": SGD(0.5)}
for way in (AllReduce(), RequantisedRing()):
    weights = simulate(train, 8, distribution=way, **four_bits).results[0].weights
    print(f"{way!s:32} loss {given['task'].loss(weights):.3f}")

# %% [markdown]
# ## 3. States in bytes · *intermediate*
#
# Adam keeps two **states** for each weight: a mean of gradients and a mean of their squares. In
# float32 they take 8 bytes a weight, twice the weight itself. Could they be bytes? Steps of equal
# size will not do. Squares differ by many orders of magnitude, and Adam *divides* by their root: a
# square that is rounded to zero makes a huge step.
#
# So the 256 values lie unevenly (Dettmers et al., 2022): seven decades, each with twice as many
# values as the one below. This is **dynamic quantisation**. Each block of 2048 numbers has a
# scale.

# %%
values = adam_8bit.code(signed=True)
picture = plane("place in the table, 0 to 255", "value", 3.2)
picture.plot(values, ".")
picture.set_yscale("symlog", linthresh=1e-6)
picture.finish("The 256 values of a byte", f"Closest to zero: {values[values > 0].min():.1e}")

# %% [markdown]
# **Exercise.** Turn a block into bytes. `values` ascend. Return the *place* of the nearest value
# for each number over the scale, and the scale, which is the largest magnitude.


# %% name="22.states" tags=["answer"]
def to_bytes(x, values):
    """The place in `values` that is nearest to each x / scale; and the scale."""
    ### BEGIN SOLUTION
    scale = np.abs(x).max()
    middles = (values[1:] + values[:-1]) / 2
    return np.searchsorted(middles, x / scale), scale
    ### END SOLUTION


# %% name="22.states" tags=["check"]
check("22.states", to_bytes)
### BEGIN HIDDEN TESTS
judge("22.states", to_bytes, seed=224)
### END HIDDEN TESTS

# %% [markdown]
# Now both train the digits with four seeds, at the same rate. A third run takes the nearest value
# for squares too, as the exercise does, so that small ones become zero. The second one gives
# squares above zero at least the first value above zero.


# %%
def final_loss(update, seed):
    task = Digits(seed=seed)
    how = given | {"task": task, "distribution": AllReduce(), "update": update}
    return task.loss(simulate(train, 2, **how).results[0].weights)


# %%
weights, rules = given["task"].initial().size, {"float32": Adam(0.01)}
rules["bytes"] = adam_8bit.Adam8Bit(0.01)
rules["bytes, nearest value"] = adam_8bit.Adam8Bit(0.01, least=0)
print(f"states: {8 * weights:,} bytes in float32, {adam_8bit.state_bytes(weights):,} in bytes")
for name, update in rules.items():
    losses = [final_loss(update, seed) for seed in range(4)]
    print(f"{name:20}", *[f"{loss:.3f}" for loss in losses])

# %% [markdown]
# **The surprise.** Rounded to the nearest value, a state of one byte can end a training.
# *Recorded* (`benchmarks/results/few_bits_optimizers.txt`), on a small GPT with 25 pairs of rates
# and nearest values: with bytes in the blocks of the network only, the loss ends at 2.213, and
# with float32 at 2.215. Over five seeds it is from 2.176 to 2.260. With bytes in the embeddings
# too, 11 of 25 pairs of rates blew up. In an embedding the squares of a rare character share a
# scale with those of frequent ones. The paper keeps the states of embeddings in 32 bits. If
# squares above zero get at least the first value above zero, none of the 25 pairs blows up. With
# bytes everywhere the loss is then 2.217, from 2.178 to 2.261.
#
# ## 4. Whole matrices: Muon · *intermediate*
#
# Adam looks at each weight alone. **Muon** (Jordan et al., 2024) looks at a weight *matrix*. Its
# momentum has a few large singular values and many small ones: few directions dominate. Muon makes
# all of them about 1, so that all directions step alike. A singular value decomposition is slow on
# a GPU. **Newton-Schulz** rounds need matrix products only:
#
# $$X \leftarrow a X + b A X + c A^2 X, \quad A = X X^{\mathsf T}, \qquad
# \text{which takes each singular value } s \text{ to } a s + b s^3 + c s^5.$$

# %%
s, rounds = np.linspace(0, 1, 400), {}
value = s.copy()
for number in range(1, 6):
    value = 3.4445 * value - 4.775 * value**3 + 2.0315 * value**5
    rounds[f"round {number}"] = value
picture = plane("singular value before", "after", 3.6)
picture.draw_lines({name: (s, rounds[name]) for name in ("round 1", "round 3", "round 5")})
low, high = value[20:].min(), value.max()
ends = f"From {s[20]:.2f} on, five rounds end between {low:.2f} and {high:.2f}"
picture.finish("Singular values after rounds of Newton-Schulz", ends, legend="best")

# %% [markdown]
# **Exercise.** Write it, for a matrix with no more rows than columns. Divide by the norm, and make
# five rounds with a = 3.4445, b = -4.775 and c = 2.0315.


# %% name="22.orthogonal" tags=["answer"]
def orthogonal(matrix):
    """The matrix with all its singular values near 1, by five rounds of Newton-Schulz."""
    ### BEGIN SOLUTION
    a, b, c = 3.4445, -4.775, 2.0315
    x = matrix / np.linalg.norm(matrix)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x
    ### END SOLUTION


# %% name="22.orthogonal" tags=["check"]
check("22.orthogonal", orthogonal)
### BEGIN HIDDEN TESTS
judge("22.orthogonal", orthogonal, seed=225)
### END HIDDEN TESTS

# %% [markdown]
# Biases, norms, embeddings and the head stay with Adam. Is Muon better? On a small GPT each
# optimizer got 25 pairs of rates, and then five other seeds at its best pair. *Recorded*
# (`benchmarks/results/few_bits_optimizers.txt`): after 250 steps Adam's loss is 2.215, from 2.176
# to 2.260 over the seeds, and Muon's 2.140, from 2.111 to 2.157. That is a comparison at equal
# *steps*, and a step of Muon computes more. *Recorded* (`benchmarks/results/few_bits_steps.txt`),
# on one core and 128 wide: Adam's step took 8.57 ms, Muon's 27.96, and the forward and backward
# pass 17.29. But these batches have 256 characters. With more of them the pass takes longer, and
# the step does not.
#
# Since version 2.9 torch has `torch.optim.Muon`. A test compares its steps with ours.
#
# Now many ranks. A matrix that is cut into pieces has no singular values. Two ways keep it whole:
#
# - *everywhere*: an all-reduce of all gradients, then every rank makes all steps.
# - *owners*: each matrix is added up on *one* rank, which makes its step and sends it to all.
#
# What do they cost? The ledger counts bytes, and a formula the operations.

# %%
from ddl_teach.theory import muon as cost
from ddl_teach.training.optimizers.muon import by_owners, everywhere

shapes = [(64, 64)] * 8 + [(256, 64), (64, 256)] * 2


def all_steps(comm, way):
    matrices = [np.random.default_rng(comm.rank).standard_normal(shape) for shape in shapes]
    way(comm, matrices)
    return comm.ledger.bytes_sent, matrices[0]


# %%
work = {everywhere: sum(map(cost.operations, shapes)), by_owners: cost.busiest(shapes, 4)}
for way in work:
    sent = sum(part for part, _ in engines.run(all_steps, way=way).results)
    print(f"{way.__name__:10} {sent:,} bytes, {work[way] / 1e6:,.0f} million operations on a rank")
assert sent == cost.total_bytes("owners", 4, 8 * sum(map(np.prod, shapes)))

# %% [markdown]
# The bytes are the same, and an owner computes a part only. It also keeps the momentum of its own
# matrices only. A third way, of Liu et al. (2025), cuts momentum evenly and gathers it: half as
# many bytes again, and every rank computes all.
#
# **Exercise.** Who owns what? `work` has the operations of each matrix. Return the rank of each,
# so that the busiest rank has little to do: no more than if the largest matrices are given away
# first, each to the rank that has the least.


# %% name="22.owner" tags=["answer"]
def owners(work, ranks):
    """The rank of each matrix."""
    ### BEGIN SOLUTION
    load, owner = [0] * ranks, [0] * len(work)
    for place in sorted(range(len(work)), key=lambda place: -work[place]):
        owner[place] = load.index(min(load))
        load[owner[place]] += work[place]
    return owner
    ### END SOLUTION


# %% name="22.owner" tags=["check"]
check("22.owner", owners)
### BEGIN HIDDEN TESTS
judge("22.owner", owners, seed=226)
### END HIDDEN TESTS

# %% [markdown]
# With more ranks than matrices, owners win nothing more: one matrix is the least that a rank has.
#
# ## 5. A rate that stays: muP · *advanced*
#
# Which rate fits a network? Large ones are too dear to search. Could one search on a small one? A
# GPT of width 16 to 128 was trained with seven rates at each width (*recorded*,
# `benchmarks/results/few_bits_widths.txt`). You have said how much smaller the best rate becomes
# from width 16 to 128.
#
# **muP** (Yang et al., 2022) says why, and what to do. Adam steps by about the rate in each
# weight. A hidden unit adds up `width` inputs, so the steps of its weights add up too. Its change
# grows with the width. With `wider = width / base`:
#
# | weights | begin with 1/sqrt(inputs), times | rate, times |
# |---|---|---|
# | input (an embedding, which begins with 1/sqrt(width)) | sqrt(wider) | 1 |
# | hidden | 1 | 1 / wider |
# | output | 1 / sqrt(wider) | 1 / wider |
# | vector (a bias or a norm) | 1 | 1 |
#
# **Exercise.** Return both factors.


# %% name="22.width" tags=["answer"]
def multipliers(kind, width, base):
    """(start, rate) of weights that are "input", "hidden", "output" or "vector"."""
    ### BEGIN SOLUTION
    wider = width / base
    start = {"input": wider**0.5, "output": wider**-0.5}.get(kind, 1)
    rate = 1 / wider if kind in ("hidden", "output") else 1
    return start, rate
    ### END SOLUTION


# %% name="22.width" tags=["check"]
check("22.width", multipliers)
### BEGIN HIDDEN TESTS
judge("22.width", multipliers, seed=227)
### END HIDDEN TESTS

# %% [markdown]
# First a **coordinate check**. A hidden layer gets inputs of size 1. Its weights make one step of
# Adam, which is the rate times the sign of the gradient. How much do its outputs change?

# %%
from ddl_teach.theory import mup

my_multipliers = yours("22.width", multipliers, mup.multipliers)


def change(width, factor):
    random = np.random.default_rng(0)
    inputs, slopes = random.standard_normal(width), random.standard_normal(width)
    step = 0.01 * factor * np.sign(np.outer(slopes, inputs))
    return np.abs(step @ inputs).mean()


# %%
widths = (16, 64, 256, 1024)
steady = [change(width, 1) for width in widths]
tamed = [change(width, my_multipliers("hidden", width, 16)[1]) for width in widths]
picture = plane("width", "change of an output in one step", 3.2)
picture.draw_lines({"without muP": (widths, steady), "with muP": (widths, tamed)})
picture.log_scale("x", base=2)
picture.set_yscale("log")
grown = f"Without muP {steady[-1] / steady[0]:.0f} times as much at width 1,024; with it"
picture.finish("Coordinate check", f"{grown} {tamed[-1] / tamed[0]:.1f} times", legend="best")

# %% [markdown]
# Now the search. A search for a rate is parallel by nature: each rank takes rates of its own (unit
# 17). Your ranks train a GPT of width 16, one of width 64, and one of width 64 with muP. Rank $r$
# takes the rates $r$, $r + 4$ and so on. In the end a sum over ranks gives all ranks all losses.
# `factors` asks your function, if it is right.

# %%
import torch

from ddl_teach.networks import twin
from ddl_teach.networks.models import data, gpt


def factors(name, weight, width, base):
    kind = {"embedding": "input", "head": "output"}.get(name.split(".")[0], "hidden")
    return my_multipliers(kind if weight.ndim > 1 else "vector", width, base)


# %%
def end_of(rate, width, base, texts, where):
    network, groups = gpt.gpt(width=width, heads=width // 8).to(where), []
    for name, weight in network.named_parameters():
        start, factor = factors(name, weight, width, base)
        weight.data *= start
        groups.append({"params": [weight], "lr": rate * factor})
    losses = twin.train(network, texts, optimizer=lambda _: torch.optim.Adam(groups)).losses
    return np.mean(losses[-20:])


# %%
def search(comm, rates, width, base, texts):
    losses = np.zeros(len(rates))
    for place in range(comm.rank, len(rates), comm.size):
        losses[place] = end_of(rates[place], width, base, texts, comm.device)
    ring.allreduce(comm, losses)
    return losses


# %% [markdown]
# Each training has 60 steps and one seed. Where is the lowest point of each line?

# %%
rates, given = 2.0 ** np.arange(-9, -3), {"texts": data.batches(data.characters(16), 16, 60)}
given |= {"rates": rates, "timeout": 300}
lines = {"width 16": (rates, engines.run(search, width=16, base=16, **given).results[0])}
for name, base in (("width 64", 64), ("width 64, muP", 16)):
    lines[name] = rates, engines.run(search, width=64, base=base, **given).results[3]

# %%
recorded = {"without muP": (-6, -7, -8, -9), "with muP": (-6, -6, -6, -6)}
reveal("22.rate", 2.0 ** (recorded["without muP"][0] - recorded["without muP"][-1]))
picture = plane("rate", "loss", 3.4)
picture.draw_lines(lines)
picture.log_scale("x", lambda rate: f"2^{np.log2(rate):.0f}", base=2)
ends = [np.log2(rates[np.argmin(losses)]) for _, losses in lines.values()]
shown = "Best: 2^{:.0f} at width 16, 2^{:.0f} at 64, and 2^{:.0f} at 64 with muP".format(*ends)
picture.finish("Loss over rate, searched on four ranks", shown, legend="best")

# %% [markdown]
# The recorded searches had widths 16, 32, 64 and 128, rates from 2^-9 to 2^-3, 150 steps, and
# three seeds. `recorded` has their best rates, as powers of two. With muP the best rate is the
# same at all four widths. Without muP the widest network was best at the *lowest* rate that was
# tried: its best rate may lie below. These are four widths of one small network, and with other
# seeds a best rate may move by a step.
#
# ## 6. A puzzle · *advanced*
#
# Sixteen ranks take the mean of a gradient with four layers. A message costs 9 µs, and a byte
# 0.01 µs. For each layer choose a way, `"ring"`, `"all-to-all"` or `"gathered"`; bits, 2 to 8; and
# a block. *Gathered* means that all ranks get all rounded parts, in 4 messages: more bytes, fewer
# messages, and the sum is not rounded at all. The error of a layer is relative to its mean. The
# root of the mean square over the four layers must not be above 2%. In the embedding, rows of 64
# numbers differ much in size.
#
# **Exercise.** Return a row for each layer. The goal is **1.85 ms**.

# %%
from ddl_class.exercises.unit_22.rank_judges import LAYERS, outcome

print(dict(LAYERS))
seconds, error = outcome([("all-to-all", 8, 64)] * 4)
print(f"8 bits everywhere: {1e3 * seconds:.2f} ms, an error of {error:.2%}")


# %% name="22.bits" tags=["answer"]
def plan(sizes):
    """(way, bits, block) for each layer, whose sizes are given."""
    ### BEGIN SOLUTION
    return [("all-to-all", 7, 64)] * 3 + [("gathered", 8, 64)]
    ### END SOLUTION


# %% name="22.bits" tags=["check"]
check("22.bits", plan)
### BEGIN HIDDEN TESTS
judge("22.bits", plan, seed=228)
### END HIDDEN TESTS

# %% [markdown]
# ## Three questions
#
# **1.** The formulas are for independent numbers. What changes if all ranks have nearly the same
# gradient?
#
# <details><summary>An answer</summary>
#
# Then the size of a partial sum grows like k, not like its root, and so does the step that it is
# rounded to. The ring's errors, relative to the sum, still grow like the root of the ranks. In the
# all-to-all the ranks' own errors are all alike, so they do not average out; rounding at random
# (unit 16) would help.
#
# </details>
#
# **2.** Owners of Muon's matrices are chosen once. What speaks against choosing anew in each step?
#
# <details><summary>An answer</summary>
#
# An owner keeps the momentum of its matrices. If a matrix had another owner in the next step, its
# momentum would have to travel as well.
#
# </details>
#
# **3.** Why does muP leave the rate of an embedding as it is?
#
# <details><summary>An answer</summary>
#
# For a character the embedding picks one row. Nothing is added up over the width. So a step
# changes each number by the rate, however wide the network is.
#
# </details>
#
# ## Where to read on
#
# - G. Wang et al., "ZeRO++: extremely efficient collective communication for giant model
#   training", *arXiv 2306.10209*, 2023.
# - T. Dettmers, M. Lewis, S. Shleifer and L. Zettlemoyer, "8-bit optimizers via block-wise
#   quantization", *ICLR*, 2022.
# - K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", *web page*, 2024.
# - J. Liu et al., "Muon is scalable for LLM training", *arXiv 2502.16982*, 2025.
# - G. Yang et al., "Tensor programs V: tuning large neural networks via zero-shot hyperparameter
#   transfer", *arXiv 2203.03466*, 2022.
# - A. Panferov, E. Schultheis, S. Tabesh and D. Alistarh, "Quartet II: accurate LLM pre-training
#   in NVFP4 by improved unbiased gradient estimation", *arXiv 2601.22813*, 2026.
#
# The optimizers stand in `ddl_teach/training/optimizers/`. `progress()` shows how far you have
# come.
