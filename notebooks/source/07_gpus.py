# %% [markdown]
# # GPUs and CUDA-aware MPI
#
# **Who copies the bytes?**
#
# Most networks are trained on GPUs, and a GPU has a memory of its own. The numbers that another
# rank needs are there, but MPI works in the memory of the processor. So before a message can
# leave, its bytes must be copied, and when it arrives they must be copied again. What does these
# copies, and when? With a careless answer, messages take three times as long as they must, or
# bring old numbers.
#
# You need no GPU for this unit, and no experience with one. A *stand-in* takes its place: to a
# program it behaves like a GPU, only slowly enough to watch. You need unit 05: what a message
# costs. *Beginners* take sections 1 to 3, 8 and 9, *intermediate* readers all but section 10,
# *advanced* ones everything. About two hours.
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
# A GPU is a second computer on a card. It has thousands of small processors, which are good at
# doing the same to many numbers, and fast memory beside them. The computer that holds the card is
# called the *host*. Three things are new:
#
# - **Its memory is separate.** Python runs on the host, and has only a handle to an array on the
#   *device*. Bytes must be copied over a *link* between the two, mostly PCIe.
# - **It works later.** A *kernel* is a function for the GPU. Calling it only puts it into a queue.
#   The call returns at once, and nothing has happened yet.
# - **The link is slow** compared with the memory of the device: tens of GB a second against
#   thousands.
#
# In the next cells each of your engines has a stand-in of such a device. Rank 0 sends its array:
# it gives `x` to the course's communicator, which does the copies. Then both ranks ask for the
# sum. Rank 0 asks its device, which is right, and rank 1 asks NumPy, which is host code. This cell
# fails on purpose. Read the message of rank 1.


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
# MPI is host code too, unless it was built to know GPUs. Then it is called *CUDA-aware*, after
# NVIDIA's system for programming GPUs, and may take `x` **directly**. Section 9 asks whether yours
# is. If it is not, a message from device to device takes three steps, and is called **staged**: a
# copy out, the wire, a copy in. The picture below shows 2 MiB on their way.
#
# A copy of $n$ bytes takes the time of a *start*, and then the time of its bytes. A message, too,
# takes a latency and the time of its bytes. With $b$ seconds a byte in each step (1 / bandwidth),
# $a$ for the start of each copy and the latency $L$ of the wire,
#
# $$T_\text{direct} = L + n\,b_\text{wire},\qquad
# T_\text{staged} = 2a + L + n\,(b_\text{out} + b_\text{wire} + b_\text{in}).$$
#
# But the whole message need not be copied before a part of it is sent. Cut the message into
# chunks. While one chunk is on the wire, the next can be copied out and the one before can be
# copied in: this is **pipelined**.
#
# `TimedDevice(comm)` is the stand-in with a clock. A copy takes 0.2 ms to start, and its link
# moves 200 MB a second. That is about a hundred times slower than a real link, so that your own
# machine can imitate it. `gpu.work(x, seconds)` is a kernel that is busy with `x` for so long.
# `double` asks for three kernels: two that double `x`, and after them one of 100 ms that only
# reads it.
#
# ### Predict
#
# Take two real GPUs: 64 MB, a link of 25 GB/s on either side, and a wire of 25 GB/s with a latency
# of 2 µs. A copy takes 10 µs to start. A staged message takes how many times as long as a direct
# one? And with chunks of how many bytes does it arrive earliest? In the third cell, put numbers in
# place of the dots. A wrong guess costs nothing, and you learn more from a result that you tried
# to predict.


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
# The queue of a device is called a **stream**. Everything on one stream happens in the order in
# which it was put there.
#
# **Exercise.** A warm-up of three minutes. When is each kernel of a stream done? A kernel begins
# when it has been asked for and the one before it is done. The lines stand below in alphabetical
# order, and one of them belongs nowhere: put the others in order. *Ctrl+/* turns comments into
# code, *Alt+↑* and *Alt+↓* move lines, *Tab* indents the selected lines.


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
# There can be several streams, and between them there is *no* order: so a copy can run beside a
# kernel. The next cells take a stream for copies, ask for a copy of `x`, and look at the bytes
# that arrive. They do it three times: without waiting, waiting only for the copy, and waiting for
# the kernel too. (`pinned` is memory of the host that the device can reach by itself; 255 is what
# new pinned memory holds here.)


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
# The first number is what the memory held before the copy, the second is the value of `x` before
# the kernel. Both are wrong, and there is no error. On a real GPU such a program is sometimes
# right, when the kernel is quick by chance, and fails on another day. The stand-in is as strict as
# it may be: nothing happens before something waits for it, so a missing wait always shows.
#
# The table has the calls that you need. The right column has torch's, where `host` is a tensor in
# pinned memory.
#
# | here | what it does | torch |
# |---|---|---|
# | `gpu.current_stream(x)` | where kernels go | `torch.cuda.current_stream()` |
# | `gpu.new_stream()` | another stream | `torch.cuda.Stream()` |
# | `gpu.to_host(x, first, host, stream)` | asks for a copy out | `host.copy_(x, True)` |
# | `gpu.to_device(host, x, first, stream)` | asks for a copy in | `x.copy_(host, True)` |
# | `gpu.record(stream)` | puts a mark, an *event*, on the stream | `stream.record_event()` |
# | `gpu.wait(stream, event)` | the *stream* waits, not the program | `stream.wait_event(event)` |
# | `gpu.finish(event)` | the *program* waits | `event.synchronize()` |
#
# A copy takes the bytes of `x` from byte `first` on, as many as `host` has. (`True` means
# *non-blocking* in torch: the call returns at once. Its copies go to the current stream, which
# `with torch.cuda.stream(copies):` chooses.)
#
# **Exercise.** Bring the doubled values to the host. `double` has asked for kernels that write
# `x`, and after them for one of 100 ms. The last one belongs to the next layer and only reads `x`.
# Do not wait for that one: so copy on the stream `copies`.
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
# `host` and copies in. Both have already made `x`, `host` and `copies`, and on rank 0 `double` has
# been called. If there are other ranks, they do nothing. The last line returns what is on the
# device at that moment, which no real device allows.


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
# **Exercise.** Do the same in chunks of `chunk` bytes; the last chunk may be shorter. `host[first
# : first + chunk]` is a part of the pinned memory, and Python cuts it at the end of `host`. You
# can ask for all copies out at once, since they are done in order. But rank 0 must know of each
# chunk when its copy is done: so record an event after each copy. And no send should delay the
# next chunk: `comm.isend(...)` only begins a send, and what it returns has a `wait()`.


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
# Let stage $i$ need $a_i + s\,b_i$ for a chunk of $s$ bytes. There are $n/s$ chunks. The first one
# passes all stages, and after that the slowest stage, $m$, does the others one after the other:
#
# $$T(s) = L + \sum_i (a_i + s\,b_i) + \Big(\frac ns - 1\Big)(a_m + s\,b_m)
# = \text{const} + s\sum_{i \ne m} b_i + \frac ns\,a_m .$$
#
# With large chunks it takes long until all stages work: the first term. With small chunks there
# are many starts: the second term. The sum is smallest where both are equal,
#
# $$s^* = \sqrt{\frac{n\,a_m}{\sum_{i \ne m} b_i}} .$$
#
# **Exercise.** Compute it. `stages` is a list of pairs `(start, per_byte)`, in seconds, and one of
# them is the slowest in both.


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
# Staged the message takes three times as long as directly, in the best chunks a fifth longer. This
# is the gain of overlap.
#
# ## 6. Prediction, simulation, measurement · *intermediate*
#
# There are three answers again: the formula, the simulator, which runs your function on the slow
# network from above, and your two engines. On the engines the wire is your own MPI, and copies are
# real copies from memory to memory. They sleep as long as the slow link of the stand-in would
# need. So this does *not* measure a GPU. It measures whether your program overlaps what it should.

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
# The squares are on the line: the simulated program takes what the formula says. The dots are your
# machine. At the left they should lie above the line, since each chunk costs Python some work,
# which is in no formula. At the right there is little overlap, and they can lie below the line if
# your wire is faster than assumed. They lie higher everywhere if other programs use your cores. So
# look at the shape: two slopes, and flat ground between them. You do not need the exact best
# chunk.
#
# ## 7. Which path for which size? · *intermediate*
#
# Short messages are staged, because each chunk costs a start; long ones are pipelined. If the
# library is CUDA-aware, there is also *direct*, which is not always fastest. In MVAPICH2-GDR,
# network cards read device memory only up to a size, `MV2_GPUDIRECT_LIMIT`. Longer messages go in
# chunks, because many boards of that time read a GPU slowly. So do not decide by thinking: measure
# each path at each size, and make a table.
#
# **Exercise.** `seconds[path]` has a row for each repetition and a column for each of the `sizes`.
# Return a list of pairs: the first number of bytes, and the path from there on. Take the median of
# the repetitions, begin with 0 bytes, and add a pair only where the best path changes: `[(0,
# "staged"), (65536, "pipelined")]`.


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
# Now use your engines, and the communicator's own transfers, which copy automatically what you
# give to `send` and `recv`. `comm.device_table` says which path to take: staged, or in chunks of
# 256 KiB. The device is again the stand-in with its slow link.


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
# This is your table, from your measurements. Below it is the ledger, which has every message with
# the path that it took. From some size on "pipelined" should win, as it does between real GPUs. If
# other programs keep your cores busy, each chunk costs more, and "pipelined" wins later or never.
# A table belongs to the machine on which it was measured.
#
# ## 8. Which rank takes which GPU? · *beginner*
#
# A node often has several GPUs, and several ranks run on it. Each should take its own. A rank
# knows its number, so is `comm.rank % gpus` right? It is, if ranks are placed on nodes in order
# and each node has as many ranks as GPUs. But suppose that ranks are placed on two nodes in turns,
# with two GPUs on each node. Then one node has ranks 0, 2, 4 and 6, all of them even. Its second
# GPU idles while four ranks share the first. There is no error, and training can take twice as
# long.
#
# **Exercise.** A warm-up of three minutes. Each node has `gpus` GPUs. Return the number of the GPU
# that this rank should take, 0 to `gpus` - 1: the rank's number *within its node*, modulo `gpus`
# if there are more ranks than GPUs. `comm.node` says on which node a rank is. `comm.split(colour)`
# puts the ranks with the same colour into a communicator of their own.


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
# The course's engines did that before MPI started, because CUDA asks only once which GPUs there
# are: on each rank plain `"cuda"` is its own GPU. With MPI alone several ranks may share one GPU,
# and each gets a part of its time. NCCL, NVIDIA's library for collectives, refuses that: two ranks
# on one GPU end in an error. (Since NCCL 2.30 a variable allows it, as an experiment:
# `NCCL_MULTI_RANK_GPU_ENABLE=1`.)
#
# ## 9. Is your MPI CUDA-aware? · *beginner*
#
# Ask it. Libraries have a function that answers. Then the answer is tested: a child process sends
# itself a message in device memory, since a library that is not aware crashes there. The MPI that
# comes with this course by pip is not CUDA-aware; `docs/cuda_aware_mpi.md` in the repository says
# how to get one that is.
#
# Then come numbers from real GPUs. The cell also measures messages in the memory of *your* hosts.
# Beside them it draws all runs on a GPU that the course has, with machine and date. If there is
# none, it says so: the course shows no numbers that were not measured. If you have a GPU, add a
# run with one command, in the folder of the repository:
#
#     .venv/bin/python -m benchmarks.on_a_gpu
#
# What stays in a GPU's own memory needs none of these paths. The second cell copies an array
# within your host's memory. Below your time stands what copies within a GPU's memory took, with
# machine and date. If nothing is recorded yet, it says so.

# %%
from ddl_class.notebook.beside_gpus import measure_here, plot_beside_recorded
from ddl_runtime.devices.awareness import awareness

known = engines.run(lambda comm: awareness()).results[0]
print(known.library, known.why, sep="\n")
plot_beside_recorded(measure_here(engines))

# %%
from functools import partial

from ddl_class.notebook.beside_gpus import recorded_table
from ddl_measure.repetitions import side_by_side

source, target = np.ones((2, 1 << 24), np.float32)
copies = {"copy": partial(np.copyto, target, source)}
median = np.median(side_by_side(copies)["copy"])
print(f"yours, 64 MiB within host memory: {median * 1e3:.3f} ms")
print(recorded_table("copy within the device"))

# %% [markdown]
# ## 10. The surprise: the best path depends · *advanced*
#
# Take a whole all-reduce round a ring instead of one message, with a library that cannot read
# device memory. In each of the $2(P-1)$ steps every rank copies its piece out and in. First
# simulate 32 GPUs: the ring of unit 06, unchanged, on arrays of stand-ins, whose `host_link` is as
# fast as in your predictions. It takes what the formula says.
#
# There is another way: every rank copies the whole array out *once*, the hosts add up, and every
# rank copies the sum in. That moves about half of the bytes over each link, but nothing overlaps.
# With 100 MB on each of 8 GPUs, copying in every step, in the best chunks, takes 0.7 of the time
# of copying once. How many times as long does it take on 1,024 GPUs? Commit to a number. Then
# comes the simulation of 32 GPUs, and the formula for more:

# %%
predict("07.once", ...)


# %%
from ddl_teach.collectives import ring


def summed(comm):
    ring.allreduce(comm, StandInDevice().array(np.ones(64_000, np.float32)))


run = simulate(summed, 32, network=Uniform(2e-6, 25e9, host_link=HostLink(1e-5, 25e9)))
told = staging.allreduce_in_steps(32, 256_000, lambda part: staging.staged(part, real))
assert np.isclose(run.time, told)

# %%
for ranks in (2, 8, 64, 1024):
    part, steps = 100e6 / ranks, 2 * (ranks - 1)
    in_chunks = staging.pipelined(part, staging.best_chunk(part, real), real)
    in_steps = steps * min(in_chunks, staging.staged(part, real))
    once = staging.allreduce_once(ranks, 100e6, real)
    print(f"{ranks:5} GPUs: {in_steps * 1e3:5.1f} ms in every step, {once * 1e3:5.1f} ms once")
assert in_steps > once
reveal("07.once", in_steps / once)

# %% [markdown]
# With more ranks the pieces are smaller, and 2,046 steps with two starts each take 41 ms for the
# starts alone. So the best way to add up is not made of the best way to send: a table needs a row
# for each *operation*, not only for each size.
#
# It is the same between libraries. De Sensi et al. (2024) measured up to 4,096 GPUs on three
# supercomputers. Between nodes CUDA-aware MPI sends a single message faster than NCCL or its
# counterpart for AMD. For collectives NCCL is faster on most systems and sizes. Why?
#
# - MPI's message is a call of the *host*, and the network card fetches the bytes. NCCL sends by a
#   kernel, and starting one takes some microseconds: as long as a whole short message.
# - In an all-reduce *one* kernel of NCCL does all steps and adds up where the bytes are. It goes
#   along rings and trees that follow the machine's links. Between nodes a thread of the host gives
#   the pieces to the network card. With MPI the host takes control again after each step, and
#   starts a kernel for each sum, or adds up itself.
#
# | here | with torch |
# |---|---|
# | `comm.send(x, 1)` in any memory | `dist.send(x, 1)`, NCCL for GPUs, gloo for hosts |
# | `ring.allreduce(comm, x)` | `dist.all_reduce(x)` |
# | two ranks on one GPU | gloo can, NCCL refuses by default |
# | `comm.device_table` | inside libraries: MVAPICH2's `MV2_CUDA_BLOCK_SIZE` |
# | streams and events by hand | NCCL's calls are put on a stream, as kernels are |
#
# ## 11. A puzzle: an exchange · *intermediate*
#
# Two ranks exchange their gradients. Each has 2 MiB on its device, computed in four quarters:
# the kernel of each quarter takes 1 ms, and after the last one a kernel of 100 ms begins, which
# only reads `x`. The doubled values of each rank must arrive in `y` on the *other* rank's device.
# The links are those of section 1. The wire carries both directions at the same time, with 0.1 ms
# of latency and 200 MB a second. There are **50 µs of overhead on each side of each message**. A
# send waits for its receive.


# %%
def quarters(gpu, x):
    """Ask for the kernels that double x; returns the event of each quarter."""
    events, size = [], len(x) // 4
    for part in (x[first : first + size] for first in range(0, len(x), size)):
        gpu.work(part, seconds=1e-3)
        part *= 2
        events.append(gpu.record(gpu.current_stream(x)))
    gpu.work(x, seconds=0.1)  # the next layer of the network
    return events


# %% [markdown]
# **Exercise, with a goal.** Staged, the exchange takes 36 ms. In eight chunks it takes 28 ms if
# each rank first sends all of them, and then copies in what it has received. Reach **16.5 ms**.
# How is up to you. `quarters` returns an event for each quarter; you may make several streams.


# %% name="07.exchange" tags=["answer"]
def exchange(comm, values):
    """Bring the other rank's doubled values into y. The length of values divides by 4."""
    gpu, other = TimedDevice(comm), 1 - comm.rank
    x, y = gpu.array(values), gpu.array(0 * values)
    mine, theirs = gpu.pinned(len(values)), gpu.pinned(len(values))
    done = quarters(gpu, x)
    ### BEGIN SOLUTION
    out, into, marks, size = gpu.new_stream(), gpu.new_stream(), [], -(-len(values) // 8)
    parts = [slice(first, first + size) for first in range(0, len(values), size)]
    for part in parts:
        gpu.wait(out, done[min(3, 4 * (part.stop - 1) // len(values))])  # of its last byte
        gpu.to_host(x, part.start, mine[part], out)
        marks.append(gpu.record(out))
    receives, sends = [comm.irecv(theirs[part], other) for part in parts], []
    for place, part in enumerate(parts):
        gpu.finish(marks[place])
        sends.append(comm.isend(mine[part], other))
        if place > 0:
            receives[place - 1].wait()
            gpu.to_device(theirs[parts[place - 1]], y, parts[place - 1].start, into)
    receives[-1].wait()
    gpu.to_device(theirs[parts[-1]], y, parts[-1].start, into)
    for send in sends:
        send.wait()
    gpu.finish(gpu.record(into))
    ### END SOLUTION
    return gpu.peek(y)


# %%
wire = Uniform(latency=1e-4, bandwidth=2e8, overhead=5e-5)
run = simulate(exchange, 2, network=wire, values=values + np.uint8(1))
print(f"{run.time * 1e3:.2f} ms; right everywhere:", (run.results[0] == 2 * values + 2).all())
plot_copies(run.timeline, title="Your exchange on two simulated ranks")

# %% name="07.exchange" tags=["check"]
check("07.exchange", exchange)
### BEGIN HIDDEN TESTS
judge("07.exchange", exchange, seed=78)
### END HIDDEN TESTS

# %% [markdown]
# In a training step the quarters are the gradients of different layers, and each can leave while
# the next is computed. Unit 08 does that with buckets.
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
# A missing wait: somewhere bytes leave before the kernel has written them, or a buffer is
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
# | After a receive | ask for the copy in; nothing may read `x` before its event |
# | Before a buffer is used again | its message must have left, its copy must be done |
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
# - P. Bridges et al., "Understanding GPU triggering APIs for MPI+X communication", 2024: the
#   next step after this unit. The GPU itself starts the message, in a stream or inside of a
#   kernel, and no processor of the host is asked.
# - M. Adams and A. Bienz, "Optimizing allreduce operations for modern heterogeneous architectures
#   with multiple processes per GPU", *arXiv*, 2025: idle cores of the host help each GPU.
# - M. Si et al., "Collective communication for 100k+ GPUs", *arXiv*, 2025: NCCLX, in which the
#   host starts messages and nothing is copied on the way.
# - `ddl_teach/theory/staging.py` for the formulas, `ddl_runtime/devices` for what the
#   communicator does, `docs/cuda_aware_mpi.md` for getting a CUDA-aware MPI.
#
# `progress()` shows how far you have come. Unit 08 trains one network on several ranks, and its
# GPT on your GPUs if you have them. Stop your engines when you are done: `engines.stop()`.
