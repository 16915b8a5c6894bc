"""The usual mistakes of unit 00, and words of the message that must name each."""

from functools import partial

import numpy as np

from ddl_teach import Comm


def neighbours_swapped(comm: Comm) -> tuple[int, int]:
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def neighbours_beyond_the_end(comm: Comm) -> tuple[int, int]:
    return (comm.rank - 1) % comm.size, comm.rank + 1


def neighbours_below_zero(comm: Comm) -> tuple[int, int]:
    return comm.rank - 1, (comm.rank + 1) % comm.size


def neighbours_of_four(comm: Comm) -> tuple[int, int]:
    return (comm.rank - 1) % 4, (comm.rank + 1) % 4


def one_neighbour(comm: Comm) -> int:
    return (comm.rank + 1) % comm.size


def neighbours_printed(comm: Comm) -> None:
    print((comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size)


def along_the_line(
    comm: Comm, ball: np.ndarray, ends: int = 1, add: str = "between", new: bool = False
) -> None:
    """Right, but for what the arguments say."""
    ball += add == "before"
    if comm.rank > 0:
        comm.recv(ball, comm.rank - 1)
    if new:
        ball = ball + 1
    ball += add == "between"
    if comm.rank < comm.size - ends:
        comm.send(ball, comm.rank + 1)
    ball += add == "after"


def beyond_the_line(comm: Comm, ball: np.ndarray) -> None:
    along_the_line(comm, ball, ends=0)


def a_new_ball_in_the_line(comm: Comm, ball: np.ndarray) -> None:
    along_the_line(comm, ball, add="never", new=True)


def adds_too_late(comm: Comm, ball: np.ndarray) -> None:
    along_the_line(comm, ball, add="after")


def adds_too_early(comm: Comm, ball: np.ndarray) -> None:
    along_the_line(comm, ball, add="before")


def sends_nothing(comm: Comm, ball: np.ndarray) -> None:
    ball += 1


def only_receives(comm: Comm, ball: np.ndarray) -> None:
    if comm.rank > 0:
        comm.recv(ball, comm.rank - 1)
    ball += 1


def never_adds(comm: Comm, ball: np.ndarray, rounds: int) -> None:
    for _ in range(rounds if comm.rank < 2 else 0):
        if comm.rank == 0:
            comm.send(ball, 1)
            comm.recv(ball, 1)
        else:
            comm.recv(ball, 0)
            comm.send(ball, 0)


def both_add(comm: Comm, ball: np.ndarray, rounds: int) -> None:
    for _ in range(rounds if comm.rank < 2 else 0):
        if comm.rank == 0:
            comm.send(ball, 1)
            comm.recv(ball, 1)
        else:
            comm.recv(ball, 0)
        ball += 1
        if comm.rank == 1:
            comm.send(ball, 0)


def a_new_ball(comm: Comm, ball: np.ndarray, rounds: int) -> None:
    for _ in range(rounds if comm.rank < 2 else 0):
        if comm.rank == 0:
            comm.send(ball, 1)
            comm.recv(ball, 1)
        else:
            comm.recv(ball, 0)
            comm.send(ball + 1, 0)


def one_round(comm: Comm, ball: np.ndarray, rounds: int) -> None:
    if comm.rank == 0:
        comm.send(ball, 1)
        comm.recv(ball, 1)
    elif comm.rank == 1:
        comm.recv(ball, 0)
        ball += 1
        comm.send(ball, 0)


def both_receive(comm: Comm, ball: np.ndarray, rounds: int) -> None:
    for _ in range(rounds if comm.rank < 2 else 0):
        comm.recv(ball, 1 - comm.rank)
        ball += 1
        comm.send(ball, 1 - comm.rank)


def all_play(comm: Comm, ball: np.ndarray, rounds: int) -> None:
    for _ in range(rounds):
        if comm.rank == 0:
            comm.send(ball, 1)
            comm.recv(ball, 1)
        else:
            comm.recv(ball, 0)
            ball += 1
            comm.send(ball, 0)


def receive_first(comm: Comm, mine: np.ndarray, received: np.ndarray) -> None:
    comm.recv(received, (comm.rank - 1) % comm.size)
    comm.send(mine, (comm.rank + 1) % comm.size)


def send_first(comm: Comm, mine: np.ndarray, received: np.ndarray) -> None:
    comm.send(mine, (comm.rank + 1) % comm.size)
    comm.recv(received, (comm.rank - 1) % comm.size)


def the_other_way(comm: Comm, mine: np.ndarray, received: np.ndarray) -> None:
    comm.sendrecv(mine, (comm.rank - 1) % comm.size, received, (comm.rank + 1) % comm.size)


def into_another_array(comm: Comm, mine: np.ndarray, received: np.ndarray) -> None:
    received = np.zeros_like(mine)
    comm.sendrecv(mine, (comm.rank + 1) % comm.size, received, (comm.rank - 1) % comm.size)


def end_forgotten(comm: Comm, mine: np.ndarray, received: np.ndarray) -> None:
    comm.sendrecv(mine, comm.rank + 1, received, comm.rank - 1)


def list_round(comm: Comm, x: np.ndarray, how: str = "larger", steps: int = 15) -> None:
    """In `steps` steps to the right; right, but for what the arguments say."""
    arriving = np.empty_like(x)
    for _ in range(steps):
        comm.sendrecv(x, (comm.rank + 1) % comm.size, arriving, (comm.rank - 1) % comm.size)
        if how == "larger":
            np.maximum(x, arriving, out=x)
        elif how == "replace":
            x[:] = arriving
        elif how == "add":
            x += arriving
        else:
            np.maximum(x, arriving)


def list_with_others(comm: Comm, x: np.ndarray) -> None:
    list_round(comm, x)
    x += 0.5


def list_received_first(comm: Comm, x: np.ndarray) -> None:
    comm.recv(x.copy(), (comm.rank - 1) % comm.size)
    comm.send(x, (comm.rank + 1) % comm.size)


MISTAKES = [
    ("00.neighbours", neighbours_swapped, "They are swapped"),
    ("00.neighbours", neighbours_beyond_the_end, "There is no rank"),
    ("00.neighbours", neighbours_below_zero, "No rank is called -1"),
    ("00.neighbours", neighbours_of_four, "both % comm.size"),
    ("00.neighbours", one_neighbour, "return two ranks"),
    ("00.neighbours", neighbours_printed, "Is a `return` missing?"),
    ("00.line", beyond_the_line, "does not exist here"),
    ("00.line", a_new_ball_in_the_line, "makes a new array"),
    ("00.line", adds_too_late, "A 1 was lost on the way"),
    ("00.line", adds_too_early, "A 1 was lost on the way"),
    ("00.line", sends_nothing, "No message has brought it"),
    ("00.line", only_receives, "the two at the ends do half"),
    ("00.ping_pong", never_adds, "Rank 1 has to add 1"),
    ("00.ping_pong", both_add, "Only rank 1 adds"),
    ("00.ping_pong", a_new_ball, "makes a new array"),
    ("00.ping_pong", one_round, "one in each round"),
    ("00.ping_pong", both_receive, "every rank receives before any rank sends"),
    ("00.ping_pong", all_play, "Ranks 0 and 1 play"),
    ("00.in_turn", receive_first, "every rank receives before any rank sends"),
    ("00.in_turn", send_first, "every rank sends before any rank receives"),
    ("00.in_turn", the_other_way, "turn it round"),
    ("00.no_deadlock", receive_first, "every rank receives before any rank sends"),
    ("00.no_deadlock", send_first, "every rank sends before any rank receives"),
    ("00.no_deadlock", the_other_way, "turn it round"),
    ("00.no_deadlock", into_another_array, "still empty"),
    ("00.no_deadlock", end_forgotten, "does not exist here"),
    ("00.list", list_round, "Every rank has all numbers, after 137 µs"),
    ("00.list", partial(list_round, how="new"), "alone makes a new array"),
    ("00.list", partial(list_round, how="replace"), "has lost its own number"),
    ("00.list", partial(list_round, how="add"), "do not add"),
    ("00.list", partial(list_round, steps=7), "only 8 of the 16 numbers"),
    ("00.list", list_with_others, "that no rank has written"),
    ("00.list", list_received_first, "every rank receives before any rank sends"),
]
