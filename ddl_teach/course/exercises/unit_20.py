"""Unit 20, many nodes: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import level_judges, nodes_judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "20",
    "Many nodes",
    exercises=(
        Exercise(
            "20.levels",
            "Two kinds of messages",
            points=2,
            hints=(
                "Do the same twice, once with the pings whose two ranks share a node and once "
                "with the others. Of these, take the short ones and the long ones apart, and the "
                "median of each.",
                "some = [ping for ping in pings if (node_of[ping[0]] == node_of[ping[1]]) == "
                "inside] for inside in (True, False); quick is the median of ping[3] where "
                "ping[2] == short, slow where it is long; then (quick, (slow - quick) / (long - "
                "short)).",
            ),
            judge=level_judges.judge_levels,
            right="Late pings do not disturb it, and the two levels are kept apart.",
            parameters=("node_of", "pings"),
            ranks=(),
        ),
        Exercise(
            "20.ring",
            "A ring among some ranks",
            points=2,
            hints=(
                "Begin with `if comm.rank not in ranks: return`. Then let size be len(ranks) and "
                "place the rank's place in the list. Chunks are numbered by places; only what is "
                "passed to comm.sendrecv are ranks.",
                "right, left = ranks[(place + 1) % size], ranks[place - 1]; then both loops of "
                "unit 06 with place where rank stood: outgoing, incoming = (place - step) % size, "
                "(place - step - 1) % size.",
            ),
            judge=nodes_judges.judge_ring,
            right="Any ranks, in any order, and nobody else is disturbed.",
            parameters=("comm", "x", "ranks"),
        ),
        Exercise(
            "20.exchange",
            "An exchange that knows its nodes",
            points=3,
            hints=(
                "There are two kinds of ranks. Who is no leader sends x to its leader and "
                "receives x from it; that is all. What does a leader do before the ring, and what "
                "after it? And who are the others of its node?",
                "The others: [r for r, node in enumerate(node_of) if node == node_of[leader] and "
                "r != leader]. For each: comm.recv(arriving, other), x += arriving. Then ring("
                "comm, x, leaders). Then comm.send(x, other) for each.",
            ),
            judge=nodes_judges.judge_nodes,
            right="The sum is everywhere, and from node to node went 2 (N-1) n bytes in all.",
            parameters=("comm", "x", "node_of"),
        ),
        Exercise(
            "20.step",
            "Foretelling a step",
            points=2,
            hints=(
                "Write the two formulas of section 1 down as they stand, with n = nbytes, N = "
                "nodes, R = each, and (L, G) = inside. Then ask of each: what if N is 1? what if "
                "R is 1?",
                "chunk = nbytes / (nodes * each); near = L + chunk * G; far = L' + chunk * G'; "
                "2 * (nodes * each - 1) * max(chunk * G', (far + (each - 1) * near) / each), and "
                "with one node 2 * (each - 1) * near. Leaders: the inner part only if each > 1.",
            ),
            judge=level_judges.judge_step,
            right="Both ways, on any nodes, also on a single one.",
            parameters=("nodes", "each", "nbytes", "work", "inside", "between"),
            ranks=(),
        ),
        Exercise(
            "20.agree",
            "From which step to go on",
            points=3,
            hints=(
                "The least of everybody's newest is not enough: not all need have it. Let each "
                "rank make a vector with a place for each step, with a 1 where it has a whole "
                "checkpoint. What does the sum over all ranks say?",
                "have = np.zeros(steps + 1); have[whole] = 1; have[0] = 1; sum it by "
                "ring(comm, have, list(range(comm.size))); the last place where it is comm.size: "
                "np.flatnonzero(have == comm.size)[-1].",
            ),
            judge=nodes_judges.judge_agree,
            right="All ranks say the same step, and all of them have it.",
            parameters=("comm", "whole", "steps"),
        ),
    ),
    predictions=(
        Prediction(
            "20.dealt",
            "4 nodes of 2 ranks, a ring in which no neighbours share a node, a long vector: how "
            "many times as long as in the order of the nodes?",
            "times",
            close=1.3,
        ),
        Prediction(
            "20.slow",
            "One of four cables becomes ten times as slow: how many times as long does the "
            "all-reduce take?",
            "times",
            close=1.5,
        ),
        Prediction(
            "20.leaders",
            "102 MB, nodes of 8 GPUs: from how many nodes on are leaders faster than one ring?",
            "nodes",
        ),
    ),
)
