# %% [markdown]
# # Large batches
#
# **Why is more throughput not less time?**
#
# With data parallelism (unit 08) twice the ranks look at twice as many samples in a second. So the
# network should learn twice as fast. For a while it does. Then ranks are added, the number of
# samples a second goes up and up, and the network is not ready a minute sooner.
#
# In this unit you find out when that happens, and why. You write what makes training with large
# batches possible: a learning rate that grows with the batch and warms up; a measurement of how
# noisy gradients are; and LARS. You need unit 08. *Beginners* take sections 1 to 4, *intermediate*
# readers all but section 7. It takes about 90 minutes. A second notebook, `13_second_order`, has
# steps that know the curvature, and a puzzle.
#
# ## 1. What a larger batch is good for · *beginner*
#
# A gradient over a batch is an average over its samples, so it is noisy. With a larger batch there
# is less noise. Here is a bowl with two weights, and three balls that roll down, each with
# gradients of another batch. All make 25 steps with the same learning rate.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.plots import large_batches as pictures
from ddl_teach.collectives import recursive_doubling
from ddl_teach.comm import Uniform

engines = Engines(4)


# %%
def roll(batch, rate=0.15, curvatures=(0.3, 2.0)):
    points = [np.array([-2.0, 1.0])]
    for noise in 3.0 / batch**0.5 * np.random.default_rng(2).standard_normal((25, 2)):
        points.append(points[-1] - rate * (curvatures * points[-1] + noise))
    return np.array(points)


paths = {f"batch of {batch}": roll(batch) for batch in (1, 16, 256)}
pictures.plot_descents(paths, (0.3, 2.0))

# %% [markdown]
# With one sample the ball staggers. With 16 it goes nearly straight. With 256,
# sixteen times the work, it takes the same way. No batch, however large, gets *further* in 25
# steps: the noise is gone, and the way is as long as it was. Then only a longer step helps, and
# the bowl limits how long a step may be: above that, the ball leaps out.
#
# So a batch is large enough when the noise no longer matters. Let $|G|^2$ be the squared length of
# the true gradient, and $\operatorname{tr}\Sigma$ that of the noise of *one* sample. A batch of
# $B$ has noise $\operatorname{tr}\Sigma/B$. Both are equal for a batch of $N$ samples, the **noise
# scale**:
#
# $$N = \frac{\operatorname{tr}\Sigma}{|G|^2},\qquad \text{steps}(B) = S\left(1 +
# \frac{N}{B}\right).$$
#
# The second formula counts the steps to a target (McCandlish and others, 2018). While $B$ is far
# below $N$, twice the batch needs half the steps: perfect. Far above, it is always $S$: a wall.
#
# ### Predict
#
# A small network learns handwritten digits. What is its noise scale, in samples? That is the batch
# in whose gradient noise and truth have equal length.
#
# And 64 ranks, with 8 samples each, train on a fast network. Their throughput will be about 64
# times that of one rank. How many times as soon will they reach the target?

# %%
predict("13.noise", ...)
predict("13.sooner", ...)

# %% [markdown]
# ### A batch in pieces
#
# **Exercise.** A warm-up of three minutes. A large batch does not fit into memory. So compute the
# gradients of its pieces one after another, add them up, and make *one* step with their mean. This
# is called gradient accumulation. The loss is the mean of $(x w - y)^2$, and its gradient stands
# in the lines below. They are sorted by the alphabet, and two of them belong nowhere: put the
# others in order. *Ctrl+/* makes code of comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents
# what is selected.


# %% name="13.pieces" tags=["answer"]
def one_large_step(weights, pieces, rate):
    """The weights after one step with all pieces (x, y) of a batch, which are equally long."""
    ### BEGIN SOLUTION
    total = np.zeros_like(weights)
    for x, y in pieces:
        total += 2 * x.T @ (x @ weights - y) / len(y)
    weights = weights - rate * total / len(pieces)
    return weights
    ### END SOLUTION


# %% name="13.pieces" tags=["check"]
check("13.pieces", one_large_step)
### BEGIN HIDDEN TESTS
judge("13.pieces", one_large_step, seed=134)
### END HIDDEN TESTS

# %% [markdown]
# ## 2. A rate for a larger batch · *beginner*
#
# A batch $k$ times as large replaces $k$ steps by one. If those $k$ steps would have gone the same
# way, one step $k$ times as long does what they did together. That is **linear scaling**: $k$
# times the batch, $k$ times the learning rate.
#
# At the beginning of a training it fails. The network changes fast there. The $k$ steps would
# *not* have gone the same way, and one long step leaps out of the valley. So Goyal and others
# (2017) let the rate **warm up**: it begins where it is for the small batch, and rises by the same
# amount in each step. They trained a ResNet-50 on ImageNet in one hour on 256 GPUs, with batches
# of 8,192.
#
# **Exercise.** `base` is the rate that is right for batches of `reference` samples. Steps are
# counted from 1. In step 1 the rate is `base`. From step `warm_up + 1` on it is `base` times
# `batch / reference`. Between them it lies on a straight line. `warm_up` may be 0.


# %% name="13.rate" tags=["answer"]
def learning_rate(step, batch, base, reference, warm_up):
    """From `base` up to base * batch / reference, in `warm_up` equal steps."""
    ### BEGIN SOLUTION
    peak = base * batch / reference
    if step > warm_up:
        return peak
    return base + (peak - base) * (step - 1) / warm_up
    ### END SOLUTION


# %% name="13.rate" tags=["check"]
check("13.rate", learning_rate)
### BEGIN HIDDEN TESTS
judge("13.rate", learning_rate, seed=131)
### END HIDDEN TESTS

# %% [markdown]
# Does it help? The task is the handwritten digits of unit 08, with a small perceptron. Its
# gradient is written in NumPy, so that a step takes microseconds. All its weights are one flat
# vector. `task.gradient(weights, rank, ranks, step)` returns the loss and the gradient of one
# rank's samples; in the next cell rank 0 is alone. One picture in five is held out. The target is
# a loss of 0.2 on those: then some 95% of them are recognised.

# %%
from ddl_teach.training.tasks.digits import Digits


def descend(task, rate, weights, steps, target=0.2):
    losses = [task.loss(weights)]
    while len(losses) <= steps and target < losses[-1] < 1e3:  # not there, and not lost
        gradient = task.gradient(weights, 0, 1, len(losses))[1]
        weights -= rate(len(losses)) * gradient
        losses.append(task.loss(weights))
    return losses


# %% [markdown]
# Let the weights begin three times as large as they should. This stands for the wild
# beginnings of deep networks. Batches of 32 at a rate of 0.25 are the reference. We compare them
# with batches of 256: scaled by eight at once, and scaled with a warm-up of 20 steps. That alone
# would be unfair to constant rates. So both batches also try four of these. Each number is the
# median of five trainings. A training that is not at the target within 250 steps counts as
# endless. The third cell trains forty times: some seconds, and on a busy machine minutes.


# %%
from ddl_teach.training.consistency.rates import WarmUp, linear_scaling


def library_rate(step, batch, base, reference, warm_up):
    return WarmUp(base, linear_scaling(base, batch, reference), warm_up)(step)


# %%
def learn(batch, rate, seed=0):
    return descend(Digits(batch, seed=seed), rate, 3 * Digits(seed=seed).initial(), 250)


def median_steps(batch, rate):
    runs = [learn(batch, rate, seed) for seed in range(5)]
    return float(np.median([len(run) - 1 if run[-1] <= 0.2 else np.inf for run in runs]))


# %%
my_rate = yours("13.rate", learning_rate, library_rate)
constant = {
    batch: {rate: median_steps(batch, WarmUp(rate, rate, 0)) for rate in (0.25, 0.5, 1.0, 2.0)}
    for batch in (32, 256)
}

# %% [markdown]
# The best of four constant rates for each batch, and beside it the large batch with your warm-up.
# A line has the size of a batch, and its steps by rate:

# %%
best_rate = {batch: min(found, key=found.get) for batch, found in constant.items()}
warmed = median_steps(256, lambda step: my_rate(step, 256, 0.25, 32, 20))
print(*constant.items(), f"256 samples, warmed up to 2.0: {warmed:.0f}", sep="\n")
runs = {f"32 samples at {best_rate[32]}": learn(32, lambda step: best_rate[32])}
runs[f"256 at {best_rate[256]}"] = learn(256, lambda step: best_rate[256])
runs["256, scaled to 2.0"] = learn(256, lambda step: my_rate(step, 256, 0.25, 32, 0))
runs["256, warmed up to 2.0"] = learn(256, lambda step: my_rate(step, 256, 0.25, 32, 20))
assert warmed < constant[256][best_rate[256]] < constant[32][best_rate[32]]
assert constant[256][2.0] == np.inf
pictures.plot_losses(runs, target=0.2, title="The first of five trainings")

# %% [markdown]
# The picture shows the first of the five trainings. At the rate of the reference, 0.25, the large
# batch hardly needs fewer steps than the small one: it is wasted. Eight times the rate at once
# throws the weights out of the valley, and they do not settle. With the warm-up the same rate does
# no harm, and the target comes sooner than at the best constant rate. Do not conclude too much:
# with weights of the right size the warm-up changes little here. It is an insurance for the first
# steps.
#
# ## 3. How noisy are gradients? · *beginner*
#
# Can a larger batch help at all? The noise scale $N$ says so, and data-parallel ranks can measure
# it on the way. Each rank has a gradient over its own $b$ samples. After averaging, all have one
# over $Pb$ samples. Their squared lengths differ, because they hold different amounts of noise. A
# bar means the average over the ranks: $\overline{|g|^2}$ is the mean of the ranks' squared
# lengths, and $|\overline{g}|^2$ is the squared length of the mean gradient. On average
#
# $$\overline{|g|^2} = |G|^2 + \frac{\operatorname{tr}\Sigma}{b},\qquad
# |\overline{g}|^2 = |G|^2 + \frac{\operatorname{tr}\Sigma}{P\,b}.$$
#
# Two equations, two unknowns:
#
# $$\operatorname{tr}\Sigma = b\,\frac{P}{P-1}\left(\overline{|g|^2} - |\overline
# g|^2\right),\qquad |G|^2 = \frac{P\,|\overline g|^2 - \overline{|g|^2}}{P-1}.$$
#
# **Exercise.** `gradient` is this rank's own, over `samples` samples. Return the noise
# $\operatorname{tr}\Sigma$ and the signal $|G|^2$, the same two numbers on every rank.
# `add_up(comm, x)` replaces `x` by its sum over the ranks. There are at least two ranks.


# %%
def add_up(comm, x):
    """`x` becomes the sum over all ranks, in place: copies travel once round a ring."""
    rank, size = comm.rank, comm.size
    parts = [x.copy() for _ in range(size)]
    for step in range(size - 1):
        out, into = (rank - step) % size, (rank - step - 1) % size
        comm.sendrecv(parts[out], (rank + 1) % size, parts[into], (rank - 1) % size)
    x[...] = sum(parts)


# %% name="13.noise" tags=["answer"]
def noise_and_signal(comm, gradient, samples):
    """tr(Sigma) and |G|^2, from |g|^2 before and after averaging."""
    ### BEGIN SOLUTION
    mean, length = gradient.copy(), np.array([gradient @ gradient])
    add_up(comm, mean)
    add_up(comm, length)
    mean, small = mean / comm.size, length[0] / comm.size
    large = mean @ mean
    noise = samples * comm.size / (comm.size - 1) * (small - large)
    return noise, (comm.size * large - small) / (comm.size - 1)
    ### END SOLUTION


# %% name="13.noise" tags=["check"]
check("13.noise", noise_and_signal)
### BEGIN HIDDEN TESTS
judge("13.noise", noise_and_signal, ranks=(6, 7, 12), seed=132)
### END HIDDEN TESTS

# %% [markdown]
# One step says little: by chance the signal may even be negative. So the next cells train on your
# engines, measure in each step, and average the two numbers *before* they divide one by the other.
# First over 60 steps, in which most is learnt, then over 60 later ones.


# %%
def noise_in_steps(comm, task, rate, steps, measure):
    weights, measured = task.initial(), []
    for step in range(1, steps + 1):
        gradient = task.gradient(weights, comm.rank, comm.size, step)[1]
        measured.append(measure(comm, gradient, task.batch))
        add_up(comm, gradient)
        weights -= rate / comm.size * gradient
    return np.array(measured)


# %%
from ddl_teach.training.consistency import gradient_noise

my_measure = yours("13.noise", noise_and_signal, gradient_noise.noise_and_signal)
given = {"task": Digits(16), "rate": 0.3, "steps": 120, "measure": my_measure}
[first, *_] = engines.run(noise_in_steps, **given, timeout=120).results
early, late = (noise / signal for noise, signal in (first[:60].mean(0), first[60:].mean(0)))
print(f"noise scale: {early:.0f} samples early, {late:.0f} samples late")
reveal("13.noise", early)
assert 10 < early < late

# %% [markdown]
# So with some forty samples in a batch, half of the squared length of a gradient is
# noise. With far fewer samples steps are wasted, with far more samples are. And the noise scale
# *grows*: when most is learnt the true gradient is small, and the noise is not. Late in a training
# larger batches pay.
#
# ## 4. The wall · *beginner*
#
# Now count steps. For batches from 8 to 1,024 samples: how many steps to the target, at the best
# of four learning rates? (To compare all batches at one rate would be a trick of unit 18.) It
# takes some seconds.


# %%
def steps_to_target(batch, rate, seed):
    task = Digits(batch, seed=seed)
    losses = descend(task, lambda step: rate, task.initial(), 1600 // batch + 40)
    return len(losses) - 1 if losses[-1] <= 0.2 else np.inf


# %%
batches, rates = (8, 16, 32, 64, 256, 1024), (0.12, 0.25, 0.5, 1.0)
table = [[[steps_to_target(b, r, s) for s in (0, 1)] for r in rates] for b in batches]
steps = np.mean(table, axis=2).min(axis=1)
best = np.array(rates)[np.mean(table, axis=2).argmin(axis=1)]
print("steps:", *steps, " best rates:", *best)

# %% [markdown]
# Look at the best rates first. They grow with the batch, as linear scaling says, and
# then they stop: above some rate the bowl throws the ball out, and no batch changes that. The next
# cell draws the formula through the steps.

# %%
from ddl_teach.theory.large_batches import fit_steps

law, many = fit_steps(batches, steps), 2.0 ** np.arange(3, 11)
print(f"at least {law.fewest:.0f} steps; noise scale {law.noise_scale:.0f} samples")
pictures.plot_steps((batches, steps), (many, law.steps(many)), fewest=law.fewest)

# %% [markdown]
# There is the wall. On its left each doubling of the batch halves the steps; on its right it saves
# nothing. Two numbers describe all of it, and you have met one of them: the noise scale of the
# fitted curve is about what your ranks measured in section 3. That measurement knew nothing of
# targets and of best rates.
#
# ### The same for a GPT
#
# Is that so for a language model too? *Recorded* (`benchmarks/results/gpt_batches.txt`): the GPT
# of unit 08 on texts of 16 characters, until texts held out have a loss of 2.6. For each batch it
# is the best of the same four rates of Adam, with two seeds. A sample is a text.
#
# **Question.** Does the wall come at fewer texts than it came at digits, or at more?

# %%
of_gpt = (4, 16, 64, 256), (444, 152, 78, 62)
gpt_law, wider = fit_steps(*of_gpt), 2.0 ** np.arange(2, 9)
print(f"at least {gpt_law.fewest:.0f} steps; noise scale {gpt_law.noise_scale:.0f} texts")
assert np.allclose(gpt_law.steps(np.array(of_gpt[0])), of_gpt[1], rtol=0.1)
pictures.plot_steps(of_gpt, (wider, gpt_law.steps(wider)), fewest=gpt_law.fewest)

# %% [markdown]
# The same formula fits, and there is the same wall. It comes at about as many texts as digits. But
# a text has sixteen answers, so it is more answers. The best rate was 0.003 for all four batches.
# So a GPT with Adam shows nothing of linear scaling here; but rates a factor of three apart, and
# two seeds, would not show a small change.
#
# **Exercise.** Three minutes. Which batch is first at the target? Its time is its steps times the
# seconds of a step. The lines stand below, sorted by the alphabet, and one of them belongs
# nowhere: it asks which batch has most samples a second. Put the others in order.


# %% name="13.first" tags=["answer"]
def first_there(steps, seconds):
    """The batch that is first at the target, by steps[batch] of seconds[batch] each."""
    ### BEGIN SOLUTION
    best, least = None, np.inf
    for batch in steps:
        time = steps[batch] * seconds[batch]
        if time < least:
            best, least = batch, time
    return best
    ### END SOLUTION


# %% name="13.first" tags=["check"]
check("13.first", first_there)
### BEGIN HIDDEN TESTS
judge("13.first", first_there, seed=135)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. What throughput hides · *intermediate*
#
# A rank with $b$ samples takes the same time for them, however many ranks there are. So with fast
# messages $P$ ranks have $P$ times the throughput. But the time to the target is steps times
# seconds a step. Against one rank the speed-up is
#
# $$\frac{\text{steps}(b)}{\text{steps}(Pb)} = \frac{1 + N/b}{1 + N/(Pb)} \;<\; 1 + \frac{N}{b}.$$
#
# The limit does not depend on the number of ranks, only on the task and on $b$. Now simulate it:
# whole trainings, each rank with 8 samples and a gradient that takes 3 ms, sums over all ranks by
# recursive doubling. In virtual time 64 ranks are no problem.


# %%
def train(comm, task, rate, seconds, most=400, target=0.2):
    weights, step = task.initial(), 0
    while step < most and (step == 0 or task.loss(weights) > target):
        step += 1
        gradient = task.gradient(weights, comm.rank, comm.size, step)[1]
        comm.work(seconds=seconds)
        recursive_doubling.allreduce(comm, gradient)
        weights -= rate / comm.size * gradient
    return step, comm.now()


# %%
def trained(run, ranks, **where):
    rate = best[np.searchsorted(batches, 8 * ranks)]  # what section 4 found for this batch
    given = {"rate": rate, "seconds": 3e-3, "trace": False} | where
    both = [run(train, ranks, task=Digits(8, seed=s), **given) for s in range(1 + (ranks < 64))]
    return np.mean([each.results[0] for each in both], axis=0)


# %% [markdown]
# Each training runs twice, but the largest only once. The second run has other first weights and
# another order of the samples. The rate is the one that section 4 found best for such a batch.

# %%
fast, ranks = Uniform(latency=1e-5, bandwidth=1e9), np.array([1, 2, 4, 16, 64])
simulated, seconds = np.array([trained(simulate, p, network=fast) for p in ranks]).T
throughput = ranks * (simulated / seconds) / (simulated[0] / seconds[0])
reveal("13.sooner", seconds[0] / seconds[-1])
powers = 2.0 ** np.arange(7)
lines = (ranks, throughput), (powers, law.speed_up(powers, 8)), (ranks, seconds[0] / seconds)
pictures.plot_speed_ups(*lines, wall=law.wall(8))

# %% [markdown]
# ### The surprise
#
# The dashed line is the number that many talks report: samples a second, nearly perfect up to 64
# ranks. The blue line is what you wait for: how many times as soon the target is reached.
# **Throughput does not say whether the samples help to learn.** Above some 16 ranks nearly all
# added samples only improve an average that was good enough.
#
# Nothing is wrong with the network, the all-reduce or the code. Faster messages would change
# nothing. So samples a second are only half of a report. Time to a stated accuracy is the other
# half (unit 18).
#
# ## 6. Your own ranks · *intermediate*
#
# The same program on your engines: one, two and four processes. A gradient *sleeps* 3 ms, as if an
# accelerator computed it. Messages and clocks are real.

# %%
measured, clock = np.array(
    [trained(engines.run, p, timeout=120, strict=False) for p in ranks[:3]]
).T
print("steps:", *measured, " seconds:", *clock.round(2))
assert np.allclose(measured, simulated[:3], rtol=0.1)
pictures.plot_speed_ups(*lines, (ranks[:3], clock[0] / clock), wall=law.wall(8))

# %% [markdown]
# The assertion says that simulated and real ranks needed the same number of steps,
# but for rounding: they are the same trainings. Only clocks differ. Where your machine is busy
# with other things, messages take longer beside the 3 ms of a gradient, and the dots lie below the
# line.
#
# ## 7. LARS · *advanced*
#
# Can the wall be moved? Only if single steps get better. The length of a step is limited by the
# worst layer: the one whose step is longest compared with its own weights. You, Gitman and
# Ginsburg (2017) looked at $|w| / |g|$ of each layer. In one network it differed by orders of
# magnitude. So they gave each layer a rate of its own, **LARS**:
#
# $$m \leftarrow 0.9\,m + \text{rate}\,\frac{|w|}{|g|}\,g,\qquad w \leftarrow w - m.$$
#
# Each layer moves by the same share of its own length in every step, however large its gradients
# are. With it they trained ResNet-50 in batches of 32,768 without loss of accuracy. (Their formula
# also has weight decay, and one more factor, which here is part of the rate.)
#
# **Exercise.** One step over ranks. `weights`, `gradients` and `moments` are lists of arrays, one
# for each layer. Weights and moments are the same on all ranks; each rank has gradients of its
# own. Change weights and moments in place. All ranks must make the same step.


# %% name="13.lars" tags=["answer"]
def lars(comm, weights, gradients, moments, rate):
    """In each layer: average g; m = 0.9 m + rate |w| / |g| g; w -= m. All in place."""
    ### BEGIN SOLUTION
    for w, g, m in zip(weights, gradients, moments, strict=True):
        add_up(comm, g)
        g /= comm.size
        trust = np.linalg.norm(w) / np.linalg.norm(g)
        m *= 0.9
        m += rate * trust * g
        w -= m
    ### END SOLUTION


# %% name="13.lars" tags=["check"]
check("13.lars", lars)
### BEGIN HIDDEN TESTS
judge("13.lars", lars, ranks=(6, 7, 12), seed=133)
### END HIDDEN TESTS


# %%
def momentum(comm, weights, gradients, moments, rate):
    for w, g, m in zip(weights, gradients, moments, strict=True):
        add_up(comm, g)
        m[...] = 0.9 * m + rate / comm.size * g
        w -= m


# %% [markdown]
# `momentum` is the same step without the ratio. Try both where layers are of
# different kinds. Multiply the first layer's weights by 8 and divide the second's by 8: the
# network computes the same function. It is only written in another way. That changes what momentum
# does. Does it change what LARS does? And Adam, which divides each entry by the root of its mean
# square? Batches are of 512 samples, 256 on each of two simulated ranks. A layer is a matrix with
# its bias.


# %%
def compare(comm, task, stretch, update, rate, most=100):
    weights, cut = task.initial(), task.layers[2]
    weights *= np.where(np.arange(len(weights)) < cut, stretch, 1 / stretch)
    step, moments, squares = 0, np.zeros_like(weights), np.zeros_like(weights)
    while step < most and task.loss(weights) > 0.2:
        step += 1
        gradient = task.gradient(weights, comm.rank, comm.size, step)[1]
        layers = [np.split(x, [cut]) for x in (weights, gradient, moments, squares)]
        update(comm, layers, rate, step)
    return step if task.loss(weights) <= 0.2 else np.inf


# %%
from ddl_teach.training.optimizers.adam import Adam
from ddl_teach.training.optimizers.lars import LARS


def library_lars(comm, weights, gradients, moments, rate):
    for w, g, m in zip(weights, gradients, moments, strict=True):
        add_up(comm, g)  # LARS does not care whether it is the sum or the average
        rule = LARS((0, w.size), rate, coefficient=1.0)
        rule(w.ravel(), g.ravel(), [m.ravel()], 1)


# %%
def adam(comm, layers, rate, step):
    for w, g, m, v in zip(*layers, strict=True):
        add_up(comm, g)
        Adam(rate)(w, g / comm.size, [m, v], step)


# %% [markdown]
# For a fair comparison (unit 18) all three get the same budget: five rates, each twice the one
# before, and three seeds. `needed` holds the mean steps: a row for each rate, and a column for
# each way to write the network. The third cell prints the steps of each way at its own best rate.
# The ways are the network as it was, the first layer times 8, and the first layer over 8. The last
# column is for one rate that all three share: the steps of the slowest way, at the rate where
# these are fewest. `inf`, infinite, stands for a training that is not there after 100 steps. These
# are 135 trainings: about half a minute, and on a busy machine some minutes.

# %%
my_lars = yours("13.lars", lars, library_lars)
rules = {
    "momentum": (lambda comm, layers, rate, _: momentum(comm, *layers[:3], rate), 0.0125),
    "LARS": (lambda comm, layers, rate, _: my_lars(comm, *layers[:3], rate), 0.0025),
    "Adam": (adam, 0.0025),
}


# %%
def mean_steps(update, rate, stretch):
    given = {"stretch": stretch, "update": update, "rate": rate, "trace": False}
    runs = [simulate(compare, 2, task=Digits(256, seed=s), **given) for s in range(3)]
    return np.mean([run.results[0] for run in runs])


# %%
needed = {
    name: [[mean_steps(update, first * 2**k, s) for s in (1, 8, 1 / 8)] for k in range(5)]
    for name, (update, first) in rules.items()
}
print("           as it was   times 8    over 8  one rate")
for name, table in needed.items():
    row = [*np.min(table, axis=0), np.max(table, axis=1).min()]
    print(f"{name:<10}", *(f"{steps:9.0f}" for steps in row))
assert np.max(needed["LARS"], axis=1).min() < np.max(needed["Adam"], axis=1).min() < np.inf
assert np.max(needed["momentum"], axis=1).min() == np.inf

# %% [markdown]
# On the network as it was all three are fast. For momentum no single one of its rates suits all
# three ways to write the network; for one of them no rate does. LARS needs nearly the same steps
# for each of them, at the same rate. That is what LARS is for: **one rate that suits all layers.**
# Adam also reaches the target everywhere at one rate, later than LARS here.
#
# Does it follow that large batches need LARS? No. Nado and others (2021) tuned Nesterov's momentum
# and Adam as carefully as LARS and LAMB had been tuned, for ResNet-50 and for BERT. The old rules
# matched or beat the new ones. And for Adam linear scaling is not the rule: where the batch is $k$
# times as large, its rate should be $\sqrt k$ times as large (Malladi and others, 2022).
#
# ## 8. What production systems do · *intermediate*
#
# | here | elsewhere |
# |---|---|
# | `learning_rate` | `torch.optim.lr_scheduler.LinearLR`, then `SequentialLR` |
# | `momentum` | `torch.optim.SGD(momentum=0.9)` |
# | `lars` | not in torch; `LARC` in NVIDIA's apex, `LARS` in Lightning Bolts and optax |
# | `LAMB`, the same idea for Adam | not in torch; apex, DeepSpeed, optax |
# | `noise_and_signal` | a `register_comm_hook` of DDP sees both gradients |
#
# The next cell has torch make the same warm-up as yours, step for step, and prints some of its
# rates.

# %%
from torch import nn, optim, zeros

optimizer = optim.SGD([nn.Parameter(zeros(1))], lr=0.25 * 256 / 32)
warm, torchs = optim.lr_scheduler.LinearLR(optimizer, 32 / 256, total_iters=20), []
for _ in range(30):
    torchs.append(warm.get_last_lr()[0])
    optimizer.step()
    warm.step()
assert np.allclose(torchs, [my_rate(step, 256, 0.25, 32, 20) for step in range(1, 31)])
print("rates in steps 1, 6, 11, ...:", *np.round(torchs[::5], 3))

# %% [markdown]
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("13")

# %% [markdown]
# ## Three questions
#
# **1.** Your 64 GPUs train with a batch that is the noise scale: $B = N$. You are given 64 more.
# What can you expect at best, and what does it cost?
#
# <details><summary>An answer</summary>
#
# Steps go from $S(1+1)$ to $S(1+\tfrac12)$: a quarter less. So the training takes 75% of the time.
# It reads 50% more samples, and so it needs 50% more energy.
#
# </details>
#
# **2.** In `lars`, does it matter whether gradients are averaged or only summed over the ranks?
# And in `momentum`?
#
# <details><summary>An answer</summary>
#
# In LARS it does not: $g/|g|$ is the same for both. (With weight decay it would matter, because
# decay is added to $g$.) In momentum the sum is a rate $P$ times as large. Code that was tuned on
# one rank then diverges on many.
#
# </details>
#
# **3.** Batches on the right of the wall waste samples. Why might you use them all the same, late
# in training?
#
# <details><summary>An answer</summary>
#
# The noise scale grows while the loss falls, so late the wall is further to the right. To grow the
# batch then does what a falling rate would: it lowers the noise of the steps, about rate over
# batch (Smith, Kindermans, Ying and Le, "Don't decay the learning rate, increase the batch size",
# *ICLR*, 2018). And the ranks are there.
#
# </details>
#
# ## Where to read on
#
# - S. McCandlish, J. Kaplan, D. Amodei et al., "An empirical model of large-batch training", 2018:
#   the noise scale, and where it comes from.
# - C. Shallue, J. Lee, J. Antognini, J. Sohl-Dickstein, R. Frostig and G. Dahl, "Measuring the
#   effects of data parallelism on neural network training", *JMLR*, 2019: section 4 of this unit,
#   for many networks, data and optimizers, each at its best settings.
# - P. Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour", 2017.
# - Y. You, I. Gitman and B. Ginsburg, "Large batch training of convolutional networks", 2017;
#   Y. You et al., "Large batch optimization for deep learning: training BERT in 76 minutes",
#   *ICLR*, 2020.
# - Z. Nado, J. Gilmer, C. Shallue, R. Anil and G. Dahl, "A large batch optimizer reality check:
#   traditional, generic optimizers suffice across batch sizes", 2021.
# - S. Malladi, K. Lyu, A. Panigrahi and S. Arora, "On the SDEs and scaling rules for adaptive
#   gradient algorithms", *NeurIPS*, 2022.
# - S. Ma, R. Bassily and M. Belkin, "The power of interpolation", *ICML*, 2018: why there is a
#   wall, proved.
# - H. Zhang et al., "How does critical batch size scale in pre-training?", *ICLR*, 2025: the
#   wall of language models up to 1.2 billion weights. It moves with the data, hardly with the
#   size of the model.
# - N. Sato, H. Naganuma and H. Iiduka, "Convergence bound and critical batch size of Muon
#   optimizer", *arXiv*, 2025: how momentum and weight decay move the wall.
#
# All update rules stand in `ddl_teach/training/optimizers`, one a file. `progress()` shows how
# far you have come. Here all ranks waited for each other in every step; in unit 14 they do not.
