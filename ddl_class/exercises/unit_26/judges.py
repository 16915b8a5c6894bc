"""The judges of unit 26: advantages, factors for old answers and tickets; a cache, a decode step,
a table of blocks, a batch and guesses; and the puzzle: eight cards for given arrivals."""

import math

import numpy as np

from ddl_class.exercises.kit import Attempt, ask, compare, items, number, several, texts, whole
from ddl_runtime.pictures.words import time_text
from ddl_teach.plain import speculative_decoding as plain
from ddl_teach.serving.batching import Served, poisson, serve_apart, serve_on
from ddl_teach.theory.machine import Link
from ddl_teach.theory.policy_gradient import advantages, per_answer, per_token
from ddl_teach.theory.serving import Lane, ServedModel, expected_tokens

ADVANTAGE, CLIP, LOSS, TICKET, BALANCE = texts(
    __package__, "advantage", "clip", "loss", "ticket", "balance"
)


def judge_advantage(attempt: Attempt) -> None:
    """Rewards minus the mean of their group."""
    for groups, group in ((1, 4), (3, 2), (4, 5)):
        rewards = attempt.generator.uniform(0, 1, groups * group)
        right = advantages(rewards, group)
        ask(attempt, ADVANTAGE, (rewards, group), right).compare(
            of_all=rewards - rewards.mean(),
            means=rewards - right,
            others=right * group / (group - 1),
        )


def judge_clip(attempt: Attempt) -> None:
    """PPO's factor of each token."""
    for answers, width in ((4, 0.2), (6, 0.5)):
        now, then = attempt.generator.uniform(-2, 0, (2, answers, 3))
        now[:4] = then[:4] + np.array([[2.0], [-2.0], [2.0], [-2.0]])
        apart = np.repeat([1.0, -1.0, 0.5], 2)[:answers]
        ratios = np.exp(now - then)
        right = per_token(now - then, apart, width)
        ask(attempt, CLIP, (now, then, apart, width), right).compare(
            upside_down=per_token(then - now, apart, width),
            all_kept=ratios,
            held=np.clip(ratios, 1 - width, 1 + width),
            no_sign=np.where(abs(ratios - 1) > width, 0, ratios),
            other_sign=per_token(now - then, -apart, width),
        )


def judge_loss(attempt: Attempt) -> None:
    """The loss of old answers in groups, whose ratios have a cap."""
    for cap in (2.0, 1.0):
        now, then = attempt.generator.uniform(-2, 0, (2, 6, 3))
        rewards, likely = np.array([1.0, 0, 0, 1, 1, 0]), now.sum(1)
        apart = advantages(rewards, 3)
        whole = np.exp((now - then).sum(1))
        right = -(per_answer(now - then, apart, cap)[:, 0] * apart * likely).mean()
        ask(attempt, LOSS, (now, then, rewards, 3, cap), right).compare(
            upside_down=-(np.minimum(1 / whole, cap) * apart * likely).mean(),
            at_least=-(np.maximum(whole, cap) * apart * likely).mean(),
        )


def judge_ticket(attempt: Attempt) -> None:
    """How many steps the learner must have made before a ticket is given."""
    for ticket, per_step, bound in ((7, 4, 0), (11, 4, 1), (3, 4, 2), (90, 8, 4)):
        right = max(0, ticket // per_step - bound)
        ask(attempt, TICKET, (ticket, per_step, bound), right).compare(
            below_zero=ticket // per_step - bound,
            not_whole=max(0, ticket / per_step - bound),
            later=max(0, ticket // per_step + 1 - bound),
            in_tickets=max(0, ticket - bound),
        )


def judge_balance(attempt: Attempt) -> None:
    """With how many actors the learner does not wait."""
    for per_step, mean, training, transfer in ((12, 5.0, 7.0, 1.0), (64, 3.0, 2.0, 0.25)):
        exact = per_step * (mean + transfer) / training
        given = per_step, mean, training, transfer
        ask(attempt, BALANCE, given, math.ceil(exact), given=given).compare(
            upside_down=math.ceil(training / (mean + transfer)),
            no_transfer=math.ceil(per_step * mean / training),
            one_ticket=math.ceil((mean + transfer) / training),
            down=math.floor(exact),
            not_whole=exact,
        )


CACHE, DECODE, SLOT, ENTER, ACCEPT, EXPECTED, SERVE = texts(
    __package__, "cache_bytes", "decode", "slot", "enter", "accept", "expected", "serve"
)
MODEL = ServedModel(8e9, 32, 4096, 1024)
BETWEEN = Link(5e-6, 1 / 50e9)
CARDS, TO_FIRST, GOAL = 8, 0.1, 2.1e-3


def judge_cache_bytes(attempt: Attempt) -> None:
    """Bytes of keys and values of one token."""
    for layers, heads, width, itemsize in ((32, 8, 128, 4), (80, 8, 128, 1), (3, 4, 8, 8)):
        right = 2 * layers * heads * width * itemsize
        ask(attempt, CACHE, (layers, heads, width, itemsize), right).compare(
            keys_only=right / 2, one_layer=right / layers, elements=right / itemsize,
            one_head=right / heads,
        )  # fmt: skip


def judge_decode(attempt: Attempt) -> None:
    """Attention of one new token to a cache."""
    for tokens, width in ((4, 3), (1, 2), (7, 5)):
        keys, values = attempt.generator.standard_normal((2, tokens, width))
        q, k, v = attempt.generator.standard_normal((3, width))
        seen, scaled = (np.vstack([keys, k]), np.vstack([values, v])), q / width**0.5
        ask(
            attempt, DECODE, (q, k, v, keys, values), attend(scaled, *seen), tokens=tokens
        ).compare(
            not_itself=attend(scaled, keys, values), no_scale=attend(q, *seen), only_itself=v
        )


def attend(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of the values, weighted by softmax(keys query)."""
    weights = np.exp(keys @ query)
    mean: np.ndarray = weights @ values / weights.sum()
    return mean


def judge_slot(attempt: Attempt) -> None:
    """Where a token stands that a table leads to."""
    for table, size, at in (([5, 2, 9], 4, 6), ([3, 0], 16, 0), ([7, 1, 4, 8], 3, 11)):
        block, place = table[at // size], at % size
        ask(attempt, SLOT, (table, size, at), block * size + place).compare(
            in_one_piece=table[0] * size + at, no_table=at, block_only=block,
            no_place=block * size, no_size=block + place,
        )  # fmt: skip


def judge_enter(attempt: Attempt) -> None:
    """Who is in the batch, in the order in which they came."""
    for waiting, running, most, free in (
        ([30, 5, 40, 2], [9], 4, 80), ([30, 50, 2], [], 8, 60), ([4, 4, 4], [1, 1], 3, 99),
        ([], [3], 2, 9), ([7], [3, 3], 2, 50),
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


def judge_expected(attempt: Attempt) -> None:
    """Tokens of a step."""
    for acceptance, guesses in ((0.8, 4), (0.5, 1), (0.9, 8), (0.0, 3), (1.0, 2)):
        right, each = expected_tokens(acceptance, guesses), guesses * acceptance
        ask(attempt, EXPECTED, (acceptance, guesses), right).compare(
            accepted_only=right - 1, all_tried=each, plus_one=each + 1
        )


def served(pools: list[tuple[int, int]], most: int, chunk: int) -> Served:
    """The puzzle's requests on these pools of (tensor, replicas): one, or readers and writers."""
    requests = poisson(50, 400, np.random.default_rng(26), 2000, 100)
    lanes = [(Lane(MODEL, tensor), replicas) for tensor, replicas in pools]
    if len(lanes) == 2:
        return serve_apart(lanes[0], lanes[1], requests, BETWEEN, most=most)
    return serve_on(*lanes[0], requests, most=most, chunk=chunk)


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
    attempt.note(each)
