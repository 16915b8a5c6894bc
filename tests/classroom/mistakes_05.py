"""The usual mistakes of unit 05, and words of the message that must name each."""

from functools import partial

import numpy as np

from ddl_teach import Comm
from ddl_teach.comm import split_evenly


def names_only(comm: Comm, first: np.ndarray, second: np.ndarray) -> None:
    both = np.concatenate([first, second])
    if comm.rank == 0:
        comm.send(both, 1)
    if comm.rank == 1:
        comm.recv(both, 0)
        first, second = np.split(both, [len(first)])


def one_by_one(comm: Comm, first: np.ndarray, second: np.ndarray) -> None:
    for x in (first, second):
        if comm.rank == 0:
            comm.send(x, 1)
        if comm.rank == 1:
            comm.recv(x, 0)


def to_everybody(comm: Comm, first: np.ndarray, second: np.ndarray) -> None:
    both = np.concatenate([first, second])
    if comm.rank == 0:
        comm.send(both, 1)
    elif comm.rank == 1:
        comm.recv(both, 0)
    first[:], second[:] = np.split(both, [len(first)])
    if 0 < comm.rank < comm.size - 1:
        comm.send(both, comm.rank + 1)
    elif comm.rank > 1:
        comm.recv(both, comm.rank - 1)


def no_room_for_both(comm: Comm, first: np.ndarray, second: np.ndarray) -> None:
    if comm.rank == 0:
        comm.send(np.concatenate([first, second]), 1)
    if comm.rank == 1:
        comm.recv(first, 0)


def taken_apart_too_early(comm: Comm, first: np.ndarray, second: np.ndarray) -> None:
    both = np.concatenate([first, second])
    if comm.rank == 0:
        comm.send(both, 1)
    if comm.rank == 1:
        first[:], second[:] = np.split(both, [len(first)])
        comm.recv(both, 0)


def whole_turn(comm: Comm, nbytes: int, turns: int) -> float | None:
    return _play(comm, nbytes, turns, divide_by=turns)


def all_together(comm: Comm, nbytes: int, turns: int) -> float | None:
    return _play(comm, nbytes, turns, divide_by=1)


def turns_forgotten(comm: Comm, nbytes: int, turns: int) -> float | None:
    return _play(comm, nbytes, turns, divide_by=2)


def per_second(comm: Comm, nbytes: int, turns: int) -> float | None:
    seconds = _play(comm, nbytes, turns, divide_by=2 * turns)
    return seconds and 1 / seconds


def one_turn(comm: Comm, nbytes: int, turns: int) -> float | None:
    return _play(comm, nbytes, 1, divide_by=2)


def eight_bytes_each(comm: Comm, nbytes: int, turns: int) -> float | None:
    return _play(comm, nbytes, turns, divide_by=2 * turns, dtype=np.float64)


def no_return(comm: Comm, nbytes: int, turns: int) -> None:
    _play(comm, nbytes, turns, divide_by=2 * turns)


def send_alone(comm: Comm, nbytes: int, turns: int) -> float | None:
    ball = np.zeros(nbytes, np.uint8)
    spent = 0.0
    for _ in range(turns if comm.rank < 2 else 0):
        if comm.rank == 1:
            comm.recv(ball, 0)
        begun = comm.now()
        comm.send(ball, 1 - comm.rank)
        spent += comm.now() - begun
        if comm.rank == 0:
            comm.recv(ball, 1)
    return spent / turns


def at_once(comm: Comm, nbytes: int, turns: int) -> float | None:
    if comm.rank > 1:
        return None
    ball, other = np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
    begun = comm.now()
    for _ in range(turns):
        comm.sendrecv(ball, 1 - comm.rank, other, 1 - comm.rank)
    return (comm.now() - begun) / (2 * turns)


def both_receive_first(comm: Comm, nbytes: int, turns: int) -> float | None:
    if comm.rank > 1:
        return None
    ball, begun = np.zeros(nbytes, np.uint8), comm.now()
    for _ in range(turns):
        comm.recv(ball, 1 - comm.rank)
        comm.send(ball, 1 - comm.rank)
    return (comm.now() - begun) / (2 * turns)


def everybody_plays(comm: Comm, nbytes: int, turns: int) -> float | None:
    ball, begun = np.zeros(nbytes, np.uint8), comm.now()
    for _ in range(turns):
        if comm.rank == 0:
            comm.send(ball, 1)
            comm.recv(ball, 1)
        else:
            comm.recv(ball, 0)
            comm.send(ball, 0)
    return (comm.now() - begun) / (2 * turns)


def _play(
    comm: Comm, nbytes: int, turns: int, divide_by: float, dtype: type = np.uint8
) -> float | None:
    """A ping-pong that is right but for what its arguments say."""
    if comm.rank > 1:
        return None
    ball, begun = np.zeros(nbytes, dtype), comm.now()
    for _ in range(turns):
        first, second = (comm.send, comm.recv) if comm.rank == 0 else (comm.recv, comm.send)
        first(ball, 1 - comm.rank)
        second(ball, 1 - comm.rank)
    return (comm.now() - begun) / divide_by if comm.rank == 0 else None


def plain_least_squares(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    per_byte, latency = np.polyfit(sizes, seconds, 1)
    return latency, per_byte


def slope_first(sizes: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    return np.polyfit(sizes, seconds, 1, w=1 / seconds)


def bandwidth_instead(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    per_byte, latency = np.polyfit(sizes, seconds, 1, w=1 / seconds)
    return latency, 1 / per_byte


def through_zero(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    return 0.0, float(np.mean(seconds / sizes))


def line_of_logarithms(sizes: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    return np.exp(np.polyfit(np.log(sizes), np.log(seconds), 1))[::-1]


def two_points(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    return seconds[0], (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])


def one_number(sizes: np.ndarray, seconds: np.ndarray) -> float:
    return float(seconds[0])


def all_of_lstsq(sizes: np.ndarray, seconds: np.ndarray) -> tuple:
    matrix = np.stack([1 / seconds, sizes / seconds], axis=1)
    return np.linalg.lstsq(matrix, np.ones(len(seconds)))


def passed_on(comm: Comm, x: np.ndarray, last: int = 15, pieces: int = 1) -> None:
    """From rank to rank, up to the last; the last piece of several never leaves."""
    for piece in split_evenly(x, pieces)[: max(1, pieces - 1)]:
        if 0 < comm.rank <= last:
            comm.recv(piece, comm.rank - 1)
        if comm.rank < last:
            comm.send(piece, comm.rank + 1)


def nobody_listens(comm: Comm, x: np.ndarray) -> None:
    if comm.rank == 0:
        comm.send(x, 1)


def quickest(ways, nbytes, *, begin=1, each=1, choose=min):
    """Right, but for what its arguments say."""
    return choose(ways, key=lambda name: begin * ways[name][0] + each * nbytes * ways[name][1])


MISTAKES = [
    ("05.first", lambda *given: quickest(*given, begin=0), "its latency alone is longer"),
    ("05.first", lambda *given: quickest(*given, each=0), "its bytes take long"),
    ("05.first", lambda ways, nbytes: "cable", "keep a way only if it is faster"),
    ("05.first", lambda ways, nbytes: None, "return the name of a way"),
    ("05.together", names_only, "only gives the name"),
    ("05.together", taken_apart_too_early, "after it was received"),
    ("05.together", one_by_one, "Each message pays a latency"),
    ("05.together", to_everybody, "only rank 0 should send"),
    ("05.together", no_room_for_both, "does not fit the array"),
    ("05.ping_pong", whole_turn, "a whole turn, there and back"),
    ("05.ping_pong", all_together, "the time of all messages"),
    ("05.ping_pong", turns_forgotten, "by 2 but not by the turns"),
    ("05.ping_pong", per_second, "return seconds per message"),
    ("05.ping_pong", one_turn, "one in each turn"),
    ("05.ping_pong", eight_bytes_each, "8 bytes each"),
    ("05.ping_pong", no_return, "Is a `return` missing?"),
    ("05.ping_pong", send_alone, "You measure the send alone"),
    ("05.ping_pong", at_once, "it is no ping-pong"),
    ("05.ping_pong", both_receive_first, "every rank receives before any rank sends"),
    ("05.ping_pong", everybody_plays, "Ranks 0 and 1 play"),
    ("05.fit", plain_least_squares, "plain least squares"),
    ("05.fit", slope_first, "in the wrong order"),
    ("05.fit", bandwidth_instead, "That is the bandwidth"),
    ("05.fit", through_zero, "A line through zero"),
    ("05.fit", line_of_logarithms, "not their logarithms"),
    ("05.fit", two_points, "Use all measured times"),
    ("05.fit", one_number, "return two numbers"),
    ("05.fit", all_of_lstsq, "returns four things"),
    ("05.half_bandwidth", lambda latency, per_byte: per_byte / latency, "other way round"),
    ("05.half_bandwidth", lambda latency, per_byte: latency * per_byte, "Divide by per_byte"),
    ("05.half_bandwidth", lambda latency, per_byte: 2 * latency / per_byte, "two thirds"),
    ("05.half_bandwidth", lambda latency, per_byte: latency / per_byte / 2, "a third"),
    ("05.half_bandwidth", lambda latency, per_byte: 1 / per_byte, "the bandwidth itself"),
    ("05.broadcast", passed_on, "after 4.81 ms. The goal is 1.5 ms"),
    ("05.broadcast", partial(passed_on, last=14), "rank 15 has nothing of what rank 0 has"),
    ("05.broadcast", partial(passed_on, pieces=16), "on rank 1 element 940 differs"),
    ("05.broadcast", nobody_listens, "one receive is missing"),
]
