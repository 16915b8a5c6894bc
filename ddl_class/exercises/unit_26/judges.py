"""The judges of unit 26: a batch, guesses, and the puzzle: eight cards for given arrivals."""

import numpy as np

from ddl_class.exercises.kit import Attempt, compare, items, number, several, texts, whole
from ddl_class.exercises.kit.holds import most_at_once
from ddl_runtime.pictures.words import time_text
from ddl_teach.plain import speculative_decoding as plain
from ddl_teach.serving.batching import Served, poisson, serve_apart, serve_on
from ddl_teach.theory.machine import Link
from ddl_teach.theory.serving import Lane, ServedModel

ENTER, ACCEPT, SERVE = texts(__package__, "enter", "accept", "serve")
MODEL = ServedModel(8e9, 32, 4096, 1024)
BETWEEN = Link(5e-6, 1 / 50e9)
CARDS, TO_FIRST, GOAL = 8, 0.1, 2.1e-3
REQUESTS = poisson(50, 400, np.random.default_rng(26), 2000, 100)


def judge_enter(attempt: Attempt) -> None:
    """Who is in the batch, in the order in which they came."""
    drawn = attempt.generator.integers(1, 60, 8).tolist()
    for waiting, running, most, free in (
        ([30, 5, 40, 2], [9], 4, 80), ([30, 50, 2], [], 8, 60), ([4, 4, 4], [1, 1], 3, 99),
        ([], [3], 2, 9), ([7], [3, 3], 2, 50), (drawn[2:], drawn[:2], 7, 2 * sum(drawn) // 3),
    ):  # fmt: skip
        right, left = list(running), free
        for need in waiting:
            if len(right) == most or need > left:
                break
            right.append(need)
            left -= need
        result = several(attempt.call([*waiting], [*running], most, free), 2, ENTER("wanted"))
        batch = items(result[0], ENTER("wanted"), whole)
        ENTER.refuse_if(
            {"waiting": waiting, "running": running, "most": most, "free": free, "batch": batch},
            nobody=right != running and batch == running,
            crowd=len(batch) > most,
            no_room=sum(batch) - sum(running) > free,
            overtaken=batch != right,
            free_is=number(result[1], ENTER("wanted")) != left,
        )


def judge_accept(attempt: Attempt) -> None:
    """What a guess becomes."""
    for token in list(range(4)) * 4:
        p, q = attempt.generator.dirichlet(np.full(4, 2.0), 2)
        for first, second in attempt.generator.random((6, 2)):
            stays = plain.accepted(p, q, token, first)
            other, of_p = plain.draw(plain.remaining(p, q), second), plain.draw(p, second)
            if not stays and of_p == token:  # this would not tell two mistakes apart
                continue
            usual = ACCEPT.each(
                kept=-1 if stays else token,
                rejected=other if stays else -1,
                from_p=-1 if stays else of_p,
            )
            result = number(attempt.call(p, q, token, first, second), ACCEPT("wanted"))
            values = {"ratio": p[token] / q[token], "number": first, "token": token}
            right = token if stays else other
            compare(ACCEPT("call", **values), result, right, usual, ACCEPT("otherwise"))


def served(pools: list[tuple[int, int]], most: int, chunk: int) -> Served:
    """The puzzle's requests on these pools of (tensor, replicas): one, or readers and writers."""
    lanes = [(Lane(MODEL, tensor), replicas) for tensor, replicas in pools]
    if len(lanes) == 2:
        return serve_apart(lanes[0], lanes[1], REQUESTS, BETWEEN, most=most)
    return serve_on(*lanes[0], REQUESTS, most=most, chunk=chunk)


def judge_serve(attempt: Attempt) -> None:
    """The time per token of a plan, within the cards and the time to the first token."""
    given, most, chunk = several(attempt.call(CARDS), 3, SERVE("wanted"))
    pools = items(given, SERVE("wanted"), lambda pool: (whole(pool[0]), whole(pool[1])))
    cards = sum(tensor * replicas for tensor, replicas in pools)
    most, chunk = (int(number(value, SERVE("wanted"))) for value in (most, chunk))
    SERVE.refuse_if(
        {"cards": cards, "most": CARDS},
        pools=len(pools) not in (1, 2),
        counts=min(most, chunk, *(min(pool) for pool in pools)) < 1,
        heads=any(tensor not in (1, 2, 4, 8) for tensor, _ in pools),
        cards_are=cards > CARDS,
    )
    times = served(pools, most, chunk)
    to_first, each = (float(np.quantile(x, 0.9)) for x in (times.to_first, times.per_token))
    values = {"first": time_text(to_first), "each": time_text(each)}
    values |= {"first_goal": time_text(TO_FIRST), "each_goal": time_text(GOAL)}
    SERVE.refuse_if(values, late=to_first > TO_FIRST, slow=each > GOAL)
    tokens = [request.prompt + request.answer for request in REQUESTS]
    writers = Lane(MODEL, pools[-1][0])
    known = {"most": most_at_once(zip(times.first, times.last, tokens, strict=True))}
    attempt.note(each, SERVE("holds", room=pools[-1][1] * writers.room, **known))
