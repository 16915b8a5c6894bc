"""Unit 15, server or no server: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import gossip_exercises as gossip
from ddl_teach.course.exercises import server_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "15",
    "Server or no server",
    exercises=(
        Exercise(
            "15.server",
            "The mean through a server",
            points=2,
            hints=(
                "There are two kinds of ranks, so begin with an if. A worker does two things: it "
                "sends x to rank 0, and receives into x. What must rank 0 do before it can "
                "answer anybody, and how often?",
                "Rank 0: x[...] = 0; once for each of comm.size - 1 workers: comm.recv(arriving, "
                "ANY), x += arriving; then x /= comm.size - 1; then comm.send(x, worker) for "
                "each. The others: comm.send(x, 0); comm.recv(x, 0).",
            ),
            judge=judges.judge_server,
            right="The server hears everybody once, and everybody hears the mean.",
            ranks=(2, 3, 4, 5, 8),
        ),
        Exercise(
            "15.sharded",
            "The mean through several servers",
            points=3,
            hints=(
                "np.array_split(x, servers) gives parts of x that share its memory: what is "
                "received into a part is in x. Server s is a server like yours, for part s only. "
                "A worker has something for each server; in which order does it send and receive, "
                "so that no server stands idle?",
                "Servers: as before, with mine = parts[comm.rank] in place of x, and "
                "comm.size - servers workers, ranks servers and up. Workers: for s in "
                "range(servers): comm.send(parts[s], s); and only then the same loop with "
                "comm.recv.",
            ),
            judge=judges.judge_sharded,
            right="Each server has its own shard, and all of them work at the same time.",
            parameters=("comm", "x", "servers"),
            ranks=(3, 4, 5, 8),
        ),
        *gossip.EXERCISES,
    ),
    predictions=(
        Prediction(
            "15.ingress",
            "512 workers, 100 MB of gradients, one server: how many bytes come in at it in each "
            "step?",
            "bytes",
        ),
        Prediction(
            "15.slower",
            "There: how many times as long as by a ring of 512 does a step's exchange take?",
            "times",
        ),
        *gossip.PREDICTIONS,
    ),
)
