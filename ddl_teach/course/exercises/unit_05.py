"""Unit 05, what a message costs: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import message_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "05",
    "Messages",
    exercises=(
        Exercise(
            "05.ping_pong",
            "A ping-pong with a stopwatch",
            points=3,
            hints=(
                "Per turn rank 0 sends and then receives, rank 1 receives and then sends. Who is "
                "neither of the two returns at once.",
                "Rank 0: begun = comm.now(); for each turn comm.send(ball, 1) and "
                "comm.recv(ball, 1); then return (comm.now() - begun) / (2 * turns). The ball is "
                "np.zeros(nbytes, np.uint8).",
            ),
            judge=judges.judge_ping_pong,
            right="The ball went to and fro as it should, and your stopwatch reads one message.",
            parameters=("comm", "nbytes", "turns"),
            ranks=(2, 3, 5),
        ),
        Exercise(
            "05.fit",
            "Latency and bandwidth from measured times",
            points=3,
            hints=(
                "Each measurement is an equation, latency + per_byte * size = seconds. Divide it "
                "by its seconds: on the right there is a 1 then, and small messages count as much "
                "as large ones.",
                "Let np.linalg.lstsq solve it: the first column of the matrix is 1 / seconds, the "
                "second is sizes / seconds, the right-hand side is ones. Its first result holds "
                "both numbers.",
            ),
            judge=judges.judge_fit,
            right="It finds both numbers exactly where times are exact, and nearly where they "
            "scatter.",
            parameters=("sizes", "seconds"),
            ranks=(),
        ),
        Exercise(
            "05.half_bandwidth",
            "The size that divides short from long",
            points=1,
            hints=(
                "Half of the bandwidth is reached when a message takes twice as long as its bytes "
                "alone would.",
                "Then the latency is as long as the bytes: latency = n * per_byte. Solve for n.",
            ),
            judge=judges.judge_half_bandwidth,
            right="Below that size a message is mostly latency, above it mostly bytes.",
            parameters=("latency", "per_byte"),
            ranks=(),
        ),
    ),
    predictions=(
        Prediction(
            "05.latency",
            "How many µs is the latency between two ranks of your machine?",
            "µs",
            close=3.0,
        ),
        Prediction(
            "05.half_bandwidth",
            "From how many bytes on does a message on your machine take longer for its bytes than "
            "for its latency?",
            "bytes",
            close=3.0,
        ),
        Prediction(
            "05.incast",
            "65,535 ranks send 1,000 bytes each to rank 0, which answers each with as many. After "
            "how many ms has everybody an answer?",
            "ms",
        ),
    ),
)
