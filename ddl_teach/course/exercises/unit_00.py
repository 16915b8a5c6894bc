"""Unit 00, the machine: its exercises, hints and predictions."""

from __future__ import annotations

from ddl_teach.course.exercises import first_judges as judges
from ddl_teach.course.exercises.exercise import Exercise, Prediction, Unit

UNIT = Unit(
    "00",
    "The machine",
    exercises=(
        Exercise(
            "00.neighbours",
            "Who sits beside me?",
            points=1,
            hints=(
                "Your own number is comm.rank. One more is the right neighbour, one less the left "
                "one, but for the two at the ends. What is (3 + 1) % 4? And (0 - 1) % 4?",
                "return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size",
            ),
            judge=judges.judge_neighbours,
            right="Everybody knows both neighbours, also at the ends.",
            parameters=("comm",),
        ),
        Exercise(
            "00.ping_pong",
            "A ball that comes back",
            points=2,
            hints=(
                "Two programs in one: if comm.rank == 0, send the ball and receive it again; if "
                "comm.rank == 1, receive it, add 1, and send it back. Both `rounds` times.",
                "for _ in range(rounds): rank 0 does comm.send(ball, to=1) and "
                "comm.recv(ball, source=1); rank 1 does comm.recv(ball, source=0), ball += 1 and "
                "comm.send(ball, to=0).",
            ),
            judge=judges.judge_ping_pong,
            right="The ball came back each time, one larger.",
            parameters=("comm", "ball", "rounds"),
            ranks=(2, 3, 5),
        ),
        Exercise(
            "00.no_deadlock",
            "Round the circle, and nobody waits for ever",
            points=2,
            hints=(
                "Somebody must send before receiving, and somebody must receive before sending. "
                "Either ranks differ in what they do first, or one call does both at once.",
                "comm.sendrecv(mine, right, received, left) sends and receives at the same time.",
            ),
            judge=judges.judge_pass_right,
            right="Everybody got the left neighbour's numbers, short or long, on any number of "
            "ranks.",
            parameters=("comm", "mine", "received"),
            ranks=(2, 3, 4, 5, 8),
        ),
    ),
    predictions=(
        Prediction(
            "00.in_order",
            "Four ranks run the same line 50 times. How many times do they come to it in the "
            "order 0, 1, 2, 3?",
            "of 50 times",
        ),
        Prediction(
            "00.deadlock",
            "Four ranks each receive from the left and then send to the right. How many of their "
            "four messages arrive?",
            "messages",
        ),
    ),
)
