# %% [markdown]
# # GPUs and CUDA-aware MPI
#
# **Who copies the bytes?**
#
# Most networks are trained on GPUs, and a GPU has a memory of its own. What another rank needs
# lies there, and MPI lives in the memory of the processor. So before a message can leave somebody
# has to copy it, and when it arrives somebody has to copy it again. Who? And when? Answer both
# carelessly, and messages take three times as long as they must, or bring yesterday's numbers.
#
# You need no GPU for this unit, and you need never have seen one. A *stand-in* takes its place: it
# does what a GPU does to those who program it, only slowly enough to look on. You need unit 05:
# what a message costs. *Beginners* take sections 1 to 3, 8 and 9, *intermediate* readers all
# but section 10, *advanced* ones everything. About two hours.
#
# The first cell starts two engines.

# %%
import numpy as np

from ddl_class import Engines, check, hint, judge, predict, progress, reveal, simulate, yours
from ddl_class.notebook import by_hand
from ddl_class.plots.staging import plot_copies
from ddl_runtime.devices.stand_in import StandInDevice
from ddl_runtime.devices.timed import TimedDevice
from ddl_teach.comm import HostLink, Uniform

engines = Engines(2)

# %% [markdown]
# ## 1. A computer inside the computer · *beginner*
#
# A GPU is a second computer on a card. It has thousands of small processors, good at doing the
# same to many numbers, and fast memory next to them. The computer it sits in is called the *host*.
# Three things about it are new:
#
# - **Its memory is not yours.** Python runs on the host, and holds only a handle to an array on
#   the *device*. Bytes cross a *link* between the two, PCIe mostly, when somebody copies them.
# - **It works later.** To call a *kernel*, a function for the GPU, only puts it into a queue. The
#   call returns at once, and nothing has happened yet.
# - **The link is slow**, next to the device's memory: tens of GB a second against thousands.
#
# Below, each of your engines has a stand-in of such a device. Rank 0 sends its array: it hands `x`
# to the course's communicator as it is, which takes care of the copies. Then both ask for the sum;
# rank 0 asks its device, which is right, and rank 1 asks NumPy, which is host code. This cell
# fails, on purpose. Read what rank 1 is told.


# %%
def hand_over(comm, x):
    if comm.rank == 0:
        comm.send(x, to=1)
    else:
        comm.recv(x, source=0)


# %% tags=["raises-exception"]
def unlike(comm):
    x = StandInDevice().array(np.full(1000, comm.rank + 1.0)) * 2
    hand_over(comm, x)
    return x.sum().item() if comm.rank == 0 else np.sum(x)


engines.run(unlike)

# %% [markdown]
# MPI is host code, too, unless its makers have taught it about GPUs: then it is called
# *CUDA-aware*, after NVIDIA's system for programming GPUs, and may take `x` **directly**. Section
# 9 asks whether yours is. If it is not, a message from device to device takes three steps, and is
# called **staged**: a copy out, the wire, a copy in. The picture below shows 2 MiB on their way.
#
# A copy of $n$ bytes takes a *start* and then its bytes, as a message takes a latency and its
# bytes. With $b$ seconds a byte in each step (1 / bandwidth), $a$ for the start of each copy and
# the latency $L$ of the wire,
#
# $$T_\text{direct} = L + n\,b_\text{wire},\qquad
# T_\text{staged} = 2a + L + n\,(b_\text{out} + b_\text{wire} + b_\text{in}).$$
#
# But why copy everything before anything is sent? Cut the message into chunks. While one travels,
# the next can be copied out and the last one copied in: that is **pipelined**.
#
# `TimedDevice(comm)` is the stand-in with a clock. A copy takes 0.2 ms to start, and its link
# moves 200 MB a second. That is some hundred times slower than a real one, so that your own
# machine can act it out. `gpu.work(x, seconds)` is a kernel that is busy with `x` for so long. And
# `double` asks for three: those that double `x`, and behind them one of 100 ms that only reads it.
#
# ### Predict
#
# Between two real GPUs: 64 MB, a link of 25 GB/s on either side, and a wire of 25 GB/s with a
# latency of 2 µs. A copy takes 10 µs to start. How many times as long as directly does the
# message take when it is staged? And in chunks of how many bytes is it there soonest? In the third
# cell, put numbers in place of the dots. You may be wrong; who commits to a number first learns
# more from it.


# %%
def double(gpu, x):
    """Ask for the kernels; returns the event from which on x is doubled."""
    gpu.work(x, seconds=1e-3)
    x *= 2
    doubled = gpu.record(gpu.current_stream(x))
    gpu.work(x, seconds=0.1)  # the next layer of the network
    return doubled


# %%
values = (np.arange(2**21) % 100).astype(np.uint8)  # a place in x is a number of bytes
network = Uniform(latency=1e-4, bandwidth=2e8)
run = simulate(by_hand.staged, 2, network=network, values=values, kernel=double)
assert (run.results[1] == 2 * values).all()
plot_copies(run.timeline, title="Copy out, wire, copy in: one works, two stand idle")

# %%
predict("07.staged", ...)
predict("07.chunk", ...)

# %% [markdown]
# ## 2. Later, and in which order · *beginner*
#
# The queue of a device is called a **stream**. What is put on one stream happens in that order.
#
# **Exercise.** A warm-up of three minutes. When is each kernel of a stream done? A kernel begins
# when it has been asked for and the one before it is done. The lines stand below, sorted by the
# alphabet, and one of them belongs nowhere: put the others in order. *Ctrl+/* makes code of
# comments, *Alt+↑* and *Alt+↓* move lines, *Tab* indents what is selected.


# %% name="07.stream" tags=["answer"]
def stream(kernels):
    """The moments at which the kernels of a stream are done; each is a pair (asked, seconds)."""
    ### BEGIN SOLUTION
    free, done = 0.0, []
    for asked, seconds in kernels:
        begins = max(free, asked)
        free = begins + seconds
        done.append(free)
    return done
    ### END SOLUTION


# %% name="07.stream" tags=["check"]
check("07.stream", stream)
### BEGIN HIDDEN TESTS
judge("07.stream", stream, seed=77)
### END HIDDEN TESTS

# %% [markdown]
# There can be several streams, and between them there is *no* order at all: that is how a copy
# runs beside a kernel. The next cell takes a stream for copies, asks for a copy of `x`, and looks
# at what came after the copy was done. Three times: without waiting, waiting for the copy only,
# and waiting for the kernel too. (`pinned` is memory of the host that the device can reach by
# itself; 255 is what new pinned memory happens to hold here.)


# %%
def careless(comm, steps):
    gpu = TimedDevice(comm)
    x, host = gpu.array(np.full(4, 21, np.uint8)), gpu.pinned(4)
    doubled, copies = double(gpu, x), gpu.new_stream()
    if "wait for the kernel" in steps:
        gpu.wait(copies, doubled)
    gpu.to_host(x, 0, host, copies)
    if "wait for the copy" in steps:
        gpu.finish(gpu.record(copies))
    return host


# %%
both = ["wait for the copy", "wait for the kernel"]
came = [simulate(careless, 1, steps=steps).results[0][0] for steps in ([], both[:1], both)]
print(f"no wait: {came[0]}; for the copy only: {came[1]}; for both: {came[2]}")
assert came == [255, 21, 42]

# %% [markdown]
# The first number is what the memory held before the copy, the second what `x` was before the
# kernel. Both are wrong, and nobody complains. On a real GPU they are sometimes right, when the
# kernel happens to be quick; then they fail in front of an audience. The stand-in is as mean as it
# may be: nothing happens before somebody waits for it, so a wait that is missing always shows.
#
# These are the words. The right column has torch's, where `host` is a tensor in pinned memory.
#
# | here | what it does | torch |
# |---|---|---|
# | `gpu.current_stream(x)` | where kernels go | `torch.cuda.current_stream()` |
# | `gpu.new_stream()` | another stream | `torch.cuda.Stream()` |
# | `gpu.to_host(x, first, host, stream)` | asks for a copy out | `host.copy_(x, True)` |
# | `gpu.to_device(host, x, first, stream)` | asks for a copy in | `x.copy_(host, True)` |
# | `gpu.record(stream)` | leaves a mark, an *event* | `stream.record_event()` |
# | `gpu.wait(stream, event)` | the *stream* waits; you go on | `stream.wait_event(event)` |
# | `gpu.finish(event)` | *you* wait | `event.synchronize()` |
#
# A copy takes the bytes of `x` from byte `first` on, as many as `host` has. (`True` stands for
# *non-blocking* in torch: the call returns at once. Its copies go to the current stream, which
# `with torch.cuda.stream(copies):` chooses.)
#
# **Exercise.** Bring the doubled values to the host. `double` has asked for two kernels: one that
# writes `x`, and behind it one of 100 ms, which belongs to the next layer and only reads `x`. Do
# not wait for that one: so copy on the stream `copies`.
#
# The first cell below is yours, the second runs and draws it, the third checks it. If you are
# stuck, put `hint("07.copy_out")` into a cell of its own.


# %% name="07.copy_out" tags=["answer"]
def copy_out(comm, values):
    """Return the doubled values: the copy waits for the kernel, and you for the copy."""
    gpu = TimedDevice(comm)
    x, host = gpu.array(values), gpu.pinned(len(values))
    doubled, copies = double(gpu, x), gpu.new_stream()
    ### BEGIN SOLUTION
    gpu.wait(copies, doubled)
    gpu.to_host(x, 0, host, copies)
    gpu.finish(gpu.record(copies))
    ### END SOLUTION
    return host


# %%
run = simulate(copy_out, 1, values=values[:100_000])
print(run.results[0][:8], "should be", 2 * values[:8])
plot_copies(run.timeline, title="Your kernels and copies on one simulated GPU")

# %% name="07.copy_out" tags=["check"]
check("07.copy_out", copy_out)
### BEGIN HIDDEN TESTS
judge("07.copy_out", copy_out, ranks=(1, 3), seed=71)
### END HIDDEN TESTS

# %% [markdown]
# ## 3. From device to device · *beginner*
#
# **Exercise.** Now the whole way. Rank 0 copies out and sends `host`; rank 1 receives into its own
# `host` and copies in. Both have made `x`, `host` and `copies` already, and on rank 0 `double` has
# been called. Other ranks, should there be any, do nothing. The last line looks at what is on the
# device at that moment, which no real one allows.


# %% name="07.staged" tags=["answer"]
def staged(comm, values):
    """Rank 0's doubled values come to rank 1's device: copy out, one message, copy in."""
    gpu = TimedDevice(comm)
    x, host = gpu.array(values), gpu.pinned(len(values))
    doubled, copies = double(gpu, x) if comm.rank == 0 else None, gpu.new_stream()
    ### BEGIN SOLUTION
    if comm.rank == 0:
        gpu.wait(copies, doubled)
        gpu.to_host(x, 0, host, copies)
        gpu.finish(gpu.record(copies))
        comm.send(host, 1)
    elif comm.rank == 1:
        comm.recv(host, 0)
        gpu.to_device(host, x, 0, copies)
        gpu.finish(gpu.record(copies))
    ### END SOLUTION
    return gpu.peek(x)


# %%
run = simulate(staged, 2, network=network, values=values)
print("rank 1 has", run.results[1][:8], "and should have", 2 * values[:8])
plot_copies(run.timeline)

# %% name="07.staged" tags=["check"]
check("07.staged", staged)
### BEGIN HIDDEN TESTS
judge("07.staged", staged, ranks=(2, 4, 7), seed=72)
### END HIDDEN TESTS

# %% [markdown]
# ## 4. In chunks · *intermediate*
#
# **Exercise.** The same in chunks of `chunk` bytes; the last one may be shorter. `host[first :
# first + chunk]` is a part of the pinned memory, also where it ends earlier. All copies out can be
# asked for at once, since they stand in line. But rank 0 must know of each chunk when its copy is
# done: so record a mark behind each. And let no send keep you from the next chunk:
# `comm.isend(...)` only begins one, and what it returns has a `wait()`.


# %% name="07.pipelined" tags=["answer"]
def pipelined(comm, values, chunk):
    """As `staged`, chunk by chunk: one is copied out, one travels, one is copied in."""
    gpu = TimedDevice(comm)
    x, host = gpu.array(values), gpu.pinned(len(values))
    doubled, copies = double(gpu, x) if comm.rank == 0 else None, gpu.new_stream()
    ### BEGIN SOLUTION
    parts = [slice(first, first + chunk) for first in range(0, len(host), chunk)]
    if comm.rank == 0:
        gpu.wait(copies, doubled)
        marks, requests = [], []
        for part in parts:
            gpu.to_host(x, part.start, host[part], copies)
            marks.append(gpu.record(copies))
        for part, mark in zip(parts, marks, strict=True):
            gpu.finish(mark)
            requests.append(comm.isend(host[part], 1))
        for request in requests:
            request.wait()
    elif comm.rank == 1:
        for part in parts:
            comm.recv(host[part], 0)
            gpu.to_device(host[part], x, part.start, copies)
        gpu.finish(gpu.record(copies))
    ### END SOLUTION
    return gpu.peek(x)


# %%
run = simulate(pipelined, 2, network=network, values=values, chunk=300_000)
print("right everywhere:", (run.results[1] == 2 * values).all())
plot_copies(run.timeline)

# %% name="07.pipelined" tags=["check"]
check("07.pipelined", pipelined)
### BEGIN HIDDEN TESTS
judge("07.pipelined", pipelined, ranks=(2, 4), seed=73)
### END HIDDEN TESTS

# %% [markdown]
# ## 5. How large a chunk? · *intermediate*
#
# Let stage $i$ keep a chunk of $s$ bytes for $a_i + s\,b_i$. There are $n/s$ chunks. The first
# one passes all stages, and then the slowest stage, $m$, does one after the other:
#
# $$T(s) = L + \sum_i (a_i + s\,b_i) + \Big(\frac ns - 1\Big)(a_m + s\,b_m)
# = \text{const} + s\sum_{i \ne m} b_i + \frac ns\,a_m .$$
#
# Large chunks fill the pipe slowly: the first term. Small ones pay a start for each: the second.
# The sum is least where both are equal,
#
# $$s^* = \sqrt{\frac{n\,a_m}{\sum_{i \ne m} b_i}} .$$
#
# **Exercise.** Compute it. `stages` is a list of pairs `(start, per_byte)`, in seconds, and one
# of them is the slowest in both.


# %% name="07.chunk" tags=["answer"]
def best_chunk(nbytes, stages):
    """The number of bytes per chunk with which a message of nbytes is there soonest."""
    ### BEGIN SOLUTION
    start, per_byte = max(stages)
    beside = sum(each for _, each in stages) - per_byte
    return (nbytes * start / beside) ** 0.5
    ### END SOLUTION


# %% name="07.chunk" tags=["check"]
check("07.chunk", best_chunk)
### BEGIN HIDDEN TESTS
judge("07.chunk", best_chunk, seed=74)
### END HIDDEN TESTS

# %%
from functools import partial

from ddl_teach.theory import staging

copy, wire = staging.TransferStage(1e-5, 1 / 25e9), staging.TransferStage(0, 1 / 25e9, delay=2e-6)
real = staging.Route(copy, wire, copy)
reveal("07.staged", staging.staged(64e6, real) / staging.direct(64e6, wire))
reveal("07.chunk", chunk := staging.best_chunk(64e6, real))
in_chunks = staging.pipelined(64e6, chunk, real) / staging.direct(64e6, wire)
print(f"in such chunks {in_chunks:.2f} times as long")

# %% [markdown]
# Staged three times as long as directly, in the best chunks a fifth longer: that is what overlap
# is worth.
#
# ## 6. Prediction, simulation, measurement · *intermediate*
#
# Three answers again: the formula; the simulator, which runs your function on the slow network
# from above; and your two engines. On these the wire is your own MPI, and copies really are copies
# from memory to memory. Only they are made to last as long as the stand-in's slow link would, by
# sleeping. So what you measure there is *not* a GPU. It is whether your program overlaps what it
# should.

# %%
from ddl_class import stopwatch

way = yours("07.pipelined", pipelined, partial(by_hand.pipelined, kernel=double))


def in_chunks(comm, x, size):
    way(comm, x.view(np.uint8), size)


# %%
sizes = [2**k for k in range(14, 22)]
ways = [partial(in_chunks, size=size) for size in sizes]
given = {"sizes": [2**21], "ways": ways, "trace": False, "strict": False}
simulated = simulate(stopwatch, 2, network=network, **given, turns=1).results[1][0, :, 0]
turns = engines.run(stopwatch, **given, turns=5, timeout=100).results[1][..., 0]
measured = np.quantile(turns, [0.5, 0.25, 0.75], axis=0).T

# %%
from ddl_class.plots.staging import plot_chunk_sizes

copy, wire = staging.TransferStage(2e-4, 5e-9), staging.TransferStage(0, 5e-9, delay=1e-4)
slow, my_chunk = staging.Route(copy, wire, copy), yours("07.chunk", best_chunk, by_hand.best_chunk)
best = my_chunk(2**21, [(2e-4, 5e-9), (0, 5e-9), (2e-4, 5e-9)])
formula = [1e-3 + staging.pipelined(2**21, size, slow) for size in sizes]  # 1 ms: the kernel
assert np.allclose(simulated, formula, rtol=0.01)
look = {"simulated": (sizes, simulated), "measured": dict(zip(sizes, measured, strict=True))}
look |= {"nbytes": 2**21, "best": best, "label": "stand-in with a slow link; wire: your MPI"}
plot_chunk_sizes((sizes, formula), **look)

# %% [markdown]
# Squares on the line: the simulated program takes what the formula says. The dots are your
# machine, and they should lie above it at the left: each chunk costs Python some work, which is in
# no formula. At the right, where everything waits for everything, they can lie below, if your wire
# is faster than the one we assumed. And they lie higher everywhere if other programs want your two
# cores. So look at the shape: a valley with two slopes, and a flat ground. Nobody needs the very
# best chunk.
#
# ## 7. Which path for which size? · *intermediate*
#
# Short messages are staged, because each chunk costs a start; long ones are pipelined. And if the
# library is CUDA-aware, *direct* is there, too, and not always fastest: in MVAPICH2-GDR network
# cards read device memory only up to a size, `MV2_GPUDIRECT_LIMIT`, and longer messages go in
# chunks, because many boards of its time read a GPU slowly from there. So do not decide by
# thought: measure each path at each size, and make a table.
#
# **Exercise.** `seconds[path]` has a row for each repetition and a column for each of the `sizes`.
# Return a list of pairs: from so many bytes on, this path. Take the median of the repetitions, the
# first pair from 0 bytes on, and add a pair only where the best path changes:
# `[(0, "staged"), (65536, "pipelined")]`.


# %% name="07.choose" tags=["answer"]
def choose(sizes, seconds):
    """Pairs (from so many bytes on, path): at each size the path with the smallest median."""
    ### BEGIN SOLUTION
    medians = {path: np.median(times, axis=0) for path, times in seconds.items()}
    table = []
    for place, size in enumerate(sizes):
        best = min(medians, key=lambda path: medians[path][place])
        if not table or table[-1][1] != best:
            table.append((int(size) if table else 0, best))
    return table
    ### END SOLUTION


# %% name="07.choose" tags=["check"]
check("07.choose", choose)
### BEGIN HIDDEN TESTS
judge("07.choose", choose, seed=75)
### END HIDDEN TESTS

# %% [markdown]
# Now on your engines: the communicator's own transfers, which copy behind your back what you hand
# to `send` and `recv`. `comm.device_table` tells it which path to take: staged, or in chunks of
# 256 KiB. The device is the stand-in once more, with its slow link.


# %%
def by_each_path(comm, ways, sizes, turns=7):
    gpu, times = TimedDevice(comm, by_clock=True), np.zeros((2, turns, len(sizes)))
    for turn, place, way in np.ndindex(turns, len(sizes), 2):
        comm.device_table = {"message": (ways[way],)}
        x = gpu.array(np.full(sizes[place], comm.rank, np.uint8))
        comm.barrier()
        begun = comm.now()
        hand_over(comm, x)
        times[way, turn, place] = comm.now() - begun
    return times


# %%
from ddl_runtime.devices.choice import Reach

ways, many = [Reach(0, "staged"), Reach(0, "pipelined", 1 << 18)], 2 ** np.arange(19, 23)
given = {"ways": ways, "sizes": many, "timeout": 100, "trace": False, "strict": False}
run = engines.run(by_each_path, **given)
found = dict(zip(["staged", "pipelined"], run.results[1], strict=True))
table = yours("07.choose", choose, by_hand.choose)(many, found)
print(table, run.ledger[0].by_kind(), sep="\n")
assert table[0][0] == 0

# %% [markdown]
# That is your table, from your measurements. Below it the ledger, which has every message with the
# path that it took. From some size on "pipelined" should win, as it does between real GPUs; if
# other programs keep your cores busy, each chunk costs more, and it wins later or never. A table
# belongs to the machine on which it was measured.
#
# ## 8. Whose GPU is whose? · *beginner*
#
# A node often has several GPUs, and several ranks run on it. Each should take its own. A rank
# knows its number, so is it not simply `comm.rank % gpus`? It is, as long as ranks are dealt out
# to nodes in order and each node has as many ranks as GPUs. Deal them out like cards to two nodes
# instead, two GPUs each: one node has ranks 0, 2, 4 and 6, all of them even, and its second GPU
# idles while four ranks share the first. Nothing complains; training can take twice as long.
#
# **Exercise.** Return the number of the GPU that this rank should take, 0 to `gpus` - 1, when each
# node has `gpus` of them: the rank's number *within its node*, and round again if there are more
# ranks than GPUs. `comm.node` says on which node a rank is, and `comm.split(colour)` gives those
# ranks that name the same colour a communicator of their own.


# %% name="07.own_gpu" tags=["answer"]
def own_gpu(comm, gpus):
    """Return this rank's number among those of its node, modulo gpus."""
    ### BEGIN SOLUTION
    return comm.split(comm.node).rank % gpus
    ### END SOLUTION


# %% name="07.own_gpu" tags=["check"]
check("07.own_gpu", own_gpu)
### BEGIN HIDDEN TESTS
judge("07.own_gpu", own_gpu, ranks=(1, 6, 9), seed=76)
### END HIDDEN TESTS

# %% [markdown]
# The course's engines have done that before MPI started, because CUDA asks only once which GPUs
# there are: on each rank plain `"cuda"` is its own GPU. With MPI alone, several ranks may share
# one, each of them getting a part of its time. NCCL, NVIDIA's library for collectives, refuses
# that: two ranks on one GPU end in an error. (Since NCCL 2.30 a variable allows it, as an
# experiment: `NCCL_MULTI_RANK_GPU_ENABLE=1`.)
#
# ## 9. Is your MPI CUDA-aware? · *beginner*
#
# Ask it. Libraries have a function that says so; and what is said is tried, by a message in device
# memory that a child process sends to itself, since a library that only thinks so crashes. The MPI
# that comes with this course by pip is not CUDA-aware; `docs/cuda_aware_mpi.md` in the repository
# says how to get one that is.
#
# Then real numbers from real GPUs. The cell also measures messages in the memory of *your* hosts,
# and lays beside them all runs on a GPU that the course has, with machine and date. As long as
# there are none it says so: numbers that nobody measured have no place here. Whoever has a GPU
# adds a run with one command, in the folder of the repository:
#
#     python -m benchmarks.on_a_gpu

# %%
from ddl_class.notebook.beside_gpus import measure_here, plot_beside_recorded
from ddl_runtime.devices.awareness import awareness

print(engines.run(lambda comm: awareness()).results[0])
plot_beside_recorded(measure_here(engines))

# %% [markdown]
# ## 10. The surprise: who wins depends · *advanced*
#
# Take a whole all-reduce instead of one message, round a ring, by a library that cannot read
# device memory. Each of the $2(P-1)$ steps copies its piece out and in. First 32 GPUs that nobody
# has at home, in simulation: the ring of unit 06, unchanged, on arrays of stand-ins, whose
# `host_link` is as fast as in your predictions. It takes what the formula says.
#
# Or everybody copies all of it out *once*, the hosts add up, and copy the sum in. That is about
# half of the bytes over each link, but nothing overlaps. With 100 MB on each of 8 GPUs, copying in
# every step, in the best chunks, takes 0.7 of the time of copying once. And on 1,024, how many
# times as long? Predict in the second cell, and let the formulas answer.


# %%
from ddl_teach.collectives import ring


def summed(comm):
    ring.allreduce(comm, StandInDevice().array(np.ones(64_000, np.float32)))


run = simulate(summed, 32, network=Uniform(2e-6, 25e9, host_link=HostLink(1e-5, 25e9)))
told = staging.allreduce_in_steps(32, 256_000, lambda part: staging.staged(part, real))
assert np.isclose(run.time, told)

# %%
predict("07.once", ...)
for ranks in (2, 8, 64, 1024):
    part, steps = 100e6 / ranks, 2 * (ranks - 1)
    in_chunks = staging.pipelined(part, staging.best_chunk(part, real), real)
    in_steps = steps * min(in_chunks, staging.staged(part, real))
    once = staging.allreduce_once(ranks, 100e6, real)
    print(f"{ranks:5} GPUs: {in_steps * 1e3:5.1f} ms in every step, {once * 1e3:5.1f} ms once")
assert in_steps > once
reveal("07.once", in_steps / once)

# %% [markdown]
# The more ranks, the smaller the pieces, and 2,046 steps with two starts in each are 41 ms for
# nothing but beginning to copy. So the best way to add up is not made of the best way to send: an
# *operation* has a table of its own, not only a size.
#
# It is the same between libraries. De Sensi et al. (2024) measured up to 4,096 GPUs on three
# supercomputers: between nodes CUDA-aware MPI sends a single message faster than NCCL or its twin
# for AMD; for collectives on most systems and sizes it is the other way round. Why?
#
# - MPI's message is a call of the *host*, which has the network card fetch the bytes. NCCL sends
#   by a kernel, and to start one takes some microseconds: as long as a whole short message.
# - In an all-reduce *one* kernel of NCCL does all steps and adds up where the bytes are, along
#   rings and trees laid after the machine's links; between nodes a thread of the host hands the
#   pieces to the network card. With MPI the host comes back after each step, and starts a kernel
#   for each sum, or adds up itself.
#
# | here | with torch |
# |---|---|
# | `comm.send(x, 1)` in any memory | `dist.send(x, 1)`, NCCL for GPUs, gloo for hosts |
# | `ring.allreduce(comm, x)` | `dist.all_reduce(x)` |
# | two ranks on one GPU | gloo can, NCCL refuses by default |
# | `comm.device_table` | inside of libraries: MVAPICH2's `MV2_CUDA_BLOCK_SIZE` |
# | streams and events by hand | NCCL's calls are put on a stream themselves, as kernels are |
#
# ## What you said
#
# Your predictions of this unit, beside what was found.

# %%
from ddl_class import predictions

predictions("07")

# %% [markdown]
# ## Three questions
#
# **1.** Your training on GPUs works, but after you moved the sends to a stream of their own,
# results differ a little from run to run. What do you look for?
#
# <details><summary>An answer</summary>
#
# A wait that is missing: somewhere bytes leave before the kernel has written them, or a buffer is
# used again before its copy is done. Put the host's own wait (`torch.cuda.synchronize()`) before
# every send. If that cures it, go back and set events one by one. And think of both directions:
# the next kernel must not write `x` while the copy still reads it.
#
# </details>
#
# **2.** Why not always use the smallest chunk, so that the pipe is full at once?
#
# <details><summary>An answer</summary>
#
# Each chunk costs a start in every stage, and a message of its own. With $n/s$ chunks the starts
# of the slowest stage cost $n a_m / s$: half of the best chunk adds twice as much in starts as it
# saves in filling. And each chunk also costs the host work to look after it.
#
# </details>
#
# **3.** A colleague has two GPUs in each of two nodes, uses `cuda:0` everywhere, and says that MPI
# cannot scale. What happened?
#
# <details><summary>An answer</summary>
#
# Both ranks of a node share the first GPU, and the second one idles; by turns each has half of it.
# NCCL would have refused. Take the rank's number within its node, or let the launcher show each
# rank its GPU first (`CUDA_VISIBLE_DEVICES`), as the course does.
#
# </details>
#
# ## On one page
#
# | question | answer |
# |---|---|
# | Who copies? | the library, if it is CUDA-aware; else the hosts: copy out, wire, copy in |
# | How long? | staged: all three; in chunks: nearly the slowest of them |
# | Which chunk? | $\sqrt{n\,a_m / \sum_{i \ne m} b_i}$; half or twice that is nearly as good |
# | Before a send | the copy's stream waits for the kernel, the host for the copy |
# | After a receive | ask for the copy in; nobody reads `x` before its event |
# | Before a buffer is used again | its message has left, its copy is done |
# | Which path? | measure each one, per operation and size; keep a table |
# | Whose GPU? | the rank's number within its node, modulo the GPUs |
# | Is it CUDA-aware? | ask the library, and try it in a process that may crash |
#
# ## Where to read on
#
# - H. Wang et al., "MVAPICH2-GPU: optimized GPU to GPU communication for InfiniBand clusters",
#   *Computer Science - Research and Development*, 2011: the pipeline inside of a library.
# - D. De Sensi et al., "Exploring GPU-to-GPU communication: insights into supercomputer
#   interconnects", *SC*, 2024: MPI beside NCCL on three large machines.
# - A. Bienz et al., "Modeling data movement performance on heterogeneous architectures", 2020: the
#   formulas of this unit, fitted to real machines.
# - NVIDIA, *CUDA programming guide*, chapter "Asynchronous execution": streams and events.
# - `ddl_teach/theory/staging.py` for the formulas, `ddl_runtime/devices` for what the
#   communicator does, `docs/cuda_aware_mpi.md` for getting a CUDA-aware MPI.
#
# `progress()` shows how far you have come. Unit 08 trains one network on several ranks. Stop your
# engines when you are done: `engines.stop()`.
