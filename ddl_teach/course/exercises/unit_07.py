"""Unit 07, who copies the bytes: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import chunk_judges, device_judges, staging_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "07",
    "GPUs and CUDA-aware MPI",
    exercises=(
        Exercise(
            "07.copy_out",
            "A copy that comes after its kernel",
            points=2,
            hints=(
                "Two things may come too early. The copy, before the kernel has written x: who "
                "has to wait for the event doubled? And your return, before the copy is done: "
                "who has to wait then, and for which event?",
                "gpu.wait(copies, doubled) makes the stream wait; then ask for the copy, "
                "gpu.to_host(x, 0, host, copies); then mark = gpu.record(copies) and "
                "gpu.finish(mark), which makes you wait.",
            ),
            judge=staging_judges.judge_copy_out,
            right="The copy waits for the kernel, the host for the copy, and nobody for more.",
            parameters=("comm", "values"),
            ranks=(1, 2),
        ),
        Exercise(
            "07.staged",
            "From device to device through two hosts",
            points=3,
            hints=(
                "Rank 0 does what you did in copy_out, and then sends. Rank 1 does the same "
                "backwards: first it must have the bytes, then it may ask for the copy, and then "
                "it waits. Should there be more ranks, they do nothing.",
                "Rank 0: gpu.wait(copies, doubled), gpu.to_host(x, 0, host, copies), "
                "gpu.finish(gpu.record(copies)), comm.send(host, 1). Rank 1: comm.recv(host, 0), "
                "gpu.to_device(host, x, 0, copies), gpu.finish(gpu.record(copies)).",
            ),
            judge=staging_judges.judge_staged,
            right="One message, two copies, and each begins when what it takes is there.",
            parameters=("comm", "values"),
            ranks=(2, 3, 5),
        ),
        Exercise(
            "07.pipelined",
            "The same in chunks that overlap",
            points=4,
            hints=(
                "Rank 0 can ask for all copies at once: they stand in line on the stream. But it "
                "needs a mark behind each of them, gpu.record(copies), to know when that chunk "
                "may leave. And a send should not keep it from the next chunk: comm.isend.",
                "Rank 0: for first in range(0, len(host), chunk): gpu.to_host(x, first, "
                "host[first : first + chunk], copies), marks.append(gpu.record(copies)). Then for "
                "each first and mark: gpu.finish(mark), comm.isend(host[first : first + chunk], "
                "1); wait for the requests at the end. Rank 1: per chunk comm.recv and "
                "gpu.to_device, and one gpu.finish(gpu.record(copies)) behind the loop.",
            ),
            judge=chunk_judges.judge_pipelined,
            right="While one chunk travels the next is copied out and the last one copied in.",
            parameters=("comm", "values", "chunk"),
            ranks=(2, 3),
        ),
        Exercise(
            "07.chunk",
            "The best chunk",
            points=2,
            hints=(
                "Find the slowest stage first: max(stages) will do, here it is slowest in both "
                "numbers. Then the time is s times something, plus something divided by s, plus "
                "what does not depend on s.",
                "With start, per_byte = max(stages) and beside = the sum of all per_byte minus "
                "this one, the time is beside * s + nbytes * start / s + a constant. Its "
                "derivative is zero where s * s = nbytes * start / beside.",
            ),
            judge=device_judges.judge_chunk,
            right="Four times the message, twice the chunk; and a start that costs nothing would "
            "ask for chunks of one byte.",
            parameters=("nbytes", "stages"),
            ranks=(),
        ),
        Exercise(
            "07.choose",
            "A decision table from measurements",
            points=3,
            hints=(
                "np.median(times, axis=0) has one number for each size. Walk through the sizes, "
                "and write an entry down only where the best path is another one than before.",
                "medians = {path: np.median(times, axis=0) ...}; for k, size in enumerate(sizes): "
                "best = min(medians, key=lambda path: medians[path][k]); if the table is empty or "
                "its last path is not best, append (int(size) if table else 0, best).",
            ),
            judge=device_judges.judge_table,
            right="Every size has a path, and a measurement that went wrong decides nothing.",
            parameters=("sizes", "seconds"),
            ranks=(),
        ),
        Exercise(
            "07.own_gpu",
            "Whose GPU is whose",
            points=2,
            hints=(
                "comm.node is the number of the node that this rank is on, and comm.split(colour) "
                "puts ranks of the same colour into a group, in which they are numbered from 0.",
                "comm.split(comm.node).rank is the rank's number on its node. There may be more "
                "ranks than GPUs: take it modulo gpus.",
            ),
            judge=device_judges.judge_own_gpu,
            right="However ranks are dealt out to nodes, those of a node share its GPUs evenly.",
            parameters=("comm", "gpus"),
            ranks=(1, 4, 8),
        ),
    ),
    predictions=(
        Prediction(
            "07.staged",
            "64 MB from GPU to GPU; a link of 25 GB/s on either side, a wire of 25 GB/s between: "
            "how many times as long as directly does it take when the hosts copy?",
            "times",
            close=1.2,
        ),
        Prediction(
            "07.chunk",
            "There: in chunks of how many bytes does it take least, if each copy needs 10 µs to "
            "start?",
            "bytes",
            close=3.0,
        ),
        Prediction(
            "07.once",
            "An all-reduce of 100 MB on 1,024 GPUs round a ring: how many times as long as with "
            "one copy each way does it take if every step copies out and in?",
            "times",
        ),
    ),
)
